//! What is measured, by name and labels. Each test has one thread, and a recorder of its own.
#![cfg(feature = "metrics")]

use std::collections::BTreeMap;
use std::num::NonZeroUsize;

use graphweft::prelude::*;
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
