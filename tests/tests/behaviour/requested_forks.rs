//! A fork that an engine without the workflow requests, and one with it carries out.

use std::future::Future;
use std::ops::Range;
use std::time::Duration;

use graphweft::prelude::*;
use graphweft::{Event, EventKind, ForkError, RunError, json};
use graphweft_tests::{Death, Journal, OnDisk, life};
use serde_json::Value as Json;

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

workflow! { work(u32) -> u32 { START => first => second; } }

#[node]
async fn approve(n: u32, ctx: &Context) -> u32 {
    n + ctx.ask::<u32>("more", "How much more?").await
}

workflow! { asking(u32) -> u32 { START => first => approve; } }

/// `work`, in which what has run is gone.
mod later {
    use graphweft::prelude::*;

    #[node]
    pub(crate) async fn third(n: u32) -> u32 {
        n * 3
    }

    workflow! { pub(crate) work(u32) -> u32 { START => third; } }
}

/// A process without any workflow.
fn without_code<T, F: Future<Output = T>>(disk: &OnDisk, doing: impl FnOnce(Engine) -> F) -> T {
    life(async { doing(disk.engine(&Death::default()).await.build().unwrap()).await })
}

async fn soon<T>(what: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(20), what).await.expect("it comes to an end")
}

async fn history(engine: &Engine, id: &str) -> Vec<Event> {
    engine.history(id).await.unwrap().expect("it is in the store")
}

fn retries(history: &[Event]) -> Vec<(Vec<Range<u64>>, bool)> {
    let retries = history.iter().filter_map(|event| match &event.kind {
        EventKind::RunRetried { voids, requested, .. } => Some((voids.clone(), *requested)),
        _ => None,
    });
    retries.collect()
}

/// A file with a run of `work` that has failed.
fn failed() -> OnDisk {
    let disk = OnDisk::default();
    disk.runs::<work>(3).0.unwrap_err();
    disk
}

/// The next process with the workflow, and what comes of a run there.
fn carried_out(disk: &OnDisk, id: &str) -> (Result<Json, RunError>, Vec<Event>) {
    let id = id.to_owned();
    disk.process::<work, _, _>(|engine| async move {
        engine.recover().await.unwrap();
        let run = engine.get_run(&id).await.unwrap().expect("it was forked");
        (soon(run.result()).await, history(&engine, &id).await)
    })
}

#[test]
fn a_fork_is_requested_without_the_workflow_and_carried_out_by_the_next_process_with_it() {
    let disk = failed();
    let before = without_code(&disk, |engine| async move {
        let before = history(&engine, "run").await;
        let fork = engine.fork("run").id("fork").await.unwrap();
        assert_eq!(fork.status().await.unwrap(), RunStatus::Running);
        assert_eq!(fork.info().await.unwrap().forked_from, Some(("run".to_owned(), before.len() as u64)));
        before
    });
    let (result, of_fork) = carried_out(&disk, "fork");
    assert_eq!(result.unwrap(), json!(40));
    assert_eq!(disk.journal.lines(), ["first", "second", "second"]);
    assert_eq!(retries(&of_fork).iter().map(|(_, requested)| *requested).collect::<Vec<_>>(), [true, false]);
    // The old run is what it was.
    let after = without_code(&disk, |engine| async move { history(&engine, "run").await });
    assert_eq!(after, before);
}

#[test]
fn a_requested_fork_voids_what_a_fork_with_the_workflow_voids() {
    let length = without_code(&failed(), |engine| async move { history(&engine, "run").await.len() as u64 });
    for before in 1..=length {
        let voids = [false, true].map(|is_requested| {
            let disk = failed();
            let fork =
                |engine: Engine| async move { drop(engine.fork("run").before(before).id("fork").await.unwrap()) };
            if is_requested {
                without_code(&disk, fork);
            } else {
                disk.process::<work, _, _>(|engine| async move {
                    fork(engine.clone()).await;
                    soon(engine.get_run("fork").await.unwrap().unwrap().result()).await.unwrap();
                });
            }
            let (result, history) = carried_out(&disk, "fork");
            assert_eq!(result.unwrap(), json!(40), "before {before}");
            (retries(&history).pop().unwrap(), disk.journal.lines())
        });
        assert_eq!(voids[0], voids[1], "before {before}");
    }
}

#[test]
fn a_process_with_the_workflow_that_lives_carries_it_out() {
    let disk = OnDisk::default();
    life(async {
        let serving = disk.engine(&Death::default()).await.register::<work>().build().unwrap();
        soon(serving.start::<work>(3).id("run").await.unwrap().outcome()).await.unwrap();
        serving.recover().await.unwrap();
        let bare = disk.engine(&Death::default()).await.build().unwrap();
        let fork = bare.fork("run").await.unwrap();
        assert_eq!(soon(fork.result()).await.unwrap(), json!(40));
    });
}

