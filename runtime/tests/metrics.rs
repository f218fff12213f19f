//! What is measured, by name and labels. A program of its own: its recorder is that of the whole process.
#![cfg(feature = "metrics")]

use std::collections::BTreeMap;
use std::num::NonZeroUsize;

use graphweft::prelude::*;
use metrics_util::debugging::{DebugValue, DebuggingRecorder};

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
    let recorder = DebuggingRecorder::new();
    let snapshotter = recorder.snapshotter();
    recorder.install().unwrap();

    let most = NonZeroUsize::new(1).unwrap();
    let engine = Engine::builder().max_concurrency(most).build().unwrap();
    let run = engine.start::<approved>(7).id("a-run").await.unwrap();
    assert!(matches!(run.outcome().await.unwrap(), Outcome::Waiting(_)));
    run.answer("large", true).await.unwrap();
    assert_eq!(run.result().await.unwrap(), 7);
    assert!(engine.start::<approved>(10).await.unwrap().result().await.is_err());

    let mut found = BTreeMap::new();
    for (key, unit, _, value) in snapshotter.snapshot().into_vec() {
        let (_, key) = key.into_parts();
        let labels: Vec<String> = key.labels().map(|label| format!("{}={}", label.key(), label.value())).collect();
        let value = match value {
            DebugValue::Counter(count) => count,
            DebugValue::Gauge(now) => now.into_inner() as u64,
            DebugValue::Histogram(values) => values.len() as u64,
        };
        assert!(unit.is_some(), "{} has a unit", key.name());
        assert!(!labels.iter().any(|label| label.contains("a-run") || label.contains("no label")), "{labels:?}");
        found.insert(format!("{} {}", key.name(), labels.join(" ")), value);
    }
    let commits = found.remove("graphweft.commit.duration outcome=done").unwrap_or_default();
    assert!(commits > 4, "{commits} commits");
    let expected = [
        ("graphweft.attempt.duration workflow=approved node=approve outcome=completed", 1),
        ("graphweft.attempt.duration workflow=approved node=check outcome=completed", 2),
        ("graphweft.attempt.duration workflow=approved node=check outcome=failed", 1),
        ("graphweft.attempts.queued ", 0),
        ("graphweft.questions.closed ", 1),
        ("graphweft.questions.opened ", 1),
        ("graphweft.runs.ended workflow=approved outcome=completed", 1),
        ("graphweft.runs.ended workflow=approved outcome=failed", 1),
        ("graphweft.runs.started workflow=approved", 2),
    ];
    let expected: BTreeMap<_, _> = expected.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
    assert_eq!(found, expected);
}
