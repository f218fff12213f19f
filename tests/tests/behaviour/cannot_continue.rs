//! Runs that a program cannot continue. Each call reports why, at once, and changes nothing; `cancel()` ends the run. A
//! run that another engine continues is none of them, and every handle follows its run.

use std::future::IntoFuture;
use std::path::Path;
use std::time::Duration;

use graphweft::prelude::*;
use graphweft::store::{MemoryStore, RunHeader, RunStatus, SqliteStore, Store, Stored};
use graphweft::{
    AnswerError, Engine, EngineBuilder, EventKind, ForkError, RetryError, Run, RunError, RunFilter, StartError, json,
};
use serde_json::Value as Json;
use tokio::sync::mpsc;

/// How far a run has come when its process ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    Asks,
    Sleeps,
    IsInterrupted,
    HasFailed,
}

/// Why the next program cannot continue it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Obstacle {
    ChangedGraph,
    UnreadableRecord,
    UnregisteredWorkflow,
    MissingResource,
}

/// What the last node of the run does.
#[derive(Clone)]
pub(super) struct Does {
    pub(super) stage: Option<Stage>,
    pub(super) began: mpsc::UnboundedSender<()>,
}

/// The program that recorded the runs.
pub(super) mod then {
    use super::{Does, Duration, Stage};
    use graphweft::prelude::*;

    #[value]
    #[derive(PartialEq)]
    pub(crate) struct Amount(pub(crate) u32);

    #[node]
    pub(crate) async fn fetch(n: u32) -> Amount {
        Amount(n + 1)
    }

    #[node]
    pub(crate) async fn settle(amount: Amount, ctx: &Context, #[resource] does: &Does) -> Result<u32, String> {
        let _nobody_may_listen = does.began.send(());
        match does.stage {
            Some(Stage::Asks) if !ctx.ask::<bool>("approve", "Ship it?").await => return Err("refused".to_owned()),
            Some(Stage::Sleeps) => ctx.sleep(Duration::from_secs(3600)).await,
            Some(Stage::IsInterrupted) => std::future::pending().await,
            Some(Stage::HasFailed) => return Err("no".to_owned()),
            _ => {}
        }
        Ok(amount.0)
    }

    workflow! {
        pub(crate) job(u32) -> u32 { START => fetch => settle; }
    }
}

/// A program in which a node that has run returns something else.
pub(super) mod changed {
    use graphweft::prelude::*;

    #[node]
    pub(crate) async fn fetch(n: u32) -> String {
        n.to_string()
    }

    #[node]
    pub(crate) async fn settle(amount: String) -> u32 {
        amount.len() as u32
    }

    workflow! {
        pub(crate) job(u32) -> u32 { START => fetch => settle; }
    }
}

/// A program whose graph is the same, and that reads no amount below 100.
pub(super) mod strict {
    use super::Does;
    use graphweft::prelude::*;
    use serde::{Deserialize, Deserializer, de::Error};

    #[value]
    #[derive(PartialEq)]
    pub(crate) struct Amount(#[serde(deserialize_with = "large")] pub(crate) u32);

    fn large<'de, D: Deserializer<'de>>(from: D) -> Result<u32, D::Error> {
        let amount = u32::deserialize(from)?;
        if amount < 100 { Err(D::Error::custom("an amount below 100")) } else { Ok(amount) }
    }

    #[node]
    pub(crate) async fn fetch(n: u32) -> Amount {
        Amount(n)
    }

    #[node]
    pub(crate) async fn settle(amount: Amount, _ctx: &Context, #[resource] _does: &Does) -> Result<u32, String> {
        Ok(amount.0)
    }

    workflow! {
        pub(crate) job(u32) -> u32 { START => fetch => settle; }
    }
}

/// How the process that recorded a run has ended, and where the run is.
#[derive(Clone, Copy, Debug)]
enum Past {
    ShutDownInMemory,
    DroppedInMemory,
    ShutDownInAFile,
    KilledInAFile,
}

const PASTS: [Past; 4] = [Past::ShutDownInMemory, Past::DroppedInMemory, Past::ShutDownInAFile, Past::KilledInAFile];
const UNFINISHED: [Stage; 3] = [Stage::Asks, Stage::Sleeps, Stage::IsInterrupted];

#[derive(Clone)]
pub(super) enum AnyStore {
    Memory(MemoryStore),
    File(SqliteStore),
}

/// A run that no living process has.
pub(super) struct Recorded {
    pub(super) store: AnyStore,
    pub(super) _directory: tempfile::TempDir,
}

/// Nothing here may wait for ever.
pub(super) async fn soon<T>(what: impl IntoFuture<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(20), what).await.expect("it returns at once")
}

