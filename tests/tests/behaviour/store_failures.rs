//! A store that fails in the middle of a run: for every commit, before and after it is done. The run stops with the
//! store's error, is not lost, and goes on when the cause is gone.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::future::BoxFuture;
use futures::{FutureExt, StreamExt};
use graphweft::prelude::*;
use graphweft::store::{Append, Appended, Created, MemoryStore, NewRun, RunKey, Store, StoreError, Stored};
use graphweft::{
    ChildError, Engine, EventKind, RetryError, RetryPolicy, RunError, RunFilter, Workflow, state::Append as AppendTo,
};
use graphweft_tests::life;
use serde_json::Value as Json;

mod away;

/// Fails from the append of this number on, until it is mended.
#[derive(Clone)]
struct Failing {
    inner: MemoryStore,
    left: Arc<AtomicI64>,
    how: Fails,
    /// Whether no records can be read either.
    is_unreadable: Arc<AtomicBool>,
}

/// What becomes of the append that fails first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fails {
    NotDone,
    /// It is carried out, and its acknowledgement lost.
    Unheard,
    /// It takes for ever.
    Hangs,
    /// It is carried out, as the addition of a run is, and that is never acknowledged.
    IsSilent,
}

impl Failing {
    fn mend(&self) {
        self.left.store(i64::MAX, Ordering::SeqCst);
    }
}

/// One after which the engine does not try again by itself.
fn broken() -> StoreError {
    StoreError::Io { path: PathBuf::from("runs.db"), message: "disk I/O error".to_owned() }
}

impl Store for Failing {
    graphweft_tests::forward_store! {
        join leave header list count overview open_questions delete reserve_task claim start_over is_alive is_served feed feed_end graph logs
        keeps_snapshots put_snapshot snapshot
    }

    fn create(&self, run: NewRun) -> BoxFuture<'_, Result<Created, StoreError>> {
        let created = self.inner.create(run);
        if self.how != Fails::IsSilent || self.left.fetch_sub(1, Ordering::SeqCst) > 0 {
            return created;
        }
        std::future::pending().boxed()
    }

    fn append(&self, batch: Append) -> BoxFuture<'static, Result<Appended, StoreError>> {
        let left = self.left.fetch_sub(1, Ordering::SeqCst);
        if left > 0 {
            return self.inner.append(batch);
        }
        let is_done = matches!(self.how, Fails::Unheard | Fails::IsSilent);
        let done = (left == 0 && is_done).then(|| self.inner.append(batch));
        let hangs = matches!(self.how, Fails::Hangs | Fails::IsSilent);
        async move {
            if hangs {
                return std::future::pending().await;
            }
            if let Some(done) = done {
                done.await?;
            }
            Err(broken())
        }
        .boxed()
    }

    fn read(&self, run: RunKey, from: u64, limit: usize) -> BoxFuture<'_, Result<Vec<Stored>, StoreError>> {
        if self.is_unreadable.load(Ordering::SeqCst) {
            return async { Err(broken()) }.boxed();
        }
        self.inner.read(run, from, limit)
    }
}

/// By path: how often a node has begun.
#[derive(Clone, Default)]
struct Ledger(Arc<Mutex<BTreeMap<String, u32>>>);

impl Ledger {
    fn note(&self, ctx: &Context) {
        *self.0.lock().unwrap().entry(ctx.path()).or_default() += 1;
    }
}

const SEEN: StateKey<Vec<u32>, AppendTo> = StateKey::new("seen");

#[value]
#[derive(Debug, thiserror::Error)]
#[error("the first attempt fails")]
struct First;

#[node]
async fn a(
    n: u32,
    ctx: &Context,
    #[resource] ledger: &Ledger,
    #[writes(SEEN)] seen: StateWriter<Vec<u32>, AppendTo>,
) -> u32 {
    ledger.note(ctx);
    seen.push(n);
    n + 1
}

#[node(retry(max_attempts = 3, initial_delay = "1ms"))]
async fn b(n: u32, ctx: &Context, #[resource] ledger: &Ledger) -> Result<u32, First> {
    ledger.note(ctx);
    if ctx.attempt() == 1 { Err(First) } else { Ok(n * 2) }
}

