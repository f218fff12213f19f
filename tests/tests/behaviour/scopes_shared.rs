//! State beyond a run that several engines write at once, on one file.

use std::path::Path;

use futures::future::join_all;
use graphweft::prelude::*;
use graphweft::scope::{ScopeError, USER, User};
use graphweft::state::{Append, Overwrite, Sum};
use graphweft::store::SqliteStore;

const ADDED: StateKey<u64, Sum, User> = StateKey::new("added");
const NAMES: StateKey<Vec<u64>, Append, User> = StateKey::new("names");
const NUMBER: StateKey<u64, Overwrite, User> = StateKey::new("number");

/// How many runs each engine has under way at once.
const RUNS: u64 = 12;

#[node]
async fn merge(number: u64, ctx: &Context) -> Result<(), ScopeError> {
    ctx.scope(User).await?.update().merge(ADDED, 1).push(NAMES, number).await
}

/// Adds 1 by hand, as often as it takes.
#[node(retry(max_attempts = 100, initial_delay = "1ms", max_delay = "20ms", when = ScopeError::is_conflict))]
async fn overwrite(_number: u64, ctx: &Context) -> Result<(), ScopeError> {
    let user = ctx.scope(User).await?;
    let number = user.get(NUMBER)?.unwrap_or_default();
    user.update().set(NUMBER, number + 1).await
}

workflow! { merging(u64) -> () { START => merge; } }
workflow! { overwriting(u64) -> () { START => overwrite; } }

async fn engine(path: &Path, updates: usize) -> Engine {
    let store = SqliteStore::open(path).await.unwrap();
    Engine::builder()
        .store(store)
        .keep_scope_updates(updates)
        .register::<merging>()
        .register::<overwriting>()
        .build()
        .unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn two_engines_that_write_at_once_lose_nothing() {
    lose_nothing(10_000).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn two_engines_that_write_and_trim_at_once_lose_nothing() {
    let entries = lose_nothing(3).await;
    assert!(entries < usize::try_from(4 * RUNS).unwrap(), "{entries} of {} updates are left", 4 * RUNS);
}

/// Returns how many entries are left of the updates.
async fn lose_nothing(updates: usize) -> usize {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("runs.db");
    let engines = [engine(&path, updates).await, engine(&path, updates).await];
    let mut runs = Vec::new();
    for number in 0..RUNS {
        for (engine, first) in engines.iter().zip([0, RUNS]) {
            let number = first + number;
            let user = || "ada".to_owned();
            let merging = engine.start::<merging>(number).state(USER, user()).await.unwrap();
            let overwriting = engine.start::<overwriting>(number).state(USER, user()).await.unwrap();
            runs.extend([merging, overwriting]);
        }
    }
    join_all(runs.iter().map(|run| async { run.result().await.unwrap() })).await;
    for engine in &engines {
        let user = engine.scope(User, "ada").await.unwrap();
        assert_eq!(user.get(ADDED).unwrap(), Some(2 * RUNS));
        assert_eq!(user.get(NUMBER).unwrap(), Some(2 * RUNS));
        let mut names = user.get(NAMES).unwrap().unwrap();
        names.sort_unstable();
        assert_eq!(names, (0..2 * RUNS).collect::<Vec<_>>());
    }
    engines[0].logs().unwrap().read("%state/user/ada", 0, u64::MAX).await.unwrap().len()
}