pub(super) fn does(stage: Option<Stage>) -> (Does, mpsc::UnboundedReceiver<()>) {
    let (began, begun) = mpsc::unbounded_channel();
    (Does { stage, began }, begun)
}

fn is_of_an_owner(file: &Path) -> bool {
    file.file_name().is_some_and(|name| name.to_string_lossy().contains("owner"))
}

impl Recorded {
    async fn new(stage: Stage, past: Past) -> Recorded {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("runs.db");
        let store = match past {
            Past::ShutDownInMemory | Past::DroppedInMemory => AnyStore::Memory(MemoryStore::new()),
            _ => AnyStore::File(SqliteStore::open(&path).await.unwrap()),
        };
        let recorded = Recorded { store, _directory: directory };
        let process = std::thread::spawn({
            let store = recorded.store.clone();
            move || graphweft_tests::life(process(store, stage, past))
        });
        process.join().unwrap();
        if let Past::KilledInAFile = past {
            // What the operating system does for a process that was killed: its lock is gone, and the file is there. Here the
            // process lives, so another file takes its place.
            let files = std::fs::read_dir(recorded._directory.path()).unwrap().map(|file| file.unwrap().path());
            for file in files.filter(|file| is_of_an_owner(file)) {
                std::fs::remove_file(&file).unwrap();
                std::fs::write(&file, "").unwrap();
            }
        }
        recorded
    }

    pub(super) fn builder(&self) -> EngineBuilder {
        builder(&self.store)
    }

    /// An engine of a program that cannot continue the run.
    pub(super) fn engine(&self, obstacle: Obstacle) -> Engine {
        let builder = self.builder();
        let builder = match obstacle {
            Obstacle::ChangedGraph => builder.resource(does(None).0).register::<changed::job>(),
            Obstacle::UnreadableRecord => builder.resource(does(None).0).register::<strict::job>(),
            Obstacle::UnregisteredWorkflow => builder.resource(does(None).0),
            Obstacle::MissingResource => builder.register::<then::job>(),
        };
        builder.build().unwrap()
    }

    /// One of the program that recorded it.
    pub(super) fn right_engine(&self, stage: Option<Stage>) -> Engine {
        self.builder().resource(does(stage).0).register::<then::job>().build().unwrap()
    }

    /// All that is stored: the runs, and the records of this one.
    pub(super) async fn contents(&self) -> (Vec<String>, RunHeader, Vec<Stored>) {
        async fn of(store: &dyn Store) -> (RunHeader, Vec<Stored>) {
            let header = store.header("x").await.unwrap().unwrap();
            let records = store.read(header.key, 0, usize::MAX).await.unwrap();
            (header, records)
        }
        let (header, records) = match &self.store {
            AnyStore::Memory(store) => of(store).await,
            AnyStore::File(store) => of(store).await,
        };
        let runs = self.builder().build().unwrap().list_runs(RunFilter::default()).await.unwrap();
        (runs.into_iter().map(|run| run.id).collect(), header, records)
    }
}

