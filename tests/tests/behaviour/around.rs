//! What is around every attempt of an engine.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::{FutureExt, StreamExt};
use graphweft::prelude::*;
use graphweft::{Call, Done, EngineBuilder, Next};
use graphweft_tests::Journal;

#[node]
async fn price(item: String) -> u64 {
    item.len() as u64
}

#[node]
async fn charge(item: String, ctx: &Context, #[resource] journal: &Journal) -> Result<u64, ChildError<String>> {
    journal.note("charges");
    let price = ctx.call::<price>(item).await.map_err(|error| match error {
        ChildError::Error(never) => match never {},
        other => ChildError::Error(other.to_string()),
    })?;
    ctx.step("pay", || async move { if price > 3 { Ok(price) } else { Err("too little".to_owned()) } }).await
}

#[node]
async fn refuse(error: ChildError<String>) -> u64 {
    assert!(error.to_string().contains("too little"), "{error}");
    0
}

workflow! { checkout(String) -> u64 { START => charge => <ok: END, err: refuse>; refuse => END; } }

/// Notes each attempt with its end.
fn watched(builder: EngineBuilder, journal: &Journal, name: &'static str) -> EngineBuilder {
    let journal = journal.clone();
    builder.around(move |call: Call, next: Next| {
        let journal = journal.clone();
        async move {
            let kind = match (call.is_child(), call.is_step()) {
                (true, _) => "Child",
                (_, true) => "Step",
                (false, false) => "Node",
            };
            journal.note(format!("{name} {kind} {} {}", call.path, call.attempt));
            let done = next.run().await;
            journal.note(format!("{name} {} {}", call.name(), done.error().unwrap_or("ok")));
            done
        }
    })
}

#[tokio::test]
async fn nodes_children_and_steps_have_it_around_them_and_the_first_is_outermost() {
    let journal = Journal::default();
    let builder = watched(Engine::builder().resource(journal.clone()), &journal, "a");
    let engine = watched(builder, &journal, "b").build().unwrap();
    assert_eq!(engine.start::<checkout>("lamp".to_owned()).await.unwrap().result().await.unwrap(), 4);
    let expected = [
        "a Node checkout/charge 1",
        "b Node checkout/charge 1",
        "charges",
        "a Child checkout/charge/price 1",
        "b Child checkout/charge/price 1",
        "b price ok",
        "a price ok",
        "a Step checkout/charge/pay 1",
        "b Step checkout/charge/pay 1",
        "b pay ok",
        "a pay ok",
        "b charge ok",
        "a charge ok",
    ];
    assert_eq!(journal.lines(), expected);
}

#[tokio::test]
async fn it_sees_errors_and_the_run_takes_its_way() {
    let journal = Journal::default();
    let engine = watched(Engine::builder().resource(journal.clone()), &journal, "a").build().unwrap();
    assert_eq!(engine.run_to_end::<checkout>("ax".to_owned()).await.unwrap(), 0);
    let lines = journal.lines();
    assert!(lines.iter().any(|line| line.starts_with("a pay ") && line.contains("too little")), "{lines:?}");
    assert!(lines.iter().any(|line| line.starts_with("a charge ") && line.contains("too little")), "{lines:?}");
    assert!(lines.contains(&"a refuse ok".to_owned()), "{lines:?}");
}

#[node(retry(max_attempts = 3, initial_delay = "1ms"))]
async fn flaky(tries: u32, #[resource] count: &AtomicU32) -> Result<u32, String> {
    let before = count.fetch_add(1, Ordering::Relaxed);
    if before < tries { Err(format!("try {before}")) } else { Ok(before) }
}

workflow! { trying(u32) -> u32 { START => flaky; } }

#[tokio::test]
async fn each_attempt_has_it_around_it() {
    let journal = Journal::default();
    let builder = Engine::builder().resource(AtomicU32::new(0));
    let engine = watched(builder, &journal, "a").build().unwrap();
    assert_eq!(engine.start::<trying>(2).await.unwrap().result().await.unwrap(), 2);
    let attempts: Vec<String> = journal.lines().into_iter().filter(|line| line.contains("Node")).collect();
    assert_eq!(attempts, ["a Node trying/flaky 1", "a Node trying/flaky 2", "a Node trying/flaky 3"]);
    assert_eq!(journal.count("a flaky try 1"), 1, "{:?}", journal.lines());
}

#[node]
async fn turn(n: u32, ctx: &Context) -> u32 {
    if n < 2 { ctx.start_over::<turning>(n + 1).await } else { n }
}

workflow! { turning(u32) -> u32 { START => turn; } }

#[tokio::test]
async fn a_node_that_starts_its_run_over_has_not_failed() {
    let journal = Journal::default();
    let engine = watched(Engine::builder(), &journal, "a").register::<turning>().build().unwrap();
    assert_eq!(engine.start::<turning>(1).await.unwrap().result().await.unwrap(), 2);
    assert_eq!(journal.count("a turn ok"), 2, "{:?}", journal.lines());
}

#[node]
async fn hold(journal: u32, #[resource] lines: &Journal) -> u32 {
    lines.note("begins");
    let _end = lines.when_dropped("dropped");
    futures::future::pending::<()>().await;
    journal
}

#[node]
async fn instant(n: u32, #[resource] lines: &Journal) -> u32 {
    lines.note("ran");
    n
}

workflow! { holding(u32) -> u32 { START => hold; } }
workflow! { quick(u32) -> u32 { START => instant; } }

