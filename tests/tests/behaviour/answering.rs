//! Answers from another engine than the one that executes the run.

use std::task::Poll;
use std::time::Duration;

use futures::future::join_all;
use graphweft::prelude::*;
use graphweft::store::{SqliteStore, Store};
use graphweft::{AnswerError, Engine, Run};
use tokio::time::timeout;

#[node]
async fn asks_twice(ctx: &Context) -> u32 {
    let (a, b) = futures::join!(ctx.ask::<u32>("a", "?"), ctx.ask::<u32>("b", "?"));
    a + b
}

#[node]
async fn asks_all(count: u32, ctx: &Context) -> u32 {
    join_all((0..count).map(|at| ctx.ask::<u32>(format!("q{at}"), "?"))).await.iter().sum()
}

workflow! { asking_twice(()) -> u32 { START => asks_twice; } }
workflow! { asking_all(u32) -> u32 { START => asks_all; } }

fn engine(store: impl Store) -> Engine {
    let builder = Engine::builder().store(store).register::<asking_twice>().register::<asking_all>();
    builder.build().unwrap()
}

/// Two engines on one file, as in two processes.
async fn engines(directory: &tempfile::TempDir) -> (Engine, Engine) {
    let path = directory.path().join("runs.db");
    let driver = engine(SqliteStore::open(&path).await.unwrap());
    (driver, engine(SqliteStore::open(&path).await.unwrap()))
}

async fn open<T: graphweft::Payload + std::fmt::Debug>(run: &Run<T>) -> Vec<String> {
    match run.outcome().await.unwrap() {
        Outcome::Waiting(questions) => questions.into_iter().map(|question| question.name).collect(),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn an_answer_of_another_engine_is_seen_at_once_by_the_one_that_executes_the_run() {
    let directory = tempfile::tempdir().unwrap();
    let (driver, other) = engines(&directory).await;
    for _ in 0..10 {
        let run = driver.start::<asking_twice>(()).await.unwrap();
        assert_eq!(open(&run).await, ["a", "b"]);
        other.answer(run.id(), "a", 1).await.unwrap();

        let questions = run.questions().await.unwrap();

        assert_eq!(questions.iter().map(|question| question.name.as_str()).collect::<Vec<_>>(), ["b"]);

        let run = driver.start::<asking_twice>(()).await.unwrap();
        assert_eq!(open(&run).await, ["a", "b"]);
        other.answer(run.id(), "a", 1).await.unwrap();
        assert_eq!(open(&run).await, ["b"]);
    }
}

#[tokio::test]
async fn a_run_that_another_engine_has_cancelled_is_not_said_to_wait() {
    let directory = tempfile::tempdir().unwrap();
    let (driver, other) = engines(&directory).await;
    for _ in 0..10 {
        let run = driver.start::<asking_twice>(()).await.unwrap();
        open(&run).await;
        other.cancel(run.id()).await.unwrap();
        assert_eq!(run.outcome().await, Ok(Outcome::Cancelled));
    }
}

/// Each that is recorded changes the journal under the others: what they have read is not read again.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_answers_to_one_run_go_into_few_commits() {
    let directory = tempfile::tempdir().unwrap();
    let (driver, other) = engines(&directory).await;
    let run = driver.start::<asking_all>(200).id("run").await.unwrap();
    assert_eq!(open(&run).await.len(), 200);

    let answer = |at: u32| {
        let other = other.clone();
        tokio::spawn(async move { other.answer("run", &format!("q{at}"), at).await })
    };
    let answered = timeout(Duration::from_secs(60), join_all((0..200).map(answer))).await.expect("it is soon done");

    assert!(answered.into_iter().all(|answered| answered.unwrap().is_ok()));
    assert_eq!(run.result().await, Ok(199 * 200 / 2));
}

#[tokio::test]
async fn of_two_answers_to_one_question_at_once_one_is_taken() {
    let directory = tempfile::tempdir().unwrap();
    let (driver, other) = engines(&directory).await;
    let run = driver.start::<asking_twice>(()).await.unwrap();
    open(&run).await;

    let answers = join_all((0..4).map(|at| other.answer(run.id(), "a", at))).await;

    let taken = answers.iter().filter(|answer| answer.is_ok()).count();
    let late = answers.iter().filter(|answer| matches!(answer, Err(AnswerError::AlreadyAnswered { .. }))).count();
    assert_eq!((taken, late), (1, 3), "{answers:?}");
}

/// It waits with the others for one append, and takes none of them with it.
#[tokio::test]
async fn an_answer_that_is_dropped_on_its_way_holds_up_no_other() {
    let directory = tempfile::tempdir().unwrap();
    let (driver, other) = engines(&directory).await;
    for polls in 0..8 {
        let run = driver.start::<asking_twice>(()).await.unwrap();
        open(&run).await;
        let mut dropped = Box::pin(other.answer(run.id(), "a", 1));
        for _ in 0..polls {
            if futures::poll!(dropped.as_mut()).is_ready() {
                break;
            }
            tokio::task::yield_now().await;
        }
        let kept = other.answer(run.id(), "b", 2);
        let mut kept = Box::pin(kept);
        let answered = futures::poll!(kept.as_mut());
        drop(dropped);
        match answered {
            Poll::Ready(answered) => answered.unwrap(),
            Poll::Pending => timeout(Duration::from_secs(20), kept).await.expect("it is recorded").unwrap(),
        }
    }
}

#[tokio::test]
async fn an_answer_that_is_invalid_keeps_no_other_from_being_recorded() {
    let directory = tempfile::tempdir().unwrap();
    let (driver, other) = engines(&directory).await;
    let run = driver.start::<asking_twice>(()).await.unwrap();
    open(&run).await;

    let (a, b, c) =
        tokio::join!(other.answer(run.id(), "a", "x"), other.answer(run.id(), "b", 2), other.answer(run.id(), "c", 2));

    assert!(matches!(a, Err(AnswerError::Invalid { .. })), "{a:?}");
    assert_eq!(b, Ok(()));
    assert!(matches!(c, Err(AnswerError::UnknownQuestion { .. })), "{c:?}");
    assert_eq!(open(&run).await, ["a"]);
}

/// What an integer reads is known from the schema, and need not be known from the node.
#[tokio::test]
async fn an_answer_that_its_integer_type_cannot_hold_is_refused_by_every_engine() {
    let directory = tempfile::tempdir().unwrap();
    let (driver, other) = engines(&directory).await;
    let unregistered = SqliteStore::open(directory.path().join("runs.db")).await.unwrap();
    let unregistered = Engine::builder().store(unregistered).build().unwrap();
    let run = driver.start::<asking_twice>(()).await.unwrap();
    open(&run).await;
    let records = async || driver.history(run.id()).await.unwrap().unwrap().len();
    let before = records().await;

    for engine in [&driver, &other, &unregistered] {
        for invalid in [graphweft::json!(4_294_967_296_u64), graphweft::json!(5.0), graphweft::json!(-1)] {
            let refused = engine.answer(run.id(), "a", invalid.clone()).await;
            assert!(matches!(refused, Err(AnswerError::Invalid { .. })), "{invalid}: {refused:?}");
        }
    }

    assert_eq!(records().await, before);
    driver.shutdown().await;
    let refused = other.answer(run.id(), "a", 5.0).await;
    assert!(matches!(refused, Err(AnswerError::Invalid { .. })), "in no process: {refused:?}");
}
