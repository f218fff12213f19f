//! What is measured, by name and labels. Each test has one thread, and a recorder of its own.
#![cfg(feature = "metrics")]

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicUsize, Ordering};

use graphweft::prelude::*;
use graphweft::store::MemoryStore;
use metrics::LocalRecorderGuard;
use metrics_util::debugging::{DebugValue, DebuggingRecorder, Snapshotter};
use tokio::sync::Notify;

/// What is measured in this thread.
struct Measured {
    snapshotter: Snapshotter,
    found: BTreeMap<String, f64>,
    _here: LocalRecorderGuard<'static>,
}

impl Measured {
    fn from_here_on() -> Self {
        let recorder: &DebuggingRecorder = Box::leak(Box::new(DebuggingRecorder::new()));
        let here = metrics::set_default_local_recorder(recorder);
        Measured { snapshotter: recorder.snapshotter(), found: BTreeMap::new(), _here: here }
    }

    /// All of it so far. A snapshot has what has changed since the one before it.
    fn so_far(&mut self) -> &mut BTreeMap<String, f64> {
        for (key, unit, _, value) in self.snapshotter.snapshot().into_vec() {
            let (_, key) = key.into_parts();
            let labels: Vec<String> = key.labels().map(|label| format!("{}={}", label.key(), label.value())).collect();
            let change = match value {
                DebugValue::Counter(count) => count as f64,
                DebugValue::Gauge(change) => change.into_inner(),
                DebugValue::Histogram(values) => values.len() as f64,
            };
            assert!(unit.is_some(), "{} has a unit", key.name());
            assert!(!labels.iter().any(|label| label.contains("a-run") || label.contains("no label")), "{labels:?}");
            *self.found.entry(format!("{} {}", key.name(), labels.join(" "))).or_default() += change;
        }
        &mut self.found
    }

    fn of(&mut self, name: &str) -> f64 {
        self.so_far().get(name).copied().unwrap_or_default()
    }
}

#[node]
async fn check(n: u32) -> Result<u32, String> {
    if n > 9 { Err("too large".to_owned()) } else { Ok(n) }
}

#[node]
async fn approve(n: u32, ctx: &Context) -> u32 {
    let twice = ctx.call::<check>(n).key("a key that no label has").await.unwrap_or_default();
    if ctx.ask::<bool>("large", "Really?").await { twice } else { 0 }
}

workflow! { pub approved(u32) -> u32 { START => check => approve; } }

#[tokio::test]
async fn runs_nodes_commits_and_questions_are_measured() {
    let mut measured = Measured::from_here_on();
    let most = NonZeroUsize::new(1).unwrap();
    let engine = Engine::builder().max_concurrency(most).build().unwrap();
    let run = engine.start::<approved>(7).id("a-run").await.unwrap();
    assert!(matches!(run.outcome().await.unwrap(), Outcome::Waiting(_)));
    run.answer("large", true).await.unwrap();
    assert_eq!(run.result().await.unwrap(), 7);
    assert!(engine.start::<approved>(10).await.unwrap().result().await.is_err());

    let found = measured.so_far();
    let commits = found.remove("graphweft.commit.duration outcome=done").unwrap_or_default();
    assert!(commits > 4.0, "{commits} commits");
    let expected = [
        ("graphweft.attempt.duration workflow=approved node=approve outcome=completed", 1.0),
        ("graphweft.attempt.duration workflow=approved node=check outcome=completed", 2.0),
        ("graphweft.attempt.duration workflow=approved node=check outcome=failed", 1.0),
        ("graphweft.attempts.queued ", 0.0),
        ("graphweft.questions.closed ", 1.0),
        ("graphweft.questions.opened ", 1.0),
        ("graphweft.runs.ended workflow=approved outcome=completed", 1.0),
        ("graphweft.runs.ended workflow=approved outcome=failed", 1.0),
        ("graphweft.runs.started workflow=approved", 2.0),
    ];
    let expected: BTreeMap<_, _> = expected.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
    assert_eq!(*found, expected);
}

static HAS_PERMIT: Notify = Notify::const_new();
static MAY_END: Notify = Notify::const_new();

/// Has its permit until it may end.
#[node]
async fn hold(n: u32) -> u32 {
    HAS_PERMIT.notify_one();
    MAY_END.notified().await;
    n
}

