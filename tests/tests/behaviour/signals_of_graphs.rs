//! Signals of nodes in graphs that start anew, in child workflows, and of runs that are retried and forked.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use graphweft::prelude::*;
use graphweft::{Event, Signal, Signalled, json};
use graphweft_tests::{Death, Journal, Remains, life};

const PAID: Signal<u64> = Signal::new("paid");

/// How often a node fails before it does not.
#[derive(Clone, Default)]
struct Fails(Arc<AtomicU32>);

impl Fails {
    fn times(times: u32) -> Fails {
        Fails(Arc::new(AtomicU32::new(times)))
    }

    fn next(&self) -> bool {
        self.0.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1)).is_ok()
    }
}

fn engine(fails: u32) -> Engine {
    let builder = Engine::builder().resource(Fails::times(fails)).resource(Journal::default());
    builder.register::<paying>().register::<shop>().register::<shops>().register::<calling>().build().unwrap()
}

#[node]
async fn collects(due: u64, ctx: &Context, #[resource] journal: &Journal) -> u64 {
    let mut paid = 0;
    while paid < due {
        paid += ctx.wait(PAID).await;
    }
    journal.note(paid.to_string());
    paid
}

#[node]
async fn ships(paid: u64, #[resource] fails: &Fails) -> Result<u64, String> {
    if fails.next() { Err("no truck".to_owned()) } else { Ok(paid) }
}

workflow! { paying(u64) -> u64 { START => collects => ships; } }

workflow! {
    shop(u64) -> u64 {
        let paying = paying(retry(max_attempts = 3, initial_delay = "0s"));
        START => paying;
    }
}

#[node]
async fn twice(due: u64) -> Vec<u64> {
    vec![due, due]
}

#[node]
async fn halves(all: Vec<u64>) -> Vec<u64> {
    all.into_iter().map(|paid| paid + 5).collect()
}

#[node]
async fn added(all: Vec<u64>) -> u64 {
    all.iter().sum()
}

workflow! {
    shops(u64) -> u64 {
        let paying = paying(retry(max_attempts = 3, initial_delay = "0s"));
        START => twice => [collects] => halves => [paying] => added;
    }
}

#[node]
async fn calls(due: u64, ctx: &Context) -> Result<u64, ChildError<Failure>> {
    let retries = RetryPolicy::with_max_attempts(3).initial_delay(Duration::ZERO);
    ctx.call::<paying>(due).retry(retries).await
}

workflow! { calling(u64) -> u64 { START => calls; } }

/// Ends the run, with a limit in time.
async fn result(run: &Run<u64>) -> Result<u64, RunError> {
    let result = async {
        loop {
            match run.outcome().await? {
                Outcome::Completed(output) => return Ok(output),
                Outcome::Failed(failure) => return Err(failure.into()),
                Outcome::Cancelled => return Err(RunError::Cancelled),
                _ => tokio::time::sleep(Duration::from_millis(5)).await,
            }
        }
    };
    tokio::time::timeout(Duration::from_secs(20), result).await.expect("the run ends")
}

async fn pay(run: &Run<u64>, all: &[u64]) {
    for paid in all {
        assert_eq!(run.signal(PAID, *paid).await, Ok(Signalled::New));
    }
}

fn taken(events: &[Event]) -> Vec<&str> {
    events.iter().filter(|event| event.kind == EventKind::SignalTaken).map(|event| event.path.as_str()).collect()
}

#[tokio::test]
async fn a_nested_workflow_that_starts_anew_gets_its_signals_again() {
    let engine = engine(2);
    let run = engine.start::<shop>(3).id("run").await.unwrap();
    pay(&run, &[1, 2]).await;
    assert_eq!(result(&run).await.unwrap(), 3);
    assert_eq!(taken(&engine.history("run").await.unwrap().unwrap()).len(), 6);
}

#[tokio::test]
async fn a_child_workflow_that_starts_anew_gets_its_signals_again() {
    let engine = engine(2);
    let run = engine.start::<calling>(3).id("run").await.unwrap();
    pay(&run, &[1, 2]).await;
    assert_eq!(result(&run).await.unwrap(), 3);
}

#[tokio::test]
async fn only_the_item_that_starts_anew_gets_its_signals_again() {
    let engine = engine(2);
    let run = engine.start::<shops>(3).id("run").await.unwrap();
    // The first two items take one each, and the others, which start anew, two.
    pay(&run, &[3, 3]).await;
    pay(&run, &[4, 4, 4, 4]).await;
    assert_eq!(result(&run).await.unwrap(), 16);
    assert!(taken(&engine.history("run").await.unwrap().unwrap()).len() > 6);
}

#[tokio::test]
async fn a_node_that_is_attempted_again_gets_its_signals_again() {
    #[node(retry(max_attempts = 3, initial_delay = "0s"))]
    async fn pays_and_fails(due: u64, ctx: &Context, #[resource] fails: &Fails) -> Result<u64, String> {
        let (first, second) = (ctx.wait(PAID).await, ctx.wait(PAID).await);
        if fails.next() { Err("again".to_owned()) } else { Ok(due + 10 * first + 100 * second) }
    }
    workflow! { flaky(u64) -> u64 { START => pays_and_fails; } }
    let engine = engine(2);
    let run = engine.start::<flaky>(7).id("run").await.unwrap();
    pay(&run, &[1, 2]).await;
    assert_eq!(result(&run).await.unwrap(), 217);
}

