//! What counts as waiting: for the limit of what runs at once, for who waits for a run, and for the memory.

use std::sync::Arc;
use std::time::Duration;

use futures::future::join_all;
use graphweft::prelude::*;
use graphweft::store::{MemoryStore, RunStatus, Store};
use graphweft::{AnswerError, ChildError, Failure, Never, Question, Run};
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
    async fn works_beside(ctx: &Context, #[resource] journal: &Journal, #[resource] may_end: &Arc<Notify>) -> u32 {
        let _leaves = journal.when_dropped("it leaves the memory");
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
    let (journal, may_end) = (Journal::default(), Arc::new(Notify::new()));
    let engine = Engine::builder().resource(journal.clone()).resource(may_end.clone());
    let engine = engine.register::<working_beside>().max_resident_waiting(0).build().unwrap();
    let run = engine.start::<working_beside>(()).await.unwrap();
    assert_eq!(open(&run).await.len(), 1);
    for _ in 0..100 {
        tokio::task::yield_now().await;
    }
    assert_eq!(journal.count("it leaves the memory"), 0);
    may_end.notify_one();
    // When nothing but the question is left, it may go.
    while journal.count("it leaves the memory") == 0 {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    assert_eq!(journal.lines(), ["work begins", "work ends", "it leaves the memory"]);
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
        let _leaves = journal.when_dropped("is dropped");
        tokio::select! {
            answer = ctx.ask::<u32>("amount", "?") => answer,
            () = ctx.cancelled() => {
                journal.note("cleans up");
                0
            }
        }
    }
    workflow! { listening(()) -> u32 { START => listens; } }
    let journal = Journal::default();
    let engine = Engine::builder().resource(journal.clone());
    let engine = engine.register::<listening>().max_resident_waiting(0).build().unwrap();
    let run = engine.start::<listening>(()).await.unwrap();
    assert_eq!(open(&run).await.len(), 1);
    while journal.lines().is_empty() {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    assert_eq!(journal.lines(), ["is dropped"]);
    let stays = Engine::builder().resource(journal.clone()).build().unwrap();
    let run = stays.start::<listening>(()).await.unwrap();
    assert_eq!(open(&run).await.len(), 1);
    run.cancel().await.unwrap();
    assert!(matches!(run.outcome().await.unwrap(), Outcome::Cancelled));
    assert_eq!(journal.lines(), ["is dropped", "cleans up", "is dropped"]);
}

#[tokio::test]
async fn what_a_spawned_task_asks_for_while_its_run_waits_is_open_and_the_run_waits_again() {
    #[node]
    async fn asks_late(ctx: &Context) -> u32 {
        let late = ctx.clone();
        let late = tokio::spawn(async move {
            tokio::time::sleep(Duration::from_millis(30)).await;
            late.ask::<u32>("late", "?").await
        });
        ctx.ask::<u32>("soon", "?").await + late.await.unwrap()
    }
    workflow! { asking_late(()) -> u32 { START => asks_late; } }
    let store = MemoryStore::new();
    let engine = Engine::builder().store(store.clone()).build().unwrap();
    let run = engine.start::<asking_late>(()).id("run").await.unwrap();
    assert!(matches!(run.outcome().await.unwrap(), Outcome::Waiting(open) if open.len() == 1));
    while run.questions().await.unwrap().len() < 2 {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    let waits = async {
        while store.header("run").await.unwrap().unwrap().status != RunStatus::Waiting {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(20), waits).await.expect("its header says that it waits");
    run.answer("late", 1).await.unwrap();
    run.answer("soon", 2).await.unwrap();
    assert_eq!(run.result().await.unwrap(), 3);
}

#[tokio::test]
async fn a_run_is_not_said_to_wait_while_another_of_its_nodes_works() {
    #[node]
    async fn works_later(
        n: u32,
        ctx: &Context,
        #[resource] journal: &Journal,
        #[resource] may_end: &Arc<Notify>,
    ) -> u32 {
        ctx.sleep(Duration::from_millis(50)).await;
        journal.note("works");
        may_end.notified().await;
        n
    }
    #[node]
    async fn add(a: u32, b: u32) -> u32 {
        a + b
    }
    workflow! { waiting_and_working(u32) -> u32 { START => (asks, works_later) => add; } }
    let (journal, may_end) = (Journal::default(), Arc::new(Notify::new()));
    let engine = Engine::builder().resource(journal.clone()).resource(Arc::clone(&may_end)).build().unwrap();
    let run = engine.start::<waiting_and_working>(1).await.unwrap();
    assert_eq!(open(&run).await.len(), 1);
    while journal.count("works") == 0 {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    // Its driver has seen that in a moment.
    tokio::time::sleep(Duration::from_millis(20)).await;

    let outcome = tokio::time::timeout(Duration::from_millis(50), run.outcome()).await;

    assert!(outcome.is_err(), "it works: {outcome:?}");
    may_end.notify_one();
    assert_eq!(open(&run).await.len(), 1);
    run.answer("amount", 5).await.unwrap();
    assert_eq!(result(&run).await, 7);
}

#[tokio::test]
async fn a_run_that_waits_does_so_after_a_message_of_a_spawned_task() {
    #[node]
    async fn spawns(ctx: &Context, #[resource] may_speak: &Arc<Notify>, #[resource] journal: &Journal) -> u32 {
        let _leaves = journal.when_dropped("it leaves the memory");
        let (own, may_speak) = (ctx.clone(), Arc::clone(may_speak));
        tokio::spawn(async move {
            may_speak.notified().await;
            own.message("tick");
        });
        ctx.ask::<u32>("amount", "?").await
    }
    workflow! { speaking(()) -> u32 { START => spawns; } }
    let (may_speak, store) = (Arc::new(Notify::new()), MemoryStore::new());
    let journal = Journal::default();
    let engine = Engine::builder().store(store.clone()).resource(Arc::clone(&may_speak)).resource(journal.clone());
    let engine = engine.register::<speaking>().max_resident_waiting(1).build().unwrap();
    let run = engine.start::<speaking>(()).id("run").await.unwrap();
    open(&run).await;
    let records = store.header("run").await.unwrap().unwrap().records;

    may_speak.notify_one();

    let waits = async {
        loop {
            let header = store.header("run").await.unwrap().unwrap();
            if header.records > records && header.status == RunStatus::Waiting {
                return;
            }
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(20), waits).await.expect("its header says that it waits");
    assert_eq!(open(&run).await.len(), 1);
    // It is the only one that waits, and one may stay.
    assert!(journal.lines().is_empty(), "{:?}", journal.lines());
}

#[tokio::test(start_paused = true)]
async fn a_run_waits_on_when_a_question_is_answered_that_no_node_waits_for() {
    #[node(retry(max_attempts = 2, initial_delay = "1ms"))]
    async fn asks_another(ctx: &Context) -> Result<u32, String> {
        if ctx.attempt() == 1 {
            let mut first = Box::pin(ctx.ask::<u32>("first", "?"));
            let asked = tokio::time::timeout(Duration::from_millis(20), &mut first).await;
            assert!(asked.is_err());
            return Err("once".to_owned());
        }
        let second = tokio::time::timeout(Duration::from_secs(3600), ctx.ask::<u32>("second", "?"));
        second.await.map_err(|error| error.to_string())
    }
    workflow! { asking_another(()) -> u32 { START => asks_another; } }
    let engine = Engine::builder().build().unwrap();
    let run = engine.start::<asking_another>(()).await.unwrap();
    while !open(&run).await.iter().any(|question| question.id.ends_with("second")) {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    // It is of the attempt before, and nobody reads it.
    let unread = run.answer("first", 1).await;

    assert!(matches!(unread, Err(AnswerError::Unread { .. })), "{unread:?}");
    assert_eq!(open(&run).await.len(), 1);

    run.answer("second", 2).await.unwrap();
    assert_eq!(result(&run).await, 2);
}
