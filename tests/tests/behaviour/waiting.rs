//! What counts as waiting: for the limit of what runs at once, for who waits for a run, and for the memory.

use std::time::Duration;

use futures::future::join_all;
use graphweft::prelude::*;
use graphweft::store::{MemoryStore, Store};
use graphweft::{ChildError, Failure, Never, Question, Run};
use graphweft_tests::{Gauge, Journal};
use tokio::sync::Notify;

#[node]
async fn asks(n: u32, ctx: &Context) -> u32 {
    n + ctx.ask::<u32>("amount", "How much?").await
}

#[node]
async fn other(n: u32, #[resource] journal: &Journal) -> u32 {
    journal.note("other");
    n
}

#[node]
async fn add(a: u32, b: u32) -> u32 {
    a + b
}

workflow! { asking(u32) -> u32 { START => asks; } }
workflow! { beside(u32) -> u32 { START => (asks, other) => add; } }
workflow! { plain(u32) -> u32 { START => other; } }

async fn open<T: graphweft::Payload>(run: &Run<T>) -> Vec<Question> {
    let waits = async {
        match run.outcome().await.unwrap() {
            Outcome::Waiting(open) => open,
            _ => panic!("it has ended"),
        }
    };
    tokio::time::timeout(Duration::from_secs(20), waits).await.expect("it waits")
}

async fn result<T: graphweft::Payload>(run: &Run<T>) -> T {
    tokio::time::timeout(Duration::from_secs(20), run.result()).await.expect("it ends").unwrap()
}

#[tokio::test]
async fn runs_that_wait_for_people_keep_no_other_from_running() {
    let engine = Engine::builder().resource(Journal::default()).max_concurrency(2).build().unwrap();
    let waiting = [engine.start::<asking>(1).await.unwrap(), engine.start::<asking>(2).await.unwrap()];
    for run in &waiting {
        open(run).await;
    }
    assert_eq!(result(&engine.start::<plain>(3).await.unwrap()).await, 3);
    for (run, expected) in waiting.iter().zip([11, 12]) {
        run.answer("amount", 10).await.unwrap();
        assert_eq!(result(run).await, expected);
    }
}

#[tokio::test]
async fn a_sibling_runs_while_a_node_waits_and_one_may_run_at_once() {
    let journal = Journal::default();
    let engine = Engine::builder().resource(journal.clone()).max_concurrency(1).build().unwrap();
    let run = engine.start::<beside>(1).await.unwrap();
    assert_eq!(open(&run).await.len(), 1);
    while journal.lines().is_empty() {
        tokio::task::yield_now().await;
    }
    run.answer("amount", 10).await.unwrap();
    assert_eq!(result(&run).await, 12);
}

#[tokio::test]
async fn children_count_among_what_runs_at_once() {
    #[node]
    async fn works(_n: u32, #[resource] gauge: &Gauge) -> u32 {
        gauge.stay_inside().await;
        1
    }
    #[node]
    async fn delegates(n: u32, ctx: &Context) -> Result<u32, ChildError<Never>> {
        let all = (0..4).map(|key| ctx.call::<works>(n).key(key));
        join_all(all).await.into_iter().sum()
    }
    workflow! { delegating(u32) -> u32 { START => (delegates, works) => add; } }
    let gauge = Gauge::expecting(2);
    let engine = Engine::builder().resource(gauge.clone()).max_concurrency(2).build().unwrap();
    let runs = [engine.start::<delegating>(1).await.unwrap(), engine.start::<delegating>(1).await.unwrap()];
    for run in &runs {
        assert_eq!(result(run).await, 5);
    }
    assert_eq!(gauge.highest(), 2);
}

#[tokio::test]
async fn children_of_children_and_of_workflows_run_where_one_may_run_at_once() {
    #[node]
    async fn leaf(n: u32, ctx: &Context) -> u32 {
        ctx.sleep(Duration::from_millis(1)).await;
        n + 1
    }
    #[node]
    async fn middle(n: u32, ctx: &Context) -> Result<u32, ChildError<Never>> {
        let (a, b) = tokio::join!(ctx.call::<leaf>(n).key("a"), ctx.call::<leaf>(n).key("b"));
        Ok(a? + b?)
    }
    workflow! { inner(u32) -> u32 { START => (middle, leaf) => add; } }
    #[node]
    async fn top(n: u32, ctx: &Context) -> Result<u32, ChildError<Failure>> {
        ctx.call::<inner>(n).await
    }
    workflow! { nested(u32) -> u32 { START => top; } }
    let engine = Engine::builder().max_concurrency(1).build().unwrap();
    let run = engine.start::<nested>(1).await.unwrap();
    assert_eq!(result(&run).await, 6);
}