#[tokio::test]
async fn a_run_that_is_retried_keeps_its_signals() {
    let engine = engine(1);
    let run = engine.start::<paying>(3).id("run").await.unwrap();
    pay(&run, &[1, 2, 30]).await;
    result(&run).await.unwrap_err();
    let again = engine.retry("run").await.unwrap().typed::<paying>().unwrap();
    assert_eq!(result(&again).await.unwrap(), 3);
    assert!(again.signal(PAID, 5).await.is_err());
}

#[tokio::test]
async fn nodes_that_a_retry_runs_again_get_the_same_signals_first() {
    let engine = engine(1);
    let run = engine.start::<paying>(3).id("run").await.unwrap();
    pay(&run, &[1, 2, 30]).await;
    result(&run).await.unwrap_err();
    let again = engine.retry("run").from_node("paying/collects").await.unwrap().typed::<paying>().unwrap();
    assert_eq!(result(&again).await.unwrap(), 3);
}

#[tokio::test]
async fn a_fork_has_the_signals_from_before_its_point() {
    let engine = engine(0);
    let run = engine.start::<paying>(3).id("run").await.unwrap();
    run.signal(PAID, 1).id("one").await.unwrap();
    run.signal(PAID, 2).id("two").await.unwrap();
    result(&run).await.unwrap();
    let events = engine.history("run").await.unwrap().unwrap();
    let second = events.iter().filter(|event| matches!(event.kind, EventKind::SignalReceived { .. })).nth(1).unwrap();

    let fork = engine.fork("run").before(second.seq).id("fork").await.unwrap().typed::<paying>().unwrap();

    assert_eq!(fork.signal(PAID, 1).id("one").await, Ok(Signalled::Duplicate));
    assert_eq!(fork.signal(PAID, 5).id("two").await, Ok(Signalled::New));
    assert_eq!(result(&fork).await.unwrap(), 6);
}

#[tokio::test]
async fn the_same_start_again_changes_nothing() {
    let engine = engine(0);
    let run = engine.start::<paying>(3).id("run").await.unwrap();
    pay(&run, &[1]).await;
    let same = engine.start::<paying>(3).id("run").await.unwrap();
    pay(&same, &[2]).await;
    assert_eq!(result(&run).await.unwrap(), 3);
}

#[test]
fn a_child_workflow_continues_with_its_signals_after_a_restart() {
    #[node]
    async fn collects_and_dies(due: u64, ctx: &Context, #[resource] death: &Death) -> u64 {
        let mut paid = ctx.wait(PAID).await;
        death.come("paid").await;
        while paid < due {
            paid += ctx.wait(PAID).await;
        }
        paid
    }
    workflow! { inner(u64) -> u64 { START => collects_and_dies; } }
    #[node]
    async fn calls_inner(due: u64, ctx: &Context) -> Result<u64, ChildError<Failure>> {
        let (one, two) = tokio::join!(ctx.call::<inner>(due).key(1), ctx.call::<collects_and_dies>(due));
        Ok(one? + two.map_err(|error| ChildError::Fault(Fault::Context { message: error.to_string() }))?)
    }
    workflow! { outer(u64) -> u64 { START => calls_inner; } }
    let remains = Remains::default();
    life(async {
        let death = Death::at("paid");
        let engine = remains.engine(&death).build().unwrap();
        let run = engine.start::<outer>(10).id("run").await.unwrap();
        for paid in [1, 2, 9, 8] {
            run.signal(PAID, paid).await.unwrap();
        }
        death.came().await;
    });
    let (result, events) = remains.goes_on::<outer>();
    assert_eq!(result.unwrap(), json!(20));
    assert_eq!(taken(&events).len(), 4);
}

#[tokio::test]
async fn a_collecting_node_waits_at_each_arrival() {
    #[node]
    async fn one(n: u64) -> u64 {
        n + 1
    }
    #[node]
    async fn two(n: u64) -> u64 {
        n + 2
    }
    #[node(collect)]
    async fn both(n: u64, ctx: &Context) -> Result<Option<u64>, Fault> {
        const SUM: StateKey<u64, graphweft::state::Sum> = StateKey::new("sum");
        let before = ctx.collector_state().get(SUM)?;
        let sum = n * ctx.wait(PAID).await;
        ctx.collector_state().merge(SUM, sum);
        Ok(before.map(|before| before + sum))
    }
    workflow! { collecting(u64) -> u64 { START => (one, two); one | two => both; } }
    let engine = engine(0);
    let run = engine.start::<collecting>(0).id("run").await.unwrap();
    pay(&run, &[10, 10]).await;
    assert_eq!(result(&run).await.unwrap(), 30);
}

#[tokio::test]
async fn a_child_that_was_dropped_and_starts_anew_gets_its_signals_again() {
    #[node]
    async fn takes_and_asks(n: u64, ctx: &Context) -> u64 {
        let paid = ctx.wait(PAID).await;
        n + paid + u64::from(ctx.ask::<u32>("more", "How much?").await)
    }
    #[node]
    async fn impatient(n: u64, ctx: &Context) -> Result<u64, ChildError<Never>> {
        tokio::select! {
            child = ctx.call::<takes_and_asks>(n) => return child,
            _ = ctx.ask::<bool>("again", "Once more?") => {}
        }
        ctx.call::<takes_and_asks>(n).await
    }
    workflow! { dropping(u64) -> u64 { START => impatient; } }
    let engine = engine(0);
    let run = engine.start::<dropping>(1).id("run").await.unwrap();
    pay(&run, &[10]).await;
    while run.questions().await.unwrap().len() < 2 {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    run.answer("again", true).await.unwrap();
    while run.answer("more", 100).await.is_err() {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    assert_eq!(result(&run).await.unwrap(), 111);
}