async fn failure<F>(around: F) -> (String, Vec<String>)
where
    F: Fn(Call, Next) -> futures::future::BoxFuture<'static, Done> + Send + Sync + 'static,
{
    let journal = Journal::default();
    let engine = Engine::builder().resource(journal.clone()).around(around).build().unwrap();
    let failed = engine.run_to_end::<quick>(1).await.unwrap_err();
    (failed.to_string(), journal.lines())
}

#[tokio::test]
async fn an_attempt_is_refused_before_it_begins_or_failed_after_it() {
    let (error, lines) = failure(|_, _| Box::pin(async { Done::failed("not on Sundays") })).await;
    assert!(error.contains("not on Sundays"), "{error}");
    assert_eq!(lines, [""; 0]);
    let late = |_, next: Next| {
        let around = async {
            assert!(next.run().await.is_completed());
            Done::failed("too late")
        };
        around.boxed()
    };
    let (error, lines) = failure(late).await;
    assert!(error.contains("too late"), "{error}");
    assert_eq!(lines, ["ran"]);
}

#[tokio::test]
async fn its_panic_is_one_of_the_node() {
    let (error, lines) = failure(|_, _| panic!("no plan")).await;
    assert!(error.contains("no plan"), "{error}");
    assert_eq!(lines, [""; 0]);
    let (error, _) = failure(|_, next| {
        async {
            next.run().await;
            panic!("afterwards")
        }
        .boxed()
    })
    .await;
    assert!(error.contains("afterwards"), "{error}");
}

#[tokio::test]
async fn the_end_of_another_attempt_is_not_that_of_this_one() {
    let kept = Arc::new(Mutex::new(None));
    let journal = Journal::default();
    let engine = Engine::builder().resource(journal.clone()).around(move |_, next| {
        let before = kept.lock().unwrap().take();
        let kept = Arc::clone(&kept);
        async move {
            if let Some(done) = before {
                return done;
            }
            let done = next.run().await;
            *kept.lock().unwrap() = Some(done.clone());
            done
        }
    });
    let engine = engine.build().unwrap();
    assert_eq!(engine.run_to_end::<quick>(1).await.unwrap(), 1);
    let error = engine.run_to_end::<quick>(2).await.unwrap_err().to_string();
    assert!(error.contains("another attempt"), "{error}");
    assert_eq!(journal.lines(), ["ran"]);
}

#[tokio::test(start_paused = true)]
async fn an_attempt_that_it_no_longer_waits_for_is_dropped() {
    let journal = Journal::default();
    let engine = Engine::builder().resource(journal.clone()).around(|_, next| async {
        let ended = tokio::time::timeout(Duration::from_secs(2), next.run()).await;
        ended.unwrap_or_else(|_| Done::failed("too slow"))
    });
    let error = engine.build().unwrap().run_to_end::<holding>(1).await.unwrap_err().to_string();
    assert!(error.contains("too slow"), "{error}");
    assert_eq!(journal.lines(), ["begins", "dropped"]);
}

#[tokio::test]
async fn it_may_wait_for_the_end_in_another_task_or_beside_other_things() {
    let journal = Journal::default();
    let spawned = Engine::builder().resource(journal.clone());
    let spawned = spawned.around(|_, next| async { tokio::spawn(next.run()).await.unwrap() }).build().unwrap();
    assert_eq!(spawned.run_to_end::<quick>(1).await.unwrap(), 1);
    let beside = Engine::builder().resource(journal.clone()).around(|_, next| async {
        let mut all = futures::stream::FuturesUnordered::new();
        all.push(next.run().map(Some).boxed());
        all.push(async { None }.boxed());
        let mut done = None;
        while let Some(one) = all.next().await {
            done = one.or(done);
        }
        done.unwrap()
    });
    assert_eq!(beside.build().unwrap().run_to_end::<quick>(2).await.unwrap(), 2);
    assert_eq!(journal.lines(), ["ran", "ran"]);
}

#[node]
async fn ask(n: u32, ctx: &Context) -> u32 {
    n + ctx.ask::<u32>("more", "How many more?").await
}

#[node]
async fn twice(n: u32) -> u32 {
    2 * n
}

workflow! { asking(u32) -> u32 { START => twice => ask; } }

#[tokio::test]
async fn a_run_that_waits_leaves_the_memory_and_what_is_recorded_has_nothing_around_it() {
    let directory = tempfile::tempdir().unwrap();
    let journal = Journal::default();
    let engine = async || {
        let store = SqliteStore::open(directory.path().join("runs.db")).await.unwrap();
        let builder = Engine::builder().store(store).register::<asking>().max_resident_waiting(0);
        watched(builder, &journal, "a").build().unwrap()
    };
    let first = engine().await;
    let run = first.start::<asking>(2).id("run").await.unwrap();
    assert!(matches!(run.outcome().await.unwrap(), Outcome::Waiting(_)));
    run.answer("more", 3).await.unwrap();
    assert_eq!(run.result().await.unwrap(), 7);
    // The node that asked began again, since it was not in memory when the answer came.
    let begun = |path: &str| journal.count(&format!("a Node asking/{path} 1"));
    assert_eq!((begun("twice"), begun("ask")), (1, 2), "{:?}", journal.lines());

    let run = first.start::<asking>(2).id("next").await.unwrap();
    assert!(matches!(run.outcome().await.unwrap(), Outcome::Waiting(_)));
    first.shutdown().await;
    let second = engine().await;
    second.answer("next", "more", 4).await.unwrap();
    assert_eq!(second.get_run_of::<asking>("next").await.unwrap().unwrap().result().await.unwrap(), 8);
    assert_eq!((begun("twice"), begun("ask")), (2, 4), "{:?}", journal.lines());
}
