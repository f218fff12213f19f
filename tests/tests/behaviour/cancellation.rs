//! Stopping a run: from outside, by dropping it, and with time to clean up.

use std::sync::Arc;
use std::time::Duration;

use graphweft::prelude::*;
use graphweft::store::{Append, Appended, BoxFuture, MemoryStore, Store, StoreError};
use graphweft::{EventKind, Run, Workflow};
use graphweft_tests::{Journal, paths, records, seconds_since};
use tokio::sync::{Notify, Semaphore};

/// Nodes that are under way give it a permit each.
struct Begun(Semaphore);

#[node]
async fn parked(_n: u32, #[resource] journal: &Journal, #[resource] begun: &Arc<Begun>) -> u32 {
    let _told = journal.when_dropped("stopped");
    begun.0.add_permits(1);
    std::future::pending().await
}

#[node]
async fn tidy(n: u32, ctx: &Context, #[resource] journal: &Journal, #[resource] begun: &Arc<Begun>) -> u32 {
    let cancelled = ctx.cancelled();
    begun.0.add_permits(1);
    cancelled.await;
    tokio::task::yield_now().await;
    journal.note("tidied up");
    n
}

#[node]
async fn count(n: u32) -> Vec<u32> {
    (0..n).collect()
}

#[node]
async fn sum(a: u32, b: u32) -> u32 {
    a + b
}

#[node]
async fn number(n: u32) -> u32 {
    n
}

workflow! {
    waiting(u32) -> u32 { START => number => parked => after; let after = number(); }
}

workflow! {
    tidying(u32) -> u32 { START => tidy; }
}

/// Starts it and waits until that many nodes are parked.
async fn until_parked<W: Workflow<Input = u32>>(input: u32, nodes: u32, journal: &Journal) -> Run<W::Output> {
    let begun = Arc::new(Begun(Semaphore::new(0)));
    let engine = Engine::builder().resource(journal.clone()).resource(Arc::clone(&begun)).build().unwrap();
    let run = engine.start::<W>(input).await.unwrap();
    begun.0.acquire_many(nodes).await.unwrap().forget();
    run
}

#[tokio::test]
async fn a_cancelled_run_ends_cancelled() {
    let run = until_parked::<waiting>(1, 1, &Journal::default()).await;
    run.cancel().await.expect("it is recorded");
    assert_eq!(run.outcome().await.unwrap(), Outcome::Cancelled);
}

#[tokio::test]
async fn the_result_of_a_cancelled_run_is_an_error() {
    let run = until_parked::<waiting>(1, 1, &Journal::default()).await;
    run.cancel().await.expect("it is recorded");
    assert_eq!(run.result().await.unwrap_err().to_string(), "the run was cancelled");
}

#[tokio::test]
async fn the_node_under_way_is_stopped() {
    let journal = Journal::default();
    let run = until_parked::<waiting>(1, 1, &journal).await;
    run.cancel().await.expect("it is recorded");
    run.outcome().await.unwrap();
    assert_eq!(journal.lines(), ["stopped"]);
}

#[tokio::test]
async fn every_branch_is_stopped() {
    workflow! { both(u32) -> u32 { START => (parked, again) => sum; let again = parked(); } }
    let journal = Journal::default();
    let run = until_parked::<both>(1, 2, &journal).await;
    run.cancel().await.expect("it is recorded");
    run.outcome().await.unwrap();
    assert_eq!(journal.count("stopped"), 2);
}

#[tokio::test]
async fn every_item_is_stopped() {
    workflow! { items(u32) -> Vec<u32> { START => count => [parked]; } }
    let journal = Journal::default();
    let run = until_parked::<items>(5, 5, &journal).await;
    run.cancel().await.expect("it is recorded");
    run.outcome().await.unwrap();
    assert_eq!(journal.count("stopped"), 5);
}

#[tokio::test]
async fn nothing_begins_after_a_cancellation() {
    let run = until_parked::<waiting>(1, 1, &Journal::default()).await;
    run.cancel().await.expect("it is recorded");
    let begun = graphweft_tests::started(&records(&run).await);
    assert_eq!(begun, ["waiting/number", "waiting/parked"]);
}

