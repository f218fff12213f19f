//! A retry that an engine without the workflow requests, and one with it carries out.

use std::future::Future;
use std::ops::Range;
use std::time::Duration;

use graphweft::prelude::*;
use graphweft::{Event, EventKind, RetryError, RunError, RunStatus, json};
use graphweft_tests::{Death, Journal, OnDisk, life};

#[node]
async fn first(n: u32, #[resource] journal: &Journal) -> u32 {
    journal.note("first");
    n + 1
}

/// Fails when it runs for the first time.
#[node]
async fn second(n: u32, #[resource] journal: &Journal) -> Result<u32, std::io::Error> {
    journal.note("second");
    if journal.count("second") == 1 { Err(std::io::Error::other("not now")) } else { Ok(n * 10) }
}

workflow! {
    work(u32) -> u32 { START => first => second; }
}

#[node]
async fn calls(n: u32, ctx: &Context) -> Result<u32, std::io::Error> {
    ctx.call::<work>(n).await.map_err(std::io::Error::other)
}

workflow! {
    calling(u32) -> u32 { START => calls; }
}

const MORE: Signal<u32> = Signal::new("more");

#[node]
async fn hears(n: u32, ctx: &Context) -> u32 {
    n + ctx.wait(MORE).await
}

workflow! {
    hearing(u32) -> u32 { START => second => hears; }
}

/// A process without any workflow.
fn without_code<T, F: Future<Output = T>>(disk: &OnDisk, doing: impl FnOnce(Engine) -> F) -> T {
    life(async { doing(disk.engine(&Death::default()).await.build().unwrap()).await })
}

fn retries(history: &[Event]) -> Vec<(Vec<Range<u64>>, bool)> {
    let retries = history.iter().filter_map(|event| match &event.kind {
        EventKind::RunRetried { voids, requested, .. } => Some((voids.clone(), *requested)),
        _ => None,
    });
    retries.collect()
}

#[test]
fn a_retry_is_requested_without_the_workflow_and_carried_out_by_the_next_process_with_it() {
    let disk = OnDisk::default();
    let (failed, before) = disk.runs::<work>(3);
    failed.unwrap_err();
    without_code(&disk, |engine| async move {
        let run = engine.retry("run").await.unwrap();
        assert_eq!(run.status().await.unwrap(), RunStatus::Running);
        let history = engine.history("run").await.unwrap().unwrap();
        let end = before.last().unwrap().seq;
        assert_eq!(retries(&history), [(Vec::from_iter(Some(end..end + 1)), true)]);
        // It is requested once.
        let again = engine.retry("run").await.unwrap_err();
        assert!(again.to_string().contains("is not registered"), "{again}");
    });
    let (result, history) = disk.resumes::<work>();
    assert_eq!(result.unwrap(), json!(40));
    assert_eq!(disk.journal.lines(), ["first", "second", "second"]);
    assert_eq!(retries(&history).len(), 2);
}

#[test]
fn a_requested_retry_voids_what_a_retry_with_the_workflow_voids() {
    let voids = [false, true].map(|is_requested| {
        let disk = OnDisk::default();
        disk.runs::<work>(3).0.unwrap_err();
        if is_requested {
            without_code(&disk, |engine| async move {
                engine.retry("run").from_node("work/first").await.unwrap();
            });
        } else {
            disk.process::<work, _, _>(|engine| async move {
                let run = engine.retry("run").from_node("work/first").await.unwrap();
                assert_eq!(run.result().await.unwrap(), json!(40));
            });
        }
        let (result, history) = disk.resumes::<work>();
        assert_eq!(result.unwrap(), json!(40));
        assert_eq!(disk.journal.lines(), ["first", "second", "first", "second"]);
        retries(&history).pop().unwrap()
    });
    assert_eq!(voids[0], voids[1]);
}

#[test]
fn a_fork_of_a_run_whose_retry_is_requested_carries_it_out_and_is_not_cancelled_with_the_run() {
    let disk = OnDisk::default();
    disk.runs::<work>(3).0.unwrap_err();
    without_code(&disk, |engine| async move {
        engine.retry("run").from_node("work/first").await.unwrap();
        engine.cancel("run").await.unwrap();
    });
    disk.process::<work, _, _>(|engine| async move {
        let before = engine.history("run").await.unwrap().unwrap();
        let end = before.last().unwrap().seq;
        let fork = engine.fork("run").before(end).id("fork").await.unwrap();
        assert_eq!(fork.result().await.unwrap(), json!(40));
        let history = engine.history("fork").await.unwrap().unwrap();
        let EventKind::RunRetried { from_nodes, .. } = &history[end as usize].kind else { panic!("{history:?}") };
        assert_eq!(from_nodes, &["work/first"]);
    });
    assert_eq!(disk.journal.lines(), ["first", "second", "first", "second"]);
}

