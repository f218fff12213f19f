//! Runs that are to go on from a log that somebody has meddled with: they end, wait, or halt with a typed reason. What is
//! on record stays as it is, nothing panics or hangs, and no node is executed whose completion counts.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use arbitrary::{Result, Unstructured};
use graphweft::store::{Append, Created, MemoryStore, NewRun, Record, Records, RunStatus, Store};
use graphweft::{AfterFailure, Engine, Event, EventKind, Json, Outcome, Run, RunError};
use tokio::time::timeout;

use crate::flows;
use crate::ledger::Ledger;
use crate::logs::{self, Log, life};

/// Longer, by the clock of the test, than anything in these workflows takes.
const LONG: Duration = Duration::from_secs(600);

/// Lines of JSON are a log as it is; anything else says which real one to take and what to do to it.
pub fn resume(data: &[u8]) {
    if data.first() == Some(&b'{') {
        if let Some(log) = logs::parse(data) {
            go_on(&log, &How::Recover);
        }
        return;
    }
    let _made = from_bytes(&mut Unstructured::new(data));
}

fn from_bytes(bytes: &mut Unstructured<'_>) -> Result<()> {
    let mut log = bytes.choose(logs::real())?.clone();
    let kept = bytes.int_in_range(1..=log.events.len())?;
    let how = match bytes.int_in_range(0..=7u8)? {
        0 => How::Answer,
        1 => How::Retry { from: Vec::new(), force: Vec::new() },
        2 => How::Retry { from: vec![bytes.choose(&log.events)?.path.clone()], force: Vec::new() },
        3 => How::Retry { from: Vec::new(), force: vec![bytes.choose(&log.events)?.path.clone()] },
        4 => How::Fork(bytes.int_in_range(0..=log.events.len() as u64 + 1)?),
        _ => How::Recover,
    };
    log.events.truncate(kept);
    if bytes.ratio(7, 8)? {
        logs::mutate(bytes, &mut log)?;
    }
    go_on(&log, &how);
    Ok(())
}

/// How the run is to go on.
#[derive(Debug)]
enum How {
    Recover,
    /// It waits, and gets its answers.
    Answer,
    /// It had failed.
    Retry {
        from: Vec<String>,
        force: Vec<String>,
    },
    Fork(u64),
}

fn go_on(log: &Log, how: &How) {
    life(async {
        let store = MemoryStore::new();
        seed(&store, log, how).await;
        let ledger = Ledger::default();
        let engine = flows::engine(ledger.clone()).store(store.clone()).build().expect("an engine");
        let before = engine.history("run").await.expect("a store").expect("the run");
        let run = match how {
            How::Recover => {
                let recovery = engine.recover().await.expect("a store");
                assert!(recovery.resumed.len() + recovery.failed.len() <= 1, "one run, and so many went on");
                recovery.resumed.into_iter().next()
            }
            How::Answer => engine.get_run("run").await.expect("a store"),
            How::Retry { from, force } => {
                let mut retry = engine.retry("run");
                retry = from.iter().fold(retry, |retry, path| retry.from_node(path));
                force.iter().fold(retry, |retry, path| retry.rerun(path)).await.ok()
            }
            How::Fork(at) => engine.fork("run").before(*at).id("fork").await.ok(),
        };
        let goes_on = run.is_some();
        if let Some(run) = run {
            to_its_end(&engine, &store, &run).await;
        }
        let after = engine.history("run").await.expect("a store").expect("the run");
        assert_eq!(after[..before.len()], before, "what is on record has changed");
        let added = &after[before.len()..];
        let ends = added.iter().filter(|event| event.is_terminal()).count();
        assert!(ends <= 1, "it has ended {ends} times: {added:?}");
        assert!(ends == 0 || added.last().is_some_and(Event::is_terminal), "it has gone on after its end: {added:?}");
        assert!(goes_on || ledger.paths().is_empty(), "a run that was refused has executed {:?}", ledger.paths());
        if matches!(how, How::Recover | How::Answer) {
            nothing_twice(&before, added, &ledger);
        }
    });
}

/// Nothing is executed whose completion counts. Before a retry that is for the retry to say, and a graph that begins anew, as after
/// its time limit, executes all of its nodes again.
fn nothing_twice(before: &[Event], added: &[Event], ledger: &Ledger) {
    if before.iter().any(|event| matches!(event.kind, EventKind::RunRetried { .. })) {
        return;
    }
    let is_done = |event: &&Event| matches!(event.kind, EventKind::NodeCompleted { .. });
    let done: BTreeSet<&str> = before.iter().filter(is_done).map(|event| event.path.as_str()).collect();
    let begins_anew = |event: &&Event| matches!(event.kind, EventKind::NodeStarted { inside: Some(_), .. });
    let anew: Vec<&str> = added.iter().filter(begins_anew).map(|event| event.path.as_str()).collect();
    let is_inside =
        |path: &str| anew.iter().any(|graph| path.strip_prefix(graph).is_some_and(|rest| rest.starts_with('/')));
    for path in ledger.paths() {
        assert!(
            is_inside(&path) || !done.contains(path.as_str()),
            "`{path}` is on record as done, and was executed: {before:#?}"
        );
    }
}

