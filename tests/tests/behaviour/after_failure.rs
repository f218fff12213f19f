//! Going on after a failure, and another way from a point in an old run.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::time::Duration;

use graphweft::prelude::*;
use graphweft::store::MemoryStore;
use graphweft::{Engine, EventKind, ForkError, RetryError, RunError, RunFilter, json};
use graphweft_tests::{Death, Journal, Remains, life};

mod common {
    use std::collections::BTreeMap;
    use std::sync::{Arc, Mutex};

    /// How often each node has run.
    #[derive(Clone, Default)]
    pub(crate) struct Ledger(Arc<Mutex<BTreeMap<String, u32>>>);

    impl Ledger {
        pub(crate) fn note(&self, what: String) {
            *self.0.lock().unwrap().entry(what).or_default() += 1;
        }

        pub(crate) fn of(&self, what: &str) -> u32 {
            self.0.lock().unwrap().get(what).copied().unwrap_or_default()
        }
    }
}
use common::Ledger;

#[derive(Clone, Default)]
struct Works(Arc<AtomicBool>);

#[value]
#[derive(Debug, thiserror::Error)]
#[error("not now")]
struct NotNow;

#[node]
async fn before(n: u32, ctx: &Context, #[resource] ledger: &Ledger) -> u32 {
    ledger.note(ctx.path());
    n + 1
}

#[node]
async fn beside(n: u32, ctx: &Context, #[resource] ledger: &Ledger) -> u32 {
    ledger.note(ctx.path());
    n * 2
}

#[node]
async fn fails(n: u32, ctx: &Context, #[resource] ledger: &Ledger, #[resource] works: &Works) -> Result<u32, NotNow> {
    ledger.note(ctx.path());
    if works.0.load(Ordering::SeqCst) { Ok(n) } else { Err(NotNow) }
}

#[node]
async fn joined(a: u32, b: u32, ctx: &Context, #[resource] ledger: &Ledger) -> u32 {
    ledger.note(ctx.path());
    a + b
}

workflow! {
    inner(u32) -> u32 { START => before => fails; }
}

workflow! {
    job(u32) -> u32 { START => (beside, inner) => joined; }
}

#[node]
async fn numbers(n: u32) -> Vec<u32> {
    (0..n).collect()
}

#[node]
async fn picky(n: u32, ctx: &Context, #[resource] ledger: &Ledger, #[resource] works: &Works) -> Result<u32, NotNow> {
    ledger.note(ctx.path());
    if n < 2 || works.0.load(Ordering::SeqCst) { Ok(n) } else { Err(NotNow) }
}

#[node]
async fn sum(all: Vec<u32>) -> u32 {
    all.into_iter().sum()
}

workflow! {
    list(u32) -> u32 { START => numbers => [before => picky] => sum; }
}

fn engine(ledger: &Ledger, works: &Works) -> Engine {
    let builder = Engine::builder().store(MemoryStore::new()).resource(ledger.clone()).resource(works.clone());
    builder.register::<job>().register::<list>().build().unwrap()
}

#[tokio::test]
async fn a_retried_run_does_what_is_not_done_and_nothing_else() {
    let (ledger, works) = (Ledger::default(), Works::default());
    let engine = engine(&ledger, &works);
    let run = engine.start::<job>(3).id("x").await.unwrap();
    assert!(matches!(run.outcome().await.unwrap(), Outcome::Failed(_)));
    works.0.store(true, Ordering::SeqCst);
    let run = engine.retry("x").await.unwrap();
    assert_eq!(run.result().await.unwrap(), json!(10));
    let counts = ["job/beside", "job/inner/before", "job/inner/fails", "job/joined"].map(|path| ledger.of(path));
    assert_eq!(counts, [1, 1, 2, 1]);
}

#[tokio::test]
async fn a_run_may_be_retried_again_and_again() {
    let (ledger, works) = (Ledger::default(), Works::default());
    let engine = engine(&ledger, &works);
    let run = engine.start::<job>(3).id("x").await.unwrap();
    run.outcome().await.unwrap();
    for _ in 0..3 {
        let run = engine.retry("x").await.unwrap();
        assert!(matches!(run.outcome().await.unwrap(), Outcome::Failed(_)));
    }
    works.0.store(true, Ordering::SeqCst);
    assert_eq!(engine.retry("x").await.unwrap().result().await.unwrap(), json!(10));
    assert_eq!((ledger.of("job/inner/before"), ledger.of("job/inner/fails")), (1, 5));
}