pub(super) fn builder(store: &AnyStore) -> EngineBuilder {
    match store {
        AnyStore::Memory(store) => Engine::builder().store(store.clone()),
        AnyStore::File(store) => Engine::builder().store(store.clone()),
    }
}

/// The process that records the run.
async fn process(store: AnyStore, stage: Stage, past: Past) {
    let (does, mut begun) = does(Some(stage));
    let engine = builder(&store).resource(does).register::<then::job>().build().unwrap();
    let run = engine.start::<then::job>(1).id("x").await.unwrap();
    soon(begun.recv()).await.unwrap();
    if let Stage::Asks | Stage::HasFailed = stage {
        let outcome = soon(run.outcome()).await.unwrap();
        assert!(matches!(outcome, Outcome::Waiting(_) | Outcome::Failed(_)), "{outcome:?}");
    }
    let is_suspended = async || engine.list_runs(RunFilter::default()).await.unwrap()[0].status.is_suspended();
    while matches!(stage, Stage::Asks | Stage::Sleeps) && !is_suspended().await {
        tokio::task::yield_now().await;
    }
    match past {
        Past::ShutDownInMemory | Past::ShutDownInAFile => engine.shutdown().await,
        Past::DroppedInMemory => {}
        Past::KilledInAFile => std::mem::forget(engine),
    }
}

fn is_expected(obstacle: Obstacle, error: &RunError) -> bool {
    let text = error.to_string();
    match (obstacle, error) {
        (Obstacle::ChangedGraph, RunError::GraphChanged { workflow, .. }) => {
            workflow == "job" && text.contains("`job/fetch`")
        }
        (Obstacle::UnreadableRecord, RunError::RecordMismatch { path, message, .. }) => {
            path == "job/fetch" && message.contains("below 100")
        }
        (Obstacle::UnregisteredWorkflow, RunError::NotRegistered { workflow }) => {
            workflow == "job" && text.contains(".register::<job>()")
        }
        (Obstacle::MissingResource, RunError::MissingResources(_)) => {
            text.contains("Does") && text.contains("`job/settle`") && text.contains("Engine::builder().resource(..)")
        }
        _ => false,
    }
}

#[track_caller]
fn assert_reason<T: std::fmt::Debug>(
    what: &str,
    obstacle: Obstacle,
    stage: Stage,
    past: Past,
    got: Result<T, RunError>,
) {
    let is_right = got.as_ref().is_err_and(|error| is_expected(obstacle, error));
    assert!(is_right, "{what} of a run, {stage:?}, {past:?}, {obstacle:?}: {got:?}");
}

fn of_answer(answered: Result<(), AnswerError>) -> Result<(), RunError> {
    match answered {
        Err(AnswerError::Run(error)) => Err(error),
        other => panic!("answering gave {other:?}"),
    }
}

fn of_retry(retried: Result<Run<Json>, RetryError>) -> Result<Run<Json>, RunError> {
    match retried {
        Err(RetryError::Run(error)) => Err(error),
        Ok(run) => Ok(run),
        Err(other) => panic!("retrying gave {other:?}"),
    }
}

fn of_fork(forked: Result<Run<Json>, ForkError>) -> Result<Run<Json>, RunError> {
    match forked {
        Err(ForkError::Run(error)) => Err(error),
        Ok(run) => Ok(run),
        Err(other) => panic!("forking gave {other:?}"),
    }
}

async fn start(engine: &Engine, obstacle: Obstacle) -> Result<(), RunError> {
    let started = match obstacle {
        Obstacle::ChangedGraph => soon(engine.start::<changed::job>(1).id("x")).await.map(drop),
        Obstacle::UnreadableRecord => soon(engine.start::<strict::job>(1).id("x")).await.map(drop),
        Obstacle::MissingResource | Obstacle::UnregisteredWorkflow => {
            match soon(engine.start::<then::job>(1).id("x")).await {
                Err(StartError::MissingResources(missing)) => return Err(RunError::MissingResources(missing)),
                other => other.map(drop),
            }
        }
    };
    match started {
        Err(StartError::Run(error)) => Err(error),
        Ok(()) => Ok(()),
        Err(other) => panic!("starting gave {other:?}"),
    }
}

