//! A handle follows its run, and answers and cancellations reach it: through retries, out of the memory, and to the process
//! that has it.

use std::time::Duration;

use graphweft::prelude::*;
use graphweft::store::{MemoryStore, SqliteStore};
use graphweft::{AnswerError, RetryError, Run, RunError, json};
use graphweft_tests::life;
use serde_json::Value as Json;

use super::cannot_continue::{AnyStore, Obstacle, Recorded, Stage, builder, changed, does, soon, strict, then};

/// Two engines on one file: the run that one has is no obstacle for the other, in memory or unloaded.
#[tokio::test]
async fn a_run_that_another_engine_has_is_no_error_anywhere() {
    let obstacles =
        [Obstacle::ChangedGraph, Obstacle::UnreadableRecord, Obstacle::UnregisteredWorkflow, Obstacle::MissingResource];
    for (obstacle, resident) in obstacles.into_iter().flat_map(|obstacle| [(obstacle, 0), (obstacle, 1000)]) {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("runs.db");
        let first = Recorded { store: AnyStore::File(SqliteStore::open(&path).await.unwrap()), _directory: directory };
        let builder = first.builder().resource(does(Some(Stage::Asks)).0).register::<then::job>();
        let engine = builder.max_resident_waiting(resident).build().unwrap();
        let run = engine.start::<then::job>(1).id("x").await.unwrap();
        let Outcome::Waiting(_) = soon(run.outcome()).await.unwrap() else { panic!("it asks") };
        while !first.contents().await.1.status.is_suspended() {
            tokio::task::yield_now().await;
        }
        // A handle of its own, as in another process.
        let directory = tempfile::tempdir().unwrap();
        let second = Recorded { store: AnyStore::File(SqliteStore::open(&path).await.unwrap()), _directory: directory };
        let other = second.engine(obstacle);
        let before = second.contents().await;
        let recovery = soon(other.recover()).await.unwrap();
        assert!(recovery.failed.is_empty() && recovery.resumed.is_empty(), "{obstacle:?}: {recovery:?}");
        let seen = other.get_run("x").await.unwrap().unwrap();
        assert!(matches!(soon(seen.outcome()).await, Ok(Outcome::Waiting(_))), "{obstacle:?}");
        assert!(matches!(soon(seen.result()).await, Err(RunError::Waiting { .. })), "{obstacle:?}");
        let retried = soon(other.retry("x")).await;
        let is_refused = if obstacle == Obstacle::UnregisteredWorkflow {
            matches!(retried, Err(RetryError::NotFailed { .. } | RetryError::Run(_)))
        } else {
            matches!(retried, Err(RetryError::NotFailed { .. }))
        };
        assert!(is_refused, "{obstacle:?}: {retried:?}");
        assert_eq!(second.contents().await, before, "{obstacle:?}");
        let invalid = soon(seen.answer("approve", "perhaps")).await;
        assert!(matches!(invalid, Err(AnswerError::Invalid { .. })), "{obstacle:?}: {invalid:?}");
        soon(seen.answer("approve", true)).await.unwrap();
        let completes = async |run: &Run<Json>| loop {
            match run.outcome().await {
                Ok(Outcome::Waiting(_)) => tokio::time::sleep(Duration::from_millis(1)).await,
                other => return other,
            }
        };
        assert_eq!(soon(completes(&seen)).await, Ok(Outcome::Completed(json!(2))), "{obstacle:?}");
        assert_eq!(soon(run.outcome()).await, Ok(Outcome::Completed(2)), "{obstacle:?}");
    }
}

/// The engine that has a run is shut down while others wait for it, and answer.
#[tokio::test]
async fn an_answer_is_accepted_while_its_run_goes_to_another_process() {
    for _ in 0..20 {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("runs.db");
        let first = Recorded { store: AnyStore::File(SqliteStore::open(&path).await.unwrap()), _directory: directory };
        let engine = first.right_engine(Some(Stage::Asks));
        let run = engine.start::<then::job>(1).id("x").await.unwrap();
        let Outcome::Waiting(_) = soon(run.outcome()).await.unwrap() else { panic!("it asks") };
        let (answered, ()) = soon(async { tokio::join!(run.answer("approve", true), engine.shutdown()) }).await;
        answered.unwrap();

        let next = first.right_engine(Some(Stage::Asks));
        soon(next.recover()).await.unwrap();
        let again = next.get_run("x").await.unwrap().unwrap();
        assert_eq!(soon(again.outcome()).await, Ok(Outcome::Completed(json!(2))));
        assert_eq!(soon(run.outcome()).await, Ok(Outcome::Completed(2)), "a handle of an earlier engine follows");
    }
}

#[tokio::test]
async fn answers_and_cancellations_reach_runs_that_are_being_unloaded() {
    for cancels in [false, true] {
        let store = AnyStore::Memory(MemoryStore::new());
        let builder = builder(&store).resource(does(Some(Stage::Asks)).0).register::<then::job>();
        let engine = builder.max_resident_waiting(0).build().unwrap();
        for yields in 0..40 {
            let id = format!("{cancels} {yields}");
            let run = engine.start::<then::job>(1).id(&id).await.unwrap();
            while soon(run.questions()).await.unwrap().is_empty() {
                tokio::task::yield_now().await;
            }
            for _ in 0..yields {
                tokio::task::yield_now().await;
            }
            if cancels {
                soon(run.cancel()).await.unwrap();
            } else {
                soon(run.answer("approve", true)).await.unwrap();
            }
            let ends = async || loop {
                match run.outcome().await {
                    Ok(Outcome::Waiting(_)) => tokio::time::sleep(Duration::from_millis(1)).await,
                    other => return other,
                }
            };
            let expected = if cancels { Outcome::Cancelled } else { Outcome::Completed(2) };
            assert_eq!(soon(ends()).await, Ok(expected), "{id}");
        }
    }
}