#[node]
async fn hold_both(n: u32, ctx: &Context) -> u32 {
    let (one, two) = tokio::join!(ctx.call::<hold>(n).key("one"), ctx.call::<hold>(n).key("two"));
    one.unwrap_or_default() + two.unwrap_or_default()
}

workflow! { pub held(u32) -> u32 { START => hold_both; } }

#[tokio::test]
async fn an_attempt_is_queued_until_it_has_a_permit() {
    let mut measured = Measured::from_here_on();
    let engine = Engine::builder().max_concurrency(NonZeroUsize::new(1).unwrap()).build().unwrap();
    let run = engine.start::<held>(7).await.unwrap();
    HAS_PERMIT.notified().await;
    assert_eq!(measured.of("graphweft.attempts.queued "), 1.0);
    MAY_END.notify_one();
    HAS_PERMIT.notified().await;
    MAY_END.notify_one();
    assert_eq!(run.result().await.unwrap(), 14);
    assert_eq!(measured.of("graphweft.attempts.queued "), 0.0);
}

static LIVES: AtomicUsize = AtomicUsize::new(0);

/// Asks with another text in each process, and hangs in the first.
#[node]
async fn ask_again(n: u32, ctx: &Context) -> u32 {
    let life = LIVES.fetch_add(1, Ordering::Relaxed);
    let hang = async || {
        if life == 0 {
            std::future::pending::<()>().await;
        }
        Ok::<_, String>(())
    };
    let (answer, hung) = tokio::join!(ctx.ask::<bool>("go", format!("Go, in life {life}?")), ctx.step("hang", hang));
    if answer && hung.is_ok() { n } else { 0 }
}

workflow! { pub asked_again(u32) -> u32 { START => ask_again; } }

#[tokio::test]
async fn a_question_that_is_asked_again_is_opened_once() {
    let mut measured = Measured::from_here_on();
    let store = MemoryStore::new();
    let first = Engine::builder().store(store.clone()).build().unwrap();
    let run = first.start::<asked_again>(7).id("a-run").await.unwrap();
    while run.questions().await.unwrap().is_empty() {
        tokio::task::yield_now().await;
    }
    first.shutdown().await;
    let second = Engine::builder().store(store).register::<asked_again>().build().unwrap();
    second.recover().await.unwrap();
    let run = second.get_run_of::<asked_again>("a-run").await.unwrap().unwrap();
    let Outcome::Waiting(questions) = run.outcome().await.unwrap() else { panic!("it asks") };
    assert_eq!(questions[0].prompt, "Go, in life 1?");
    run.answer("go", true).await.unwrap();
    assert_eq!(run.result().await.unwrap(), 7);
    assert_eq!(measured.of("graphweft.questions.opened "), 1.0);
    assert_eq!(measured.of("graphweft.questions.closed "), 1.0);
}

#[tokio::test]
async fn a_fork_is_a_run_that_was_started() {
    let mut measured = Measured::from_here_on();
    let store = MemoryStore::new();
    let engine = Engine::builder().store(store.clone()).register::<approved>().build().unwrap();
    let run = engine.start::<approved>(10).id("a-run").await.unwrap();
    assert!(run.result().await.is_err());
    assert!(engine.fork("a-run").before(1).await.unwrap().result().await.is_err());
    assert_eq!(measured.of("graphweft.runs.started workflow=approved"), 2.0);
    assert_eq!(measured.of("graphweft.runs.ended workflow=approved outcome=failed"), 2.0);
    // A program without the workflow has it begun by others.
    Engine::builder().store(store).build().unwrap().fork("a-run").before(1).await.unwrap();
    assert_eq!(measured.of("graphweft.runs.started workflow=approved"), 3.0);
}

#[tokio::test]
async fn a_run_that_is_cancelled_by_a_program_without_its_workflow_has_ended() {
    let mut measured = Measured::from_here_on();
    let store = MemoryStore::new();
    let engine = Engine::builder().store(store.clone()).build().unwrap();
    let run = engine.start::<approved>(7).id("a-run").await.unwrap();
    assert!(matches!(run.outcome().await.unwrap(), Outcome::Waiting(_)));
    engine.shutdown().await;
    let other = Engine::builder().store(store).build().unwrap();
    other.cancel("a-run").await.unwrap();
    assert_eq!(measured.of("graphweft.runs.ended workflow=approved outcome=cancelled"), 1.0);
    assert_eq!(measured.of("graphweft.questions.opened "), 1.0);
    assert_eq!(measured.of("graphweft.questions.closed "), 1.0);
}
