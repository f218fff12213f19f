//! Answers from another engine than the one that executes the run.

use futures::future::join_all;
use graphweft::prelude::*;
use graphweft::store::{SqliteStore, Store};
use graphweft::{Engine, Run};

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