/// Each call on a run that has not ended, on its own engine: nothing depends on what was called before.
async fn calls_report(obstacle: Obstacle, stage: Stage, past: Past) {
    let recorded = Recorded::new(stage, past).await;
    let before = recorded.contents().await;
    let check = |what: &str, got: Result<(), RunError>| assert_reason(what, obstacle, stage, past, got);
    let engine = || recorded.engine(obstacle);
    let handle = async |engine: &Engine| engine.get_run("x").await.unwrap().unwrap();

    let run = handle(&engine()).await;
    check("outcome", soon(run.outcome()).await.map(drop));
    let run = handle(&engine()).await;
    check("result", soon(run.result()).await.map(drop));
    let run = handle(&engine()).await;
    check("answer", of_answer(soon(run.answer("approve", true)).await));
    check("engine.answer", of_answer(soon(engine().answer("x", "approve", true)).await));
    check("retry", of_retry(soon(engine().retry("x")).await).map(drop));
    check("retry from a node", of_retry(soon(engine().retry("x").from_node("job/fetch")).await).map(drop));
    // Without the workflow a fork is requested: `requested_forks`.
    if obstacle != Obstacle::UnregisteredWorkflow {
        check("fork", of_fork(soon(engine().fork("x").id("y")).await).map(drop));
        check("start", start(&engine(), obstacle).await);
    }
    assert_eq!(recorded.contents().await, before, "{obstacle:?}, {stage:?}, {past:?}");
    // What it has done can still be read.
    let history = soon(engine().history("x")).await.unwrap().unwrap();
    assert!(history.iter().any(|event| event.path == "job/fetch"), "{history:?}");
    let first = soon(handle(&engine()).await.events().next()).await.unwrap();
    assert!(matches!(first.kind, EventKind::RunStarted { .. }), "{first:?}");
}

/// The same on one engine, with handles from before, behind `recover()`.
async fn recover_reports(obstacle: Obstacle, stage: Stage, past: Past) {
    let recorded = Recorded::new(stage, past).await;
    let engine = recorded.engine(obstacle);
    let early = engine.get_run("x").await.unwrap().unwrap();
    let before = recorded.contents().await;
    let recovery = soon(engine.recover()).await.unwrap();
    assert!(recovery.resumed.is_empty(), "{recovery:?}");
    // That a value cannot be read is found only when an interrupted run was claimed.
    if (obstacle, stage) != (Obstacle::UnreadableRecord, Stage::IsInterrupted) {
        soon(engine.recover()).await.unwrap();
        assert_eq!(recorded.contents().await, before, "{obstacle:?}, {stage:?}, {past:?}");
    }
    if obstacle == Obstacle::UnregisteredWorkflow {
        assert_eq!(recovery.unregistered, [("x".to_owned(), "job".to_owned())], "{stage:?}, {past:?}");
    } else {
        let [(id, error)] = &recovery.failed[..] else { panic!("{stage:?}, {past:?}, {obstacle:?}: {recovery:?}") };
        assert_eq!(id, "x");
        assert_reason::<()>("recover", obstacle, stage, past, Err(error.clone()));
    }
    let before = recorded.contents().await;
    let late = engine.get_run("x").await.unwrap().unwrap();
    for run in [&early, &late] {
        assert_reason("outcome", obstacle, stage, past, soon(run.outcome()).await);
        assert_reason("result", obstacle, stage, past, soon(run.result()).await);
        assert_reason("answer", obstacle, stage, past, of_answer(soon(run.answer("approve", true)).await));
    }
    assert_reason("retry", obstacle, stage, past, of_retry(soon(engine.retry("x")).await));
    if obstacle != Obstacle::UnregisteredWorkflow {
        assert_reason("fork", obstacle, stage, past, of_fork(soon(engine.fork("x").id("y")).await));
    }
    assert_eq!(recorded.contents().await, before, "{obstacle:?}, {stage:?}, {past:?}");
    assert_ne!(before.1.status, RunStatus::Cancelled);

    // A second program can continue it, and the handles follow.
    let right = recorded.right_engine(if stage == Stage::Asks { Some(stage) } else { None });
    let recovery = soon(right.recover()).await.unwrap();
    assert!(recovery.failed.is_empty() && recovery.unregistered.is_empty(), "{recovery:?}");
    match stage {
        Stage::Asks => soon(right.answer("x", "approve", true)).await.unwrap(),
        Stage::Sleeps => soon(right.cancel("x")).await.unwrap(),
        _ => {}
    }
    let expected = if stage == Stage::Sleeps { Outcome::Cancelled } else { Outcome::Completed(json!(2)) };
    let run = right.get_run("x").await.unwrap().unwrap();
    assert_eq!(soon(run.outcome()).await, Ok(expected.clone()), "{stage:?}, {past:?}, {obstacle:?}");
    for run in [early, late] {
        assert_eq!(soon(run.outcome()).await, Ok(expected.clone()), "{stage:?}, {past:?}, {obstacle:?}");
    }
}