/// A store in which a process that is no longer there has left these records.
async fn seed(store: &MemoryStore, log: &Log, how: &How) {
    let begun = SystemTime::now();
    let new = NewRun::new("run", log.workflow.clone(), Arc::new(log.graph.clone()), begun);
    let Created::New(header) = store.create(new).await.expect("a store") else { panic!("the store is new") };
    for (at, event) in (0..).zip(&log.events) {
        let record = Record::new(event.path.clone(), event.kind.clone());
        append(store, Append::new(header.key, at, event.time, vec![record])).await;
    }
    let status = match how {
        How::Recover | How::Fork(_) => RunStatus::Running,
        How::Answer => RunStatus::Waiting,
        How::Retry { .. } => RunStatus::Failed,
    };
    let mut last = Append::new(store_key(store).await, log.events.len() as u64, begun, Records::default());
    last.header.status = Some((status, None));
    append(store, last).await;
}

async fn store_key(store: &MemoryStore) -> graphweft::store::RunKey {
    store.header("run").await.expect("a store").expect("the run").key
}

async fn append(store: &MemoryStore, batch: Append) {
    let appended = store.append(batch).await.expect("a store");
    assert_eq!(appended, graphweft::store::Appended::Done);
}

/// Answers whatever is asked, until the run has ended or goes no further.
async fn to_its_end(engine: &Engine, store: &MemoryStore, run: &Run<Json>) {
    let mut refused = 0;
    while refused < 3 {
        let open = match timeout(LONG, outcome(run)).await {
            Ok(Ok(Outcome::Waiting(open))) => open,
            Ok(Ok(Outcome::Completed(output))) => {
                return ends_with(
                    engine,
                    run,
                    |kind| matches!(kind, EventKind::RunCompleted { output: recorded, .. } if *recorded == output),
                )
                .await;
            }
            Ok(Ok(Outcome::Failed(failure))) => {
                return ends_with(
                    engine,
                    run,
                    |kind| matches!(kind, EventKind::RunFailed { failure: recorded, .. } if *recorded == failure),
                )
                .await;
            }
            Ok(Ok(Outcome::Cancelled)) => {
                return ends_with(engine, run, |kind| matches!(kind, EventKind::RunCancelled)).await;
            }
            Ok(Ok(other)) => panic!("an outcome that nobody knows: {other:?}"),
            Ok(Err(_typed)) => return,
            Err(_long) => return waits_for_a_time(store, run).await,
        };
        for question in open {
            if run.answer(&question.id, fitting(&question.schema)).await.is_err() {
                refused += 1;
            }
        }
    }
}

/// A run that nobody drives here has no outcome here: then what it asks is all that there is.
async fn outcome(run: &Run<Json>) -> Result<Outcome<Json>, RunError> {
    match run.questions().await {
        Ok(open) if !open.is_empty() => Ok(Outcome::Waiting(open)),
        _ => run.outcome().await,
    }
}

async fn ends_with(engine: &Engine, run: &Run<Json>, is_it: impl Fn(&EventKind) -> bool) {
    let events = engine.history(run.id()).await.expect("a store").expect("the run");
    assert!(events.last().is_some_and(|last| is_it(&last.kind)), "the outcome is not what is on record: {events:#?}");
}

/// Neither ended nor asking is right only for a run that waits for a time that is far off, and for one that was refused
/// and left to others.
async fn waits_for_a_time(store: &MemoryStore, run: &Run<Json>) {
    let header = store.header(run.id()).await.expect("a store").expect("the run");
    let events = store.read(header.key, 0, usize::MAX).await.expect("a store");
    let is_late = header.wake_at.is_some_and(|at| at > SystemTime::now() + LONG / 2);
    let delays = events.iter().any(|stored| match &stored.record.kind {
        EventKind::NodeFailed { then: AfterFailure::RetryAt { time }, .. } => *time > SystemTime::now() + LONG / 2,
        EventKind::TimerSet { until, .. } => *until > SystemTime::now() + LONG / 2,
        _ => false,
    });
    let is_left = header.owner.is_none();
    assert!(
        is_late || delays || is_left || header.status.is_suspended(),
        "it neither ends nor waits: {header:?} {events:#?}"
    );
}

fn fitting(schema: &Json) -> Json {
    match schema.get("type").and_then(Json::as_str) {
        Some("boolean") => Json::Bool(true),
        Some("integer" | "number") => Json::from(1),
        Some("string") => Json::from("yes"),
        _ => Json::Null,
    }
}