#[test]
fn a_fork_of_a_run_that_waits_has_its_questions() {
    let disk = OnDisk::default();
    disk.process::<asking, _, _>(|engine| async move {
        let run = engine.start::<asking>(3).id("run").await.unwrap();
        assert!(matches!(soon(run.outcome()).await.unwrap(), Outcome::Waiting(_)));
        engine.shutdown().await;
    });
    without_code(&disk, |engine| async move { drop(engine.fork("run").id("fork").await.unwrap()) });
    disk.process::<asking, _, _>(|engine| async move {
        engine.recover().await.unwrap();
        for (id, more) in [("fork", 5), ("run", 1)] {
            let run = engine.get_run(id).await.unwrap().unwrap();
            assert!(matches!(soon(run.outcome()).await.unwrap(), Outcome::Waiting(_)));
            soon(run.answer("more", more)).await.unwrap();
            assert_eq!(soon(run.result()).await.unwrap(), json!(4 + more));
        }
    });
    assert_eq!(disk.journal.lines(), ["first"]);
}

#[test]
fn a_fork_of_a_requested_fork_is_carried_out_too() {
    let disk = failed();
    without_code(&disk, |engine| async move {
        engine.fork("run").id("fork").await.unwrap();
        engine.fork("fork").id("again").await.unwrap();
    });
    let (result, _) = carried_out(&disk, "again");
    assert_eq!(result.unwrap(), json!(40));
}

#[test]
fn a_chain_of_requested_forks_has_a_limit_and_all_in_it_are_carried_out() {
    let disk = failed();
    let last = without_code(&disk, |engine| async move {
        let (mut last, mut count) = ("run".to_owned(), 0);
        loop {
            match engine.fork(&last).id(format!("fork {count}")).await {
                Ok(fork) => (last, count) = (fork.id().to_string(), count + 1),
                Err(error) => {
                    let named = ForkError::NotBegun { run: last.clone(), origin: "run".to_owned() };
                    assert_eq!((count, error), (16, named));
                    return last;
                }
            }
        }
    });
    assert_eq!(carried_out(&disk, &last).0.unwrap(), json!(40));
}

#[test]
fn a_fork_in_memory_without_the_workflow_is_refused() {
    life(async {
        let engine = Engine::builder().resource(Journal::default()).build().unwrap();
        let run = engine.start::<work>(7).id("run").await.unwrap();
        run.result().await.unwrap_err();
        let error = engine.fork("run").id("fork").await.unwrap_err();
        assert!(matches!(error, ForkError::Run(RunError::NotRegistered { .. })), "{error}");
        assert!(engine.get_run("fork").await.unwrap().is_none());
    });
}

#[test]
fn a_fork_is_carried_out_after_the_old_run_was_deleted() {
    let disk = failed();
    without_code(&disk, |engine| async move {
        engine.fork("run").id("fork").await.unwrap();
        engine.delete_run("run").await.unwrap();
    });
    let (result, _) = carried_out(&disk, "fork");
    assert_eq!(result.unwrap(), json!(40));
}

#[test]
fn a_requested_fork_can_be_cancelled_before_it_is_carried_out() {
    let disk = failed();
    without_code(&disk, |engine| async move {
        let fork = engine.fork("run").id("fork").await.unwrap();
        fork.cancel().await.unwrap();
    });
    let (result, _) = carried_out(&disk, "fork");
    assert_eq!(result.unwrap_err(), RunError::Cancelled);
    assert_eq!(disk.journal.lines(), ["first", "second"]);
}

#[test]
fn a_program_that_the_records_do_not_fit_reports_it() {
    let disk = failed();
    without_code(&disk, |engine| async move { drop(engine.fork("run").id("fork").await.unwrap()) });
    disk.process::<later::work, _, _>(|engine| async move {
        let check = engine.check().await.unwrap();
        let [(id, RunError::GraphChanged { .. })] = &check.refused[..] else { panic!("{check:?}") };
        assert_eq!(id, "fork");
        let recovery = engine.recover().await.unwrap();
        assert!(matches!(&recovery.failed[..], [(_, RunError::GraphChanged { .. })]), "{recovery:?}");
    });
    // It is not lost.
    assert_eq!(carried_out(&disk, "fork").0.unwrap(), json!(40));
}

#[test]
fn a_request_is_checked_like_a_fork() {
    without_code(&failed(), |engine| async move {
        let taken = engine.fork("run").id("run").await.unwrap_err();
        assert_eq!(taken, ForkError::IdTaken { id: "run".to_owned() });
        let none = engine.fork("run").before(1000).await.unwrap_err();
        assert!(matches!(none, ForkError::NoSuchEvent { before: 1000, .. }), "{none}");
        let unknown = engine.fork("other").await.unwrap_err();
        assert_eq!(unknown, ForkError::UnknownRun { run: "other".to_owned() });
        assert_eq!(engine.list_runs(RunFilter::default()).await.unwrap().len(), 1);
    });
}