#[tokio::test]
async fn the_stopped_node_is_recorded() {
    let run = until_parked::<waiting>(1, 1, &Journal::default()).await;
    run.cancel().await.expect("it is recorded");
    let stopped = paths(&records(&run).await, |kind| matches!(kind, EventKind::NodeCancelled));
    assert_eq!(stopped, ["waiting/parked"]);
}

#[tokio::test]
async fn the_last_record_is_the_cancellation() {
    let run = until_parked::<waiting>(1, 1, &Journal::default()).await;
    run.cancel().await.expect("it is recorded");
    assert_eq!(records(&run).await.last().map(|event| event.kind.clone()), Some(EventKind::RunCancelled));
}

#[tokio::test]
async fn a_node_that_listens_may_clean_up() {
    let journal = Journal::default();
    let run = until_parked::<tidying>(1, 1, &journal).await;
    run.cancel().await.expect("it is recorded");
    run.outcome().await.unwrap();
    assert_eq!(journal.lines(), ["tidied up"]);
}

#[tokio::test]
async fn what_a_cancelled_node_gives_is_dropped() {
    let run = until_parked::<tidying>(1, 1, &Journal::default()).await;
    run.cancel().await.expect("it is recorded");
    assert_eq!(run.outcome().await.unwrap(), Outcome::Cancelled);
}

#[tokio::test(start_paused = true)]
async fn a_node_that_cleans_up_for_too_long_is_dropped() {
    #[node]
    async fn stubborn(_n: u32, ctx: &Context, #[resource] begun: &Arc<Begun>) -> u32 {
        begun.0.add_permits(1);
        ctx.cancelled().await;
        std::future::pending().await
    }
    workflow! { stuck(u32) -> u32 { START => stubborn; } }
    let begun = Arc::new(Begun(Semaphore::new(0)));
    let engine =
        Engine::builder().resource(Arc::clone(&begun)).cancel_grace_period(Duration::from_secs(5)).build().unwrap();
    let run = engine.start::<stuck>(1).await.unwrap();
    begun.0.acquire().await.unwrap().forget();
    let start = tokio::time::Instant::now();
    run.cancel().await.expect("it is recorded");
    run.outcome().await.unwrap();
    assert_eq!(seconds_since(start), 5);
}

#[tokio::test(start_paused = true)]
async fn the_delay_before_an_attempt_is_cut_short() {
    #[node(retry(max_attempts = 2, initial_delay = "1h", max_delay = "1h"))]
    async fn fails(_n: u32, #[resource] begun: &Arc<Begun>) -> Result<u32, String> {
        begun.0.add_permits(1);
        Err("later".to_owned())
    }
    workflow! { failing(u32) -> u32 { START => fails; } }
    let start = tokio::time::Instant::now();
    let run = until_parked::<failing>(1, 1, &Journal::default()).await;
    run.cancel().await.expect("it is recorded");
    run.outcome().await.unwrap();
    assert!(start.elapsed() < Duration::from_secs(1), "{:?}", start.elapsed());
}

#[tokio::test]
async fn a_run_that_has_ended_stays_as_it_is() {
    workflow! { numbers(u32) -> u32 { START => number; } }
    let run = Engine::builder().build().unwrap().start::<numbers>(3).await.unwrap();
    run.outcome().await.unwrap();
    run.cancel().await.expect("it is recorded");
    assert_eq!(run.outcome().await.unwrap(), Outcome::Completed(3));
}

#[tokio::test]
async fn dropping_a_handle_leaves_the_run_going() {
    #[node]
    async fn waits(n: u32, #[resource] go: &Arc<Notify>, #[resource] journal: &Journal) -> u32 {
        go.notified().await;
        journal.note("went on");
        n
    }
    workflow! { patient(u32) -> u32 { START => waits; } }
    let (go, journal) = (Arc::new(Notify::new()), Journal::default());
    let engine = Engine::builder().resource(Arc::clone(&go)).resource(journal.clone()).build().unwrap();
    drop(engine.start::<patient>(1).id("kept").await.unwrap());
    go.notify_one();
    engine.get_run("kept").await.unwrap().unwrap().outcome().await.unwrap();
    assert_eq!(journal.lines(), ["went on"]);
}