#[tokio::test]
async fn a_handle_from_before_a_retry_follows_the_run() {
    let store = AnyStore::Memory(MemoryStore::new());
    let engine = builder(&store).resource(does(Some(Stage::HasFailed)).0).register::<then::job>().build().unwrap();
    let run = engine.start::<then::job>(1).id("x").await.unwrap();
    assert!(matches!(soon(run.outcome()).await, Ok(Outcome::Failed(_))));
    let untyped = engine.get_run("x").await.unwrap().unwrap();
    let (copy, before) = (run.clone(), soon(engine.history("x")).await.unwrap().unwrap().len());
    let again = soon(engine.retry("x")).await.unwrap();
    for _ in 0..2 {
        // It fails again, at another record.
        assert!(matches!(soon(again.outcome()).await, Ok(Outcome::Failed(_))));
        assert!(matches!(soon(run.outcome()).await, Ok(Outcome::Failed(_))));
    }
    assert!(soon(engine.history("x")).await.unwrap().unwrap().len() > before);
    drop(engine);
    // Another engine on the same store, in which the node does not fail.
    let other = builder(&store).resource(does(None).0).register::<then::job>().build().unwrap();
    soon(other.retry("x")).await.unwrap();
    for run in [&run, &copy] {
        assert_eq!(soon(run.outcome()).await, Ok(Outcome::Completed(2)));
    }
    assert_eq!(soon(untyped.result()).await, Ok(json!(2)));
}

#[test]
fn a_handle_of_a_runtime_that_is_gone_follows_the_run() {
    let store = AnyStore::Memory(MemoryStore::new());
    let (run, copy, untyped) = life(async {
        let engine = builder(&store).resource(does(Some(Stage::HasFailed)).0).register::<then::job>().build().unwrap();
        let run = engine.start::<then::job>(1).id("x").await.unwrap();
        assert!(matches!(soon(run.outcome()).await, Ok(Outcome::Failed(_))));
        let untyped = engine.get_run("x").await.unwrap().unwrap();
        (run.clone(), run, untyped)
    });
    life(async {
        let other = builder(&store).resource(does(None).0).register::<then::job>().build().unwrap();
        let again = soon(other.retry("x")).await.unwrap();
        assert_eq!(soon(again.result()).await, Ok(json!(2)));
        for run in [&run, &copy] {
            assert_eq!(soon(run.outcome()).await, Ok(Outcome::Completed(2)));
        }
    });
    // In a third one, with no engine that lives.
    life(async {
        assert_eq!(soon(run.outcome()).await, Ok(Outcome::Completed(2)));
        assert_eq!(soon(untyped.result()).await, Ok(json!(2)));
        let events: Vec<_> = soon(futures::StreamExt::collect::<Vec<_>>(run.events())).await;
        assert!(events.last().is_some_and(graphweft::Event::is_terminal), "{events:#?}");
    });
}

/// A workflow that is not registered runs as long as its process lives, and stays in memory.
#[tokio::test]
async fn a_run_of_an_unregistered_workflow_is_not_unloaded() {
    let store = AnyStore::Memory(MemoryStore::new());
    let engine = builder(&store).resource(does(Some(Stage::Asks)).0).max_resident_waiting(0).build().unwrap();
    let run = engine.start::<then::job>(1).id("x").await.unwrap();
    let Outcome::Waiting(_) = soon(run.outcome()).await.unwrap() else { panic!("it asks") };
    for _ in 0..100 {
        tokio::task::yield_now().await;
    }
    soon(run.answer("approve", true)).await.unwrap();
    assert_eq!(soon(run.result()).await, Ok(2));
}

/// Many runs wait, and a few of them have a record that cannot be read.
#[tokio::test]
async fn recover_checks_the_newest_waiting_runs_and_calls_check_the_others() {
    let store = AnyStore::Memory(MemoryStore::new());
    let engine = builder(&store).resource(does(Some(Stage::Asks)).0).register::<then::job>().build().unwrap();
    for number in 0..70 {
        let run = engine.start::<then::job>(1).id(format!("{number}")).await.unwrap();
        let Outcome::Waiting(_) = soon(run.outcome()).await.unwrap() else { panic!("it asks") };
    }
    soon(engine.shutdown()).await;
    let strict = builder(&store).resource(does(None).0).register::<strict::job>().build().unwrap();
    assert_eq!(soon(strict.recover()).await.unwrap().failed.len(), 32);
    let oldest = strict.get_run("0").await.unwrap().unwrap();
    assert!(matches!(soon(oldest.outcome()).await, Err(RunError::RecordMismatch { .. })));
    // A changed graph and a missing resource are reported for all.
    let changed = builder(&store).register::<changed::job>().build().unwrap();
    assert_eq!(soon(changed.recover()).await.unwrap().failed.len(), 70);
    let without = builder(&store).register::<then::job>().build().unwrap();
    assert_eq!(soon(without.recover()).await.unwrap().failed.len(), 70);
}