#[node]
async fn c(n: u32, ctx: &Context, #[resource] ledger: &Ledger) -> u32 {
    ledger.note(ctx);
    n + 10
}

#[node]
async fn join(b: u32, c: u32, ctx: &Context, #[resource] ledger: &Ledger) -> u32 {
    ledger.note(ctx);
    // Of several items only the own `a` is sure to be on record by now.
    let own = b / 2 - 1;
    b + c + seen(ctx).into_iter().filter(|n| *n == own).count() as u32
}

fn seen(ctx: &Context) -> Vec<u32> {
    ctx.state().get(SEEN).unwrap().unwrap_or_default()
}

workflow! {
    diamond(u32) -> u32 { START => a => (b, c) => join; }
}

#[value]
#[derive(Route)]
enum Turn {
    Again(u32),
    Done(u32),
}

#[node]
async fn turn(n: u32, ctx: &Context, #[resource] ledger: &Ledger) -> Turn {
    ledger.note(ctx);
    if n < 40 { Turn::Again(n) } else { Turn::Done(n + 100 * seen(ctx).len() as u32) }
}

workflow! {
    rounds(u32) -> u32 { START => diamond => turn => <again: diamond, done: END>; }
}

#[node]
async fn list(n: u32) -> Vec<u32> {
    (0..n).collect()
}

#[node]
async fn sum(all: Vec<u32>, ctx: &Context) -> u32 {
    all.into_iter().sum::<u32>() + 100 * seen(ctx).len() as u32
}

workflow! {
    items(u32) -> u32 { START => list => [diamond] => sum; }
}

/// The run with a store that fails at one append: what came of it, and whether the failure came at all.
async fn with_failure<W: Workflow>(input: W::Input, at: i64, how: Fails) -> (Json, bool) {
    let store =
        Failing { inner: MemoryStore::new(), left: Arc::new(AtomicI64::new(at)), how, is_unreadable: Arc::default() };
    let ledger = Ledger::default();
    let engine = Engine::builder().store(store.clone()).resource(ledger.clone()).register::<W>().build().unwrap();
    let run = engine.start::<W>(input).id("x").await.unwrap();
    // A run whose last record was written and not acknowledged has ended without knowing it.
    let failed = match run.outcome().await {
        Ok(_) => false,
        Err(error) => {
            assert_eq!(error, RunError::Store(broken()), "at append {at}");
            true
        }
    };
    let before = completions(&engine).await;
    let begun = ledger.0.lock().unwrap().clone();
    store.mend();
    let recovered = engine.recover().await.unwrap();
    assert!(recovered.failed.is_empty(), "at append {at}: {recovered:?}");
    let output = engine.get_run("x").await.unwrap().unwrap().result().await.unwrap();
    nothing_is_done_twice(&engine, &ledger, &before, &begun, at).await;
    assert!(engine.list_runs(RunFilter::default()).await.unwrap()[0].status.is_over());
    (output, failed)
}

/// What was on record when the store failed has not begun since, and all that is done is on record once.
async fn nothing_is_done_twice(
    engine: &Engine,
    ledger: &Ledger,
    before: &BTreeMap<String, u32>,
    begun: &BTreeMap<String, u32>,
    at: i64,
) {
    for (path, count) in completions(engine).await {
        assert_eq!(count, 1, "`{path}` is on record twice, at append {at}");
        if before.contains_key(&path) {
            let now = ledger.0.lock().unwrap().get(&path).copied();
            assert_eq!(now, begun.get(&path).copied(), "`{path}` ran again after it was on record, at append {at}");
        }
    }
}

async fn completions(engine: &Engine) -> BTreeMap<String, u32> {
    let mut completed = BTreeMap::new();
    for event in engine.history("x").await.unwrap().unwrap() {
        if matches!(event.kind, EventKind::NodeCompleted { .. }) {
            *completed.entry(event.path).or_default() += 1;
        }
    }
    completed
}