#[node]
async fn tripped(n: u32) -> Result<u32, NotNow> {
    if n < 100 { Err(NotNow) } else { Ok(n) }
}

#[node]
async fn step_over(_error: NotNow, #[resource] hurdles: &Hurdles) -> Turn {
    let left = hurdles.0.fetch_sub(1, Ordering::SeqCst);
    if left > 0 { Turn::Again(1) } else { Turn::Done(1) }
}

#[node]
async fn last(
    n: u32,
    ctx: &Context,
    #[resource] works: &Works,
    #[resource] journal: &Journal,
    #[resource] death: &Death,
) -> Result<u32, NotNow> {
    if !works.0.load(Ordering::SeqCst) {
        return Err(NotNow);
    }
    journal.note("last works");
    // It is told to stop, and takes its time.
    ctx.cancelled().await;
    death.come("stopping").await;
    Ok(n)
}

#[value]
#[derive(Route)]
enum Turn {
    Again(u32),
    Done(u32),
}

/// How many turns end with a failure that goes on by its arm.
#[derive(Clone, Default)]
struct Hurdles(Arc<AtomicI64>);

workflow! {
    race(u32) -> u32 { START => tripped => <ok: last, err: step_over => <again: tripped, done: last>>; last => END; }
}

#[test]
fn a_retried_run_that_is_cancelled_stays_so_whatever_failed_before_the_retry() {
    let (remains, works) = (Remains::default(), Works::default());
    let engine = |death: &Death| {
        let builder = remains.engine(death).resource(works.clone()).resource(Hurdles(Arc::new(AtomicI64::new(20))));
        builder.register::<race>().build().unwrap()
    };
    life(async {
        let death = Death::at("stopping");
        let engine = engine(&death);
        let run = engine.start::<race>(1).id("run").await.unwrap();
        assert!(matches!(run.outcome().await.unwrap(), Outcome::Failed(_)));
        works.0.store(true, Ordering::SeqCst);
        let run = engine.retry("run").await.unwrap();
        while remains.journal.count("last works") == 0 {
            tokio::task::yield_now().await;
        }
        run.cancel().await.unwrap();
        death.came().await;
    });
    life(async {
        let engine = engine(&Death::default());
        engine.recover().await.unwrap();
        let run = engine.get_run("run").await.unwrap().unwrap();
        let outcome = tokio::time::timeout(Duration::from_secs(20), run.outcome()).await.expect("it is cancelled");
        assert!(matches!(outcome.unwrap(), Outcome::Cancelled));
    });
}

#[node]
async fn never(_n: u32, ctx: &Context, #[resource] ledger: &Ledger) -> Result<u32, NotNow> {
    ledger.note(ctx.path());
    Err(NotNow)
}

#[node]
async fn instead(ctx: &Context, #[resource] ledger: &Ledger) -> u32 {
    ledger.note(ctx.path());
    7
}

workflow! {
    in_vain(u32) -> u32 { START => before => never; }
}

workflow! {
    each_in_vain(u32) -> u32 { START => numbers => [never] => sum; }
}

workflow! {
    detours(u32) -> u32 {
        let second = instead();
        START => in_vain => <ok: fails, err: instead => each_in_vain>;
        each_in_vain => <ok: fails, err: second => fails>;
        fails => END;
    }
}