/// `cancel()` needs no graph.
async fn cancel_ends(obstacle: Obstacle, stage: Stage, past: Past) {
    for is_recovered in [false, true] {
        let recorded = Recorded::new(stage, past).await;
        let engine = recorded.engine(obstacle);
        let early = engine.get_run("x").await.unwrap().unwrap();
        let mut events = early.events();
        if is_recovered {
            soon(engine.recover()).await.unwrap();
        }
        soon(early.cancel()).await.unwrap();
        let context = format!("{stage:?}, {past:?}, {obstacle:?}, {is_recovered}");
        let late = engine.get_run("x").await.unwrap().unwrap();
        assert_eq!(soon(late.outcome()).await, Ok(Outcome::Cancelled), "{context}");
        assert_eq!(soon(early.outcome()).await, Ok(Outcome::Cancelled), "{context}");
        assert_eq!(soon(early.result()).await, Err(RunError::Cancelled), "{context}");
        let mut last = None;
        while let Some(event) = soon(events.next()).await {
            last = Some(event.kind);
        }
        assert_eq!(last, Some(EventKind::RunCancelled), "{context}");
        let (_, header, records) = recorded.contents().await;
        assert_eq!((header.status, header.owner), (RunStatus::Cancelled, None), "{context}");
        // A second call changes nothing.
        soon(late.cancel()).await.unwrap();
        assert_eq!(recorded.contents().await.2, records, "{context}");
        assert!(matches!(records.last().map(|last| &last.record.kind), Some(EventKind::RunCancelled)), "{context}");
        let ended = soon(early.answer("approve", true)).await.unwrap_err();
        assert!(!matches!(ended, AnswerError::Run(_) | AnswerError::Store(_)), "{context}: {ended}");
    }
}