async fn every_append<W: Workflow>(input: W::Input, output: u32)
where
    W::Input: Clone,
{
    for how in [Fails::NotDone, Fails::Unheard] {
        for at in 0.. {
            let (got, failed) = with_failure::<W>(input.clone(), at, how).await;
            assert_eq!(got, Json::from(output), "at append {at}");
            if !failed {
                assert!(at > 3, "the store was used");
                break;
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_run_outlives_the_failure_of_any_append() {
    every_append::<diamond>(1, 17).await;
}

#[tokio::test(start_paused = true)]
async fn a_loop_outlives_the_failure_of_any_append() {
    every_append::<rounds>(1, 265).await;
}

#[tokio::test(start_paused = true)]
async fn items_outlive_the_failure_of_any_append() {
    every_append::<items>(5, 600).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn items_outlive_the_failure_of_any_append_on_several_threads() {
    every_append::<items>(5, 600).await;
}

/// Whether what has failed would work by now.
#[derive(Clone, Default)]
struct Works(Arc<AtomicBool>);

#[node]
async fn hurdle(n: u32, ctx: &Context, #[resource] ledger: &Ledger) -> Result<u32, First> {
    ledger.note(ctx);
    if n < 4 { Err(First) } else { Ok(n) }
}

#[node]
async fn over(
    _error: First,
    ctx: &Context,
    #[resource] ledger: &Ledger,
    #[writes(SEEN)] to_seen: StateWriter<Vec<u32>, AppendTo>,
) -> u32 {
    ledger.note(ctx);
    to_seen.push(7);
    seen(ctx).len() as u32 + 1
}

#[node]
async fn picky(n: u32, ctx: &Context, #[resource] ledger: &Ledger, #[resource] works: &Works) -> Result<u32, First> {
    ledger.note(ctx);
    if n.is_multiple_of(2) || works.0.load(Ordering::SeqCst) { Ok(n * 2) } else { Err(First) }
}

#[node]
async fn one(n: u32, ctx: &Context, #[resource] ledger: &Ledger, #[resource] works: &Works) -> Result<u32, First> {
    ledger.note(ctx);
    let part = ctx.step("part", || async move { Ok::<_, String>(n) }).await;
    if works.0.load(Ordering::SeqCst) { Ok(part.unwrap_or_default()) } else { Err(First) }
}

workflow! {
    each(u32) -> u32 { START => list => [a => picky] => total; }
}

workflow! {
    alone(u32) -> u32 { START => a => one; }
}

workflow! {
    troubled(u32) -> u32 { START => hurdle => <err: over => hurdle, ok: (each, alone)>; (each, alone) => add => END; }
}

#[node]
async fn add(each: u32, alone: u32, ctx: &Context, #[resource] ledger: &Ledger) -> u32 {
    ledger.note(ctx);
    each + alone + 100 * seen(ctx).len() as u32
}

#[node]
async fn total(all: Vec<u32>, ctx: &Context, #[resource] ledger: &Ledger) -> u32 {
    ledger.note(ctx);
    all.into_iter().sum()
}

/// What runs again when a run is retried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Again {
    WhatFailed,
    From(&'static str),
    Force(&'static str),
}

/// The run with a store that fails at one append, before or after the run has failed and was retried: what came of it, and
/// whether the failure came at all.
async fn retried_with_failure(at: i64, how: Fails, again: Again) -> (Json, bool) {
    let store =
        Failing { inner: MemoryStore::new(), left: Arc::new(AtomicI64::new(at)), how, is_unreadable: Arc::default() };
    let (ledger, works) = (Ledger::default(), Works::default());
    let builder = Engine::builder().store(store.clone()).resource(ledger.clone()).resource(works.clone());
    let engine = builder.register::<troubled>().build().unwrap();
    let mut failed = false;
    let mut before = BTreeMap::new();
    let mut begun = BTreeMap::new();
    let mut run = Ok(engine.start_json("troubled", 0.into()).id("x").await.unwrap());
    let output = loop {
        let outcome = match run {
            Ok(run) => run.outcome().await,
            Err(error) => Err(error),
        };
        match outcome {
            Ok(Outcome::Completed(output)) => break output,
            Ok(Outcome::Failed(_)) => {
                works.0.store(true, Ordering::SeqCst);
                let retry = engine.retry("x");
                let retry = match again {
                    Again::WhatFailed => retry,
                    Again::From(path) => retry.from_node(path),
                    Again::Force(path) => retry.rerun(path),
                };
                run = retry.await.map_err(|error| match error {
                    RetryError::Store(error) => RunError::Store(error),
                    other => panic!("at append {at}: {other}"),
                });
            }
            Err(RunError::Store(error)) => {
                assert_eq!(error, broken(), "at append {at}");
                assert!(!failed, "it fails once, at append {at}");
                failed = true;
                before = completions(&engine).await;
                begun = ledger.0.lock().unwrap().clone();
                store.mend();
                let recovered = engine.recover().await.unwrap();
                assert!(recovered.failed.is_empty(), "at append {at}: {recovered:?}");
                run = Ok(engine.get_run("x").await.unwrap().unwrap());
            }
            other => panic!("at append {at}: {other:?}"),
        }
    };
    if again == Again::WhatFailed {
        nothing_is_done_twice(&engine, &ledger, &before, &begun, at).await;
    }
    (output, failed)
}

#[tokio::test(start_paused = true)]
async fn a_run_that_fails_and_is_retried_outlives_the_failure_of_any_append() {
    let ways = [
        Again::WhatFailed,
        Again::From("troubled/each"),
        Again::Force("troubled/alone/a"),
        Again::Force("troubled/hurdle#2"),
        Again::Force("troubled/alone/one/part"),
    ];
    for (again, how) in ways.into_iter().flat_map(|way| [(way, Fails::NotDone), (way, Fails::Unheard)]) {
        for at in 0.. {
            let (got, failed) = retried_with_failure(at, how, again).await;
            assert_eq!(got, Json::from(825), "at append {at}, retried with {again:?}");
            if !failed {
                assert!(at > 10, "the store was used");
                break;
            }
        }
    }
}

#[node]
async fn tries(ctx: &Context, #[resource] ledger: &Ledger) -> Result<u32, ChildError<String>> {
    let body = || async {
        ledger.note(ctx);
        Err::<u32, String>("not yet".to_owned())
    };
    ctx.step("try", body).retry(RetryPolicy::with_max_attempts(2).initial_delay(Duration::ZERO)).await
}

workflow! { trying(()) -> u32 { START => tries; } }

/// Otherwise an attempt that is over would be made again after a crash, and not only the one under way.
#[tokio::test(start_paused = true)]
async fn the_next_attempt_at_a_step_does_not_begin_before_the_failure_of_the_last_is_on_record() {
    let store = Failing {
        inner: MemoryStore::new(),
        left: Arc::new(AtomicI64::new(1)),
        how: Fails::Hangs,
        is_unreadable: Arc::default(),
    };
    let ledger = Ledger::default();
    let engine = Engine::builder().store(store).resource(ledger.clone()).register::<trying>().build().unwrap();
    let _run = engine.start::<trying>(()).await.unwrap();
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert_eq!(ledger.0.lock().unwrap().get("trying/tries"), Some(&1));
}

/// The handler of a server, whose client is gone, is dropped at its `.await`.
#[tokio::test]
async fn a_run_whose_caller_stops_waiting_is_executed() {
    #[node]
    async fn fails_once(n: u32, #[resource] has_failed: &AtomicBool) -> Result<u32, String> {
        if has_failed.swap(true, Ordering::SeqCst) { Ok(n) } else { Err("the first time".to_owned()) }
    }
    workflow! { failing_once(u32) -> u32 { START => fails_once; } }

    for call in ["start", "retry", "fork"] {
        let left = Arc::new(AtomicI64::new(i64::MAX));
        let store = Failing { inner: MemoryStore::new(), left, how: Fails::IsSilent, is_unreadable: Arc::default() };
        let builder = Engine::builder().store(store.clone()).resource(AtomicBool::new(call == "start"));
        let engine = builder.register::<failing_once>().build().unwrap();
        if call != "start" {
            let failed = engine.start::<failing_once>(7).id("old").await.unwrap();
            assert!(matches!(failed.outcome().await, Ok(Outcome::Failed(_))));
        }

        store.left.store(0, Ordering::SeqCst);
        let id = match call {
            "start" => {
                assert!(engine.start::<failing_once>(7).id("new").into_future().now_or_never().is_none());
                "new"
            }
            "retry" => {
                assert!(engine.retry("old").into_future().now_or_never().is_none());
                "old"
            }
            _ => {
                assert!(engine.fork("old").id("new").into_future().now_or_never().is_none());
                "new"
            }
        };
        store.mend();

        let run = engine.get_run(id).await.unwrap().expect("it is recorded");
        let outcome = tokio::time::timeout(Duration::from_secs(20), run.outcome()).await;
        assert_eq!(outcome.expect("it is executed"), Ok(Outcome::Completed(Json::from(7))), "{call}");
    }
}

#[node]
async fn hangs_once(n: u32, ctx: &Context, #[resource] ledger: &Ledger) -> u32 {
    ledger.note(ctx);
    let times = ledger.0.lock().unwrap()[&ctx.path()];
    if times == 1 { std::future::pending().await } else { n }
}

workflow! { hanging_once(u32) -> u32 { START => hangs_once; } }

#[test]
fn a_run_whose_records_could_not_be_read_when_it_was_resumed_says_so_until_it_is_resumed() {
    let how = Fails::NotDone;
    let left = Arc::new(AtomicI64::new(i64::MAX));
    let store = Failing { inner: MemoryStore::new(), left, how, is_unreadable: Arc::default() };
    let ledger = Ledger::default();
    let engine = || Engine::builder().store(store.clone()).resource(ledger.clone()).register::<hanging_once>();
    life(async {
        let engine = engine().build().unwrap();
        let run = engine.start::<hanging_once>(7).id("x").await.unwrap();
        let mut events = run.events();
        while !matches!(events.next().await.unwrap().kind, EventKind::NodeStarted { .. }) {}
    });
    life(async {
        let engine = engine().build().unwrap();
        store.is_unreadable.store(true, Ordering::SeqCst);
        let recovered = engine.recover().await.unwrap();
        assert_eq!(recovered.failed, [("x".to_owned(), RunError::Store(broken()))]);
        store.is_unreadable.store(false, Ordering::SeqCst);
        let run = engine.get_run("x").await.unwrap().unwrap();

        let outcome = tokio::time::timeout(Duration::from_secs(20), run.outcome()).await.expect("it does not wait");

        assert_eq!(outcome, Err(RunError::Store(broken())));
        assert_eq!(engine.recover().await.unwrap().resumed.len(), 1);
        assert_eq!(run.result().await.unwrap(), 7);
    });
}

/// The engine that has it lives, so no other one can end it.
#[tokio::test(start_paused = true)]
async fn a_run_that_an_error_has_stopped_is_cancelled_by_another_engine_once_the_store_works() {
    let left = Arc::new(AtomicI64::new(2));
    let store = Failing { inner: MemoryStore::new(), left, how: Fails::NotDone, is_unreadable: Arc::default() };
    let builder = || Engine::builder().resource(Ledger::default()).register::<diamond>();
    let owner = builder().store(store.clone()).build().unwrap();
    let other = builder().store(store.inner.clone()).build().unwrap();
    let stopped = owner.start::<diamond>(1).id("x").await.unwrap().outcome().await;
    assert_eq!(stopped.unwrap_err(), RunError::Store(broken()));
    store.mend();

    other.cancel("x").await.unwrap();

    let run = other.get_run("x").await.unwrap().unwrap();
    let outcome = tokio::time::timeout(Duration::from_secs(20), run.outcome()).await.expect("it ends");
    assert_eq!(outcome, Ok(Outcome::Cancelled));
}

/// Panics the first time that it is asked which runs can be resumed.
struct PanicsOnce {
    inner: MemoryStore,
    has_panicked: Arc<std::sync::atomic::AtomicBool>,
}

impl Store for PanicsOnce {
    graphweft_tests::forward_store! {
        join leave header list count overview open_questions delete reserve_task start_over is_alive is_served feed feed_end graph logs
        keeps_snapshots put_snapshot snapshot read create append
    }

    fn claim(&self, claim: graphweft::store::Claim) -> BoxFuture<'_, Result<graphweft::store::Claimed, StoreError>> {
        let panics = !self.has_panicked.swap(true, Ordering::SeqCst);
        async move {
            assert!(!panics, "on purpose");
            self.inner.claim(claim).await
        }
        .boxed()
    }
}

#[tokio::test]
async fn an_engine_whose_store_has_panicked_once_still_takes_over_runs() {
    #[node]
    async fn passes(n: u32) -> u32 {
        n
    }
    workflow! { passing(u32) -> u32 { START => passes; } }
    let has_panicked = Arc::default();
    let store = PanicsOnce { inner: MemoryStore::new(), has_panicked: Arc::clone(&has_panicked) };
    let memory = store.inner.clone();
    let engine = Engine::builder().store(store).register::<passing>().build().unwrap();
    // It looks after other runs from its first one on.
    engine.start::<passing>(1).await.unwrap().result().await.unwrap();
    let panics = async {
        while !has_panicked.load(Ordering::SeqCst) {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(20), panics).await.expect("it looks after other runs");
    let other = Engine::builder().store(memory).register::<passing>().build().unwrap();
    other.start::<passing>(2).id("later").after(Duration::from_millis(1)).await.unwrap();
    other.shutdown().await;

    let run = engine.get_run_of::<passing>("later").await.unwrap().unwrap();
    let result = tokio::time::timeout(Duration::from_secs(20), run.result()).await.expect("it is taken over");
    assert_eq!(result.unwrap(), 2);
}

/// Counts how often it is asked which runs can be resumed.
struct CountsClaims {
    inner: MemoryStore,
    claims: Arc<AtomicI64>,
}

impl Store for CountsClaims {
    graphweft_tests::forward_store! {
        join leave header list count overview open_questions delete reserve_task start_over is_alive is_served feed feed_end graph logs
        keeps_snapshots put_snapshot snapshot read create append is_shared
    }

    fn claim(&self, claim: graphweft::store::Claim) -> BoxFuture<'_, Result<graphweft::store::Claimed, StoreError>> {
        self.claims.fetch_add(1, Ordering::SeqCst);
        self.inner.claim(claim)
    }
}

/// The store reports it as one that is not this engine's, each time.
#[test]
fn a_run_that_cannot_be_resumed_does_not_have_the_store_asked_more_often() {
    let (store, claims) = (MemoryStore::new(), Arc::<AtomicI64>::default());
    life(async {
        let engine = Engine::builder().store(store.clone()).resource(Ledger::default());
        let engine = engine.register::<hanging_once>().build().unwrap();
        let mut events = engine.start::<hanging_once>(7).id("x").await.unwrap().events();
        while !matches!(events.next().await.unwrap().kind, EventKind::NodeStarted { .. }) {}
    });
    tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap().block_on(async {
        let counting = CountsClaims { inner: store.clone(), claims: Arc::clone(&claims) };
        let engine =
            Engine::builder().store(counting).register::<hanging_once>().register::<passing_on>().build().unwrap();
        // It lacks a resource.
        assert_eq!(engine.recover().await.unwrap().failed.len(), 1);
        engine.start::<passing_on>(1).await.unwrap().result().await.unwrap();
        claims.store(0, Ordering::SeqCst);
        tokio::time::sleep(Duration::from_secs(100)).await;
        let claims = claims.load(Ordering::SeqCst);
        assert!((50..=500).contains(&claims), "{claims} in 100 s");
    });
}

#[node]
async fn pass_on(n: u32) -> u32 {
    n
}

workflow! { passing_on(u32) -> u32 { START => pass_on; } }