#[tokio::test]
async fn dropping_the_short_form_stops_its_nodes() {
    let journal = Journal::default();
    let started = Arc::new(Notify::new());
    struct Parks {
        journal: Journal,
        started: Arc<Notify>,
    }
    impl Node for Parks {
        type Input = u32;
        type Output = u32;
        type Error = Never;

        async fn run(&self, _n: u32, _: &Context) -> Result<u32, Never> {
            let _told = self.journal.when_dropped("stopped");
            self.started.notify_one();
            std::future::pending().await
        }
    }
    let flow = workflow! {
        let parks = Parks { journal: journal.clone(), started: Arc::clone(&started) };
        START => parks
    };
    tokio::select! {
        _ = flow.run(1) => unreachable!("it never ends"),
        () = started.notified() => {}
    }
    assert_eq!(journal.lines(), ["stopped"]);
}

/// A slow store, which notes when the failure of a node is recorded.
struct Slow {
    inner: MemoryStore,
    journal: Journal,
}

impl Store for Slow {
    graphweft_tests::forward_store! {
        join leave create read header list count overview open_questions delete reserve_task claim start_over is_alive is_served
        feed feed_end graph logs keeps_snapshots put_snapshot snapshot
    }

    fn append(&self, batch: Append) -> BoxFuture<'static, Result<Appended, StoreError>> {
        let fails = batch.records.iter().any(|record| matches!(record.kind, EventKind::NodeFailed { .. }));
        let (appended, journal) = (self.inner.append(batch), self.journal.clone());
        Box::pin(async move {
            tokio::time::sleep(Duration::from_millis(20)).await;
            let appended = appended.await?;
            if fails {
                journal.note("recorded");
            }
            Ok(appended)
        })
    }
}

#[tokio::test]
async fn a_cancellation_is_signalled_once_the_reason_is_recorded() {
    #[node]
    async fn declines(_n: u32, #[resource] begun: &Arc<Begun>) -> Result<u32, String> {
        begun.0.acquire().await.unwrap().forget();
        Err("declined".to_owned())
    }
    workflow! { buys(u32) -> u32 { START => declines; START => tidy; (declines, tidy) => sum; } }

    let journal = Journal::default();
    let store = Slow { inner: MemoryStore::new(), journal: journal.clone() };
    let begun = Arc::new(Begun(Semaphore::new(0)));
    let engine = Engine::builder().store(store).resource(journal.clone()).resource(begun).register::<buys>();
    let engine = engine.build().unwrap();
    engine.start::<buys>(1).await.unwrap().result().await.unwrap_err();
    assert_eq!(journal.lines(), ["recorded", "tidied up"]);
}

/// The engine that has the run has not seen the request yet.
#[tokio::test]
async fn the_outcome_of_a_waiting_run_that_another_engine_cancels_is_its_end() {
    const PAID: graphweft::Signal<u32> = graphweft::Signal::new("paid");
    #[node]
    async fn asks(n: u32, ctx: &Context) -> u32 {
        ctx.ask::<u32>("more", "How many more?").await + n
    }
    #[node]
    async fn waits(n: u32, ctx: &Context) -> u32 {
        ctx.wait(PAID).await + n
    }
    workflow! { asking(u32) -> u32 { START => asks; } }
    workflow! { awaiting(u32) -> u32 { START => waits; } }
    let store = MemoryStore::new();
    let engine = || Engine::builder().store(store.clone()).register::<asking>().register::<awaiting>().build().unwrap();
    let (owner, other) = (engine(), engine());
    for workflow in ["asking", "awaiting"] {
        let run = owner.start_json(workflow, 1.into()).id(workflow).await.unwrap();
        run.outcome().await.unwrap();

        let run = other.get_run(workflow).await.unwrap().unwrap();
        run.cancel().await.unwrap();
        assert!(matches!(run.outcome().await.unwrap(), Outcome::Cancelled), "{workflow}");
    }
}