/// A failed run has ended: only what would continue it is refused.
async fn a_failed_run_is_over(obstacle: Obstacle, past: Past) {
    let stage = Stage::HasFailed;
    let recorded = Recorded::new(stage, past).await;
    let before = recorded.contents().await;
    let engine = recorded.engine(obstacle);
    let early = engine.get_run("x").await.unwrap().unwrap();
    for is_recovered in [false, true] {
        if is_recovered {
            let recovery = soon(engine.recover()).await.unwrap();
            assert!(recovery.failed.is_empty() && recovery.unregistered.is_empty(), "{recovery:?}");
        }
        let late = engine.get_run("x").await.unwrap().unwrap();
        for run in [&early, &late] {
            assert!(matches!(soon(run.outcome()).await, Ok(Outcome::Failed(_))));
            assert!(matches!(soon(run.result()).await, Err(RunError::Failed(_))));
            let answered = soon(run.answer("approve", true)).await;
            assert!(matches!(answered, Err(AnswerError::UnknownQuestion { .. })), "{answered:?}");
            soon(run.cancel()).await.unwrap();
        }
        // Without the workflow they are requested: `requested_retries`, `requested_forks`.
        if !matches!(obstacle, Obstacle::UnregisteredWorkflow) {
            assert_reason("retry", obstacle, stage, past, of_retry(soon(engine.retry("x")).await));
            let from_node = soon(engine.retry("x").from_node("job/settle")).await;
            assert_reason("retry from a node", obstacle, stage, past, of_retry(from_node));
            let rerun = soon(engine.retry("x").rerun("job/settle")).await;
            assert_reason("rerun", obstacle, stage, past, of_retry(rerun));
            assert_reason("fork", obstacle, stage, past, of_fork(soon(engine.fork("x").id("y")).await));
        }
        assert_eq!(recorded.contents().await, before, "{obstacle:?}, {past:?}");
        assert!(matches!(soon(late.outcome()).await, Ok(Outcome::Failed(_))));
    }
    // What the refused calls left can be retried by a program that fits, and every handle follows.
    let right = recorded.right_engine(None);
    let run = soon(right.retry("x")).await.unwrap();
    assert_eq!(soon(run.result()).await, Ok(json!(2)));
    assert_eq!(soon(early.outcome()).await, Ok(Outcome::Completed(json!(2))));
}

macro_rules! cannot_continue {
    ($($name:ident: $obstacle:expr,)*) => {$(
        mod $name {
            use super::*;

            #[tokio::test]
            async fn every_call_reports_it_and_changes_nothing() {
                for (stage, past) in UNFINISHED.into_iter().flat_map(|stage| PASTS.map(|past| (stage, past))) {
                    calls_report($obstacle, stage, past).await;
                }
            }

            #[tokio::test]
            async fn recover_reports_it_and_another_program_continues() {
                for (stage, past) in UNFINISHED.into_iter().flat_map(|stage| PASTS.map(|past| (stage, past))) {
                    recover_reports($obstacle, stage, past).await;
                }
            }

            #[tokio::test]
            async fn cancel_ends_the_run() {
                for (stage, past) in UNFINISHED.into_iter().flat_map(|stage| PASTS.map(|past| (stage, past))) {
                    cancel_ends($obstacle, stage, past).await;
                }
            }

            #[tokio::test]
            async fn a_failed_run_is_not_retried_or_forked() {
                for past in PASTS {
                    a_failed_run_is_over($obstacle, past).await;
                }
            }
        }
    )*};
}

cannot_continue! {
    changed_graph: Obstacle::ChangedGraph,
    unreadable_record: Obstacle::UnreadableRecord,
    unregistered_workflow: Obstacle::UnregisteredWorkflow,
    missing_resource: Obstacle::MissingResource,
}

#[tokio::test]
async fn recovering_a_run_with_a_record_that_this_program_cannot_read_adds_no_record_each_time() {
    for past in PASTS {
        let recorded = Recorded::new(Stage::IsInterrupted, past).await;
        let mut records = Vec::new();
        for _ in 0..4 {
            let engine = recorded.engine(Obstacle::UnreadableRecord);
            for _ in 0..2 {
                let recovery = soon(engine.recover()).await.unwrap();
                let [(run, error)] = &recovery.failed[..] else { panic!("{past:?}: {recovery:?}") };
                assert!(run == "x" && is_expected(Obstacle::UnreadableRecord, error), "{past:?}: {error}");
            }
            engine.shutdown().await;
            records.push(recorded.contents().await.2.len());
        }
        assert!(records.iter().all(|&count| count == records[0]), "{past:?}: {records:?}");
        let right = recorded.right_engine(None);
        assert_eq!(soon(right.recover()).await.unwrap().resumed.len(), 1, "{past:?}");
    }
}