#[tokio::test]
async fn what_failed_in_a_graph_that_the_run_went_on_from_stays_as_it_is_when_the_run_is_retried() {
    let (ledger, works) = (Ledger::default(), Works::default());
    let builder = Engine::builder().resource(ledger.clone()).resource(works.clone());
    let engine = builder.register::<detours>().build().unwrap();
    let run = engine.start::<detours>(2).id("x").await.unwrap();
    assert!(matches!(run.outcome().await.unwrap(), Outcome::Failed(_)));
    let paths = ["in_vain/never", "each_in_vain/never[0]", "each_in_vain/never[1]", "instead", "second", "fails"];
    let counts = || paths.map(|path| ledger.of(&format!("detours/{path}")));
    let before = counts();
    // The second item may have been stopped before it ran: the first has failed.
    assert!(before == [1, 1, 0, 1, 1, 1] || before == [1; 6], "{before:?}");
    works.0.store(true, Ordering::SeqCst);
    assert_eq!(engine.retry("x").await.unwrap().result().await.unwrap(), json!(7));
    assert_eq!(counts(), [before[0], before[1], before[2], before[3], before[4], 2]);
}

#[tokio::test]
async fn items_that_are_done_stay_done_when_a_run_is_retried() {
    let (ledger, works) = (Ledger::default(), Works::default());
    let engine = engine(&ledger, &works);
    let run = engine.start::<list>(3).id("x").await.unwrap();
    assert!(matches!(run.outcome().await.unwrap(), Outcome::Failed(_)));
    works.0.store(true, Ordering::SeqCst);
    assert_eq!(engine.retry("x").await.unwrap().result().await.unwrap(), json!(6));
    assert_eq!((ledger.of("list/before[0]"), ledger.of("list/picky[0]")), (1, 1));
}

#[tokio::test]
async fn a_node_may_be_run_again_with_all_behind_it() {
    let (ledger, works) = (Ledger::default(), Works::default());
    let engine = engine(&ledger, &works);
    engine.start::<job>(3).id("x").await.unwrap().outcome().await.unwrap();
    works.0.store(true, Ordering::SeqCst);
    let run = engine.retry("x").from_node("job/inner/before").await.unwrap();
    assert_eq!(run.result().await.unwrap(), json!(10));
    assert_eq!(["job/beside", "job/inner/before"].map(|path| ledger.of(path)), [1, 2]);
}

#[tokio::test]
async fn a_cancelled_run_may_be_retried() {
    let (ledger, works) = (Ledger::default(), Works::default());
    works.0.store(true, Ordering::SeqCst);
    let engine = Engine::builder().resource(ledger).resource(works).register::<asks>().build().unwrap();
    let run = engine.start::<asks>(1).id("x").await.unwrap();
    assert!(matches!(run.outcome().await.unwrap(), Outcome::Waiting(_)));
    run.cancel().await.unwrap();
    assert_eq!(run.outcome().await.unwrap(), Outcome::Cancelled);
    let run = engine.retry("x").await.unwrap();
    let Outcome::Waiting(questions) = run.outcome().await.unwrap() else { panic!("it asks again") };
    assert_eq!(questions.len(), 1);
    run.answer("more", 5).await.unwrap();
    assert_eq!(run.result().await.unwrap(), json!(7));
}

#[node]
async fn person(n: u32, ctx: &Context) -> u32 {
    n + ctx.ask::<u32>("more", "?").await
}

workflow! {
    asks(u32) -> u32 { START => before => person; }
}

#[tokio::test]
async fn what_cannot_be_retried_says_why() {
    let (ledger, works) = (Ledger::default(), Works::default());
    let engine = engine(&ledger, &works);
    let error = engine.retry("nobody").await.unwrap_err();
    assert_eq!(error, RetryError::UnknownRun { run: "nobody".into() });
    engine.start::<job>(3).id("x").await.unwrap().outcome().await.unwrap();
    for path in ["job/inner/befor", "job"] {
        let error = engine.retry("x").from_node(path).await.unwrap_err();
        assert!(matches!(error, RetryError::UnknownPath { .. }), "{error}");
    }
    works.0.store(true, Ordering::SeqCst);
    engine.retry("x").await.unwrap().result().await.unwrap();
    let error = engine.retry("x").await.unwrap_err();
    assert_eq!(error.to_string(), "run `x` has completed; `engine.fork(..)` starts a new run from one of its events");
}