#[test]
fn a_process_with_the_workflow_that_lives_carries_it_out() {
    let disk = OnDisk::default();
    life(async {
        let serving = disk.engine(&Death::default()).await.register::<work>().build().unwrap();
        let run = serving.start::<work>(3).id("run").await.unwrap();
        run.result().await.unwrap_err();
        let other = disk.engine(&Death::default()).await.build().unwrap();
        let run = other.retry("run").await.unwrap();
        let outcome = tokio::time::timeout(Duration::from_secs(20), run.outcome()).await.expect("it is carried out");
        assert_eq!(outcome.unwrap(), Outcome::Completed(json!(40)));
    });
    assert_eq!(disk.journal.lines(), ["first", "second", "second"]);
}

#[test]
fn paths_are_checked_without_the_workflow() {
    let disk = OnDisk::default();
    disk.runs::<calling>(3).0.unwrap_err();
    without_code(&disk, |engine| async move {
        let unknown = engine.retry("run").from_node("calling/nothing").await.unwrap_err();
        assert_eq!(unknown, RetryError::UnknownPath { run: "run".into(), path: "calling/nothing".into() });
        let (path, child) = ("calling/calls/work/first".to_owned(), "calling/calls/work".to_owned());
        let inside = engine.retry("run").rerun(&path).await.unwrap_err();
        assert_eq!(inside, RetryError::InsideChildWorkflow { run: "run".into(), path, child });
        assert_eq!(engine.get_run("run").await.unwrap().unwrap().status().await.unwrap(), RunStatus::Failed);
        engine.retry("run").rerun("calling/calls/work").await.unwrap();
    });
    assert_eq!(disk.resumes::<calling>().0.unwrap(), json!(40));
}

#[test]
fn a_requested_retry_can_be_cancelled_and_the_run_retried_after_all() {
    let disk = OnDisk::default();
    disk.runs::<work>(3).0.unwrap_err();
    without_code(&disk, |engine| async move {
        let run = engine.retry("run").await.unwrap();
        run.cancel().await.unwrap();
        assert_eq!(run.status().await.unwrap(), RunStatus::Cancelled);
    });
    disk.process::<work, _, _>(|engine| async move {
        let recovery = engine.recover().await.unwrap();
        assert!(recovery.resumed.is_empty() && recovery.failed.is_empty());
        assert_eq!(engine.retry("run").await.unwrap().result().await.unwrap(), json!(40));
    });
    assert_eq!(disk.journal.lines(), ["first", "second", "second"]);
}

#[test]
fn what_is_sent_between_the_request_and_the_retry_counts() {
    let disk = OnDisk::default();
    disk.runs::<hearing>(3).0.unwrap_err();
    without_code(&disk, |engine| async move {
        engine.retry("run").await.unwrap();
        engine.signal("run", MORE, 7).await.unwrap();
    });
    assert_eq!(disk.resumes::<hearing>().0.unwrap(), json!(37));
}

#[test]
fn a_requested_retry_that_does_not_fit_the_program_is_reported_and_nothing_is_recorded() {
    mod later {
        use graphweft::prelude::*;

        #[node]
        pub(super) async fn other(n: u32) -> u32 {
            n
        }

        workflow! {
            pub(super) work(u32) -> u32 { START => other; }
        }
    }
    let disk = OnDisk::default();
    disk.runs::<work>(3).0.unwrap_err();
    let before = without_code(&disk, |engine| async move {
        engine.retry("run").await.unwrap();
        engine.history("run").await.unwrap().unwrap()
    });
    disk.process::<later::work, _, _>(|engine| async move {
        let check = engine.check().await.unwrap();
        let recovery = engine.recover().await.unwrap();
        let (run, error) = &recovery.failed[0];
        assert_eq!((check.checked, &check.refused), (1, &vec![(run.clone(), error.clone())]));
        assert!(run == "run" && matches!(error, RunError::GraphChanged { .. }), "{error}");
    });
    let (result, after) = disk.resumes::<work>();
    assert_eq!(result.unwrap(), json!(40));
    let requested = retries(&before).len();
    assert_eq!(retries(&after).len(), requested + 1);
}

#[test]
fn a_retry_in_memory_without_the_workflow_is_refused_and_changes_nothing() {
    life(async {
        let engine = Engine::builder().resource(Journal::default()).build().unwrap();
        let run = engine.start::<work>(7).id("run").await.unwrap();
        let failed = run.result().await.unwrap_err();
        let error = engine.retry("run").await.unwrap_err();
        assert!(matches!(error, RetryError::Run(RunError::NotRegistered { .. })), "{error}");
        assert_eq!(run.status().await.unwrap(), RunStatus::Failed);
        assert_eq!(run.result().await.unwrap_err(), failed);
    });
}