#[tokio::test]
async fn a_run_that_waits_names_all_of_its_questions() {
    #[node]
    async fn asks_many(ctx: &Context) -> u32 {
        join_all((0..400).map(|key| ctx.ask::<u32>("part", "?").key(key))).await.into_iter().sum()
    }
    workflow! { asking_many(()) -> u32 { START => asks_many; } }
    let engine = Engine::builder().build().unwrap();
    let mut runs = Vec::new();
    for _ in 0..100 {
        runs.push(engine.start::<asking_many>(()).await.unwrap());
    }
    for run in &runs {
        assert_eq!(open(run).await.len(), 400);
    }
    for key in 0..400 {
        runs[0].answer(&format!("part:{key}"), 2).await.unwrap();
    }
    assert_eq!(result(&runs[0]).await, 800);
}

#[tokio::test]
async fn work_beside_a_question_is_not_cut_off() {
    #[node]
    async fn works_beside(
        ctx: &Context,
        #[resource] journal: &Journal,
        #[resource] may_end: &std::sync::Arc<Notify>,
    ) -> u32 {
        let work = async {
            journal.note("work begins");
            may_end.notified().await;
            journal.note("work ends");
            1
        };
        let (answer, worked) = tokio::join!(ctx.ask::<u32>("amount", "?"), work);
        answer + worked
    }
    workflow! { working_beside(()) -> u32 { START => works_beside; } }
    let (journal, may_end, store) = (Journal::default(), std::sync::Arc::new(Notify::new()), MemoryStore::new());
    let engine = Engine::builder().store(store.clone()).resource(journal.clone()).resource(may_end.clone());
    let engine = engine.register::<working_beside>().max_resident_waiting(0).build().unwrap();
    let run = engine.start::<working_beside>(()).await.unwrap();
    assert_eq!(open(&run).await.len(), 1);
    for _ in 0..100 {
        tokio::task::yield_now().await;
    }
    assert!(store.header(run.id()).await.unwrap().unwrap().owner.is_some(), "it has left the memory");
    may_end.notify_one();
    // When nothing but the question is left, it may go.
    while store.header(run.id()).await.unwrap().unwrap().owner.is_some() {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    assert_eq!(journal.lines(), ["work begins", "work ends"]);
    run.answer("amount", 2).await.unwrap();
    may_end.notify_one();
    loop {
        match run.outcome().await.unwrap() {
            Outcome::Waiting(_) => tokio::task::yield_now().await,
            Outcome::Completed(sum) => return assert_eq!(sum, 3),
            other => panic!("{other:?}"),
        }
    }
}

#[tokio::test]
async fn a_node_that_listens_for_cancellation_leaves_the_memory_while_it_waits() {
    #[node]
    async fn listens(ctx: &Context, #[resource] journal: &Journal) -> u32 {
        tokio::select! {
            answer = ctx.ask::<u32>("amount", "?") => answer,
            () = ctx.cancelled() => {
                journal.note("cleans up");
                0
            }
        }
    }
    workflow! { listening(()) -> u32 { START => listens; } }
    let (journal, store) = (Journal::default(), MemoryStore::new());
    let engine = Engine::builder().store(store.clone()).resource(journal.clone());
    let engine = engine.register::<listening>().max_resident_waiting(0).build().unwrap();
    let run = engine.start::<listening>(()).await.unwrap();
    assert_eq!(open(&run).await.len(), 1);
    while store.header(run.id()).await.unwrap().unwrap().owner.is_some() {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    let stays = Engine::builder().resource(journal.clone()).build().unwrap();
    let run = stays.start::<listening>(()).await.unwrap();
    assert_eq!(open(&run).await.len(), 1);
    run.cancel().await.unwrap();
    assert!(matches!(run.outcome().await.unwrap(), Outcome::Cancelled));
    assert_eq!(journal.lines(), ["cleans up"]);
}