#[tokio::test]
async fn a_fork_goes_another_way_from_a_point_and_the_old_run_never_changes() {
    let (ledger, works) = (Ledger::default(), Works::default());
    let engine = engine(&ledger, &works);
    engine.start::<job>(3).id("x").await.unwrap().outcome().await.unwrap();
    let before = engine.history("x").await.unwrap().unwrap();
    let at = before
        .iter()
        .position(|event| event.path == "job/inner/before" && matches!(event.kind, EventKind::NodeCompleted { .. }))
        .unwrap();
    works.0.store(true, Ordering::SeqCst);
    let fork = engine.fork("x").before(at as u64 + 1).id("y").await.unwrap();
    assert_eq!(fork.result().await.unwrap(), json!(10));
    assert_eq!(ledger.of("job/inner/before"), 1);
    assert_eq!(engine.history("x").await.unwrap().unwrap(), before);
    let forks = engine.list_runs(RunFilter::default().forked_from("x")).await.unwrap();
    assert_eq!(forks.len(), 1);
    assert_eq!((forks[0].id.as_str(), &forks[0].forked_from), ("y", &Some(("x".to_owned(), at as u64 + 1))));
}

#[tokio::test]
async fn a_fork_without_an_event_copies_everything_before_the_end() {
    let (ledger, works) = (Ledger::default(), Works::default());
    let engine = engine(&ledger, &works);
    engine.start::<job>(3).id("x").await.unwrap().outcome().await.unwrap();
    works.0.store(true, Ordering::SeqCst);

    let fork = engine.fork("x").await.unwrap();

    assert_eq!(fork.result().await.unwrap(), json!(10));
    assert_eq!(ledger.of("job/inner/before"), 1);
}

/// What became of it later has not happened in the fork, and it is not known how far it had come.
#[tokio::test]
async fn a_step_that_may_run_once_is_interrupted_in_a_fork_from_between_its_start_and_its_failure() {
    static PAID: AtomicI64 = AtomicI64::new(0);
    #[node]
    async fn pays(n: u32, ctx: &Context) -> Result<u32, String> {
        let pay = || async {
            PAID.fetch_add(1, Ordering::SeqCst);
            Err::<u32, String>(format!("{n} is too much"))
        };
        ctx.step("pay", pay).at_most_once().await.map_err(|error| error.to_string())
    }
    workflow! { paying(u32) -> u32 { START => pays; } }
    let engine = Engine::builder().register::<paying>().build().unwrap();
    engine.start::<paying>(7).id("x").await.unwrap().outcome().await.unwrap();
    let history = engine.history("x").await.unwrap().unwrap();
    let is_failure = |event: &&graphweft::Event| {
        event.path == "paying/pays/pay" && matches!(event.kind, EventKind::NodeFailed { .. })
    };
    let failed = history.iter().find(is_failure).unwrap().seq;

    let fork = engine.fork("x").before(failed).await.unwrap();

    let error = fork.result().await.unwrap_err().to_string();
    assert!(error.contains("interrupted"), "{error}");
    assert_eq!(PAID.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn every_point_of_a_run_may_be_forked_at() {
    let (ledger, works) = (Ledger::default(), Works::default());
    works.0.store(true, Ordering::SeqCst);
    let engine = engine(&ledger, &works);
    for (name, input) in [("job", 3), ("list", 4)] {
        let run = engine.start_json(name, json!(input)).id(name).await.unwrap();
        let output = run.result().await.unwrap();
        let records = engine.history(name).await.unwrap().unwrap().len() as u64;
        for at in 1..=records {
            let fork = engine.fork(name).before(at).await.unwrap();
            assert_eq!(fork.result().await, Ok(output.clone()), "{name} forked at {at}");
        }
        let error = engine.fork(name).before(records + 1).await.unwrap_err();
        assert!(matches!(error, ForkError::NoSuchEvent { .. }), "{error}");
    }
}

#[tokio::test]
async fn a_run_that_has_failed_is_given_back_under_its_id() {
    let (ledger, works) = (Ledger::default(), Works::default());
    let engine = engine(&ledger, &works);
    engine.start::<job>(3).id("x").await.unwrap().outcome().await.unwrap();
    let again = engine.start::<job>(3).id("x").await.unwrap();
    assert!(matches!(again.result().await, Err(RunError::Failed(_))));
    assert_eq!(ledger.of("job/inner/fails"), 1);
}
