//! State beyond a run whose first updates have become one entry.

use std::path::Path;

use futures::future::join_all;
use graphweft::prelude::*;
use graphweft::scope::{App, ScopeError, User, WrittenBy};
use graphweft::state::{Append, Overwrite, Sum};
use graphweft::store::{LogEntry, SqliteStore, Store};
use graphweft::{Payload, Workflow};
use graphweft_tests::{dies_at_commit, life};

const VISITS: StateKey<u64, Sum, App> = StateKey::new("visits");
const NAMES: StateKey<Vec<String>, Append, App> = StateKey::new("names");
const LAST: StateKey<String, Overwrite, App> = StateKey::new("last");
const POINTS: StateKey<u64, Sum, User> = StateKey::new("points");

/// How many updates the engines of these tests keep.
const UPDATES: usize = 3;

#[node]
async fn count(name: String, ctx: &Context) -> Result<u64, ScopeError> {
    let app = ctx.scope(App).await?;
    let before = app.get(VISITS)?.unwrap_or_default();
    app.update().merge(VISITS, 1).push(NAMES, name).await?;
    Ok(before)
}

/// Reads, asks a person, and writes then.
#[node]
async fn asks(name: String, ctx: &Context) -> Result<u64, ScopeError> {
    let app = ctx.scope(App).await?;
    let before = app.get(VISITS)?.unwrap_or_default();
    let last: bool = ctx.ask("overwrite", "Is it the last one?").await;
    let update = app.update().merge(VISITS, 1).push(NAMES, name.clone());
    if last {
        update.set(LAST, name).await?
    } else {
        update.await?
    }
    Ok(before)
}

workflow! { #[given(graphweft::scope::APP)] counting(String) -> u64 { START => count; } }
workflow! { #[given(graphweft::scope::APP)] asking(String) -> u64 { START => asks; } }

fn engine(store: impl Store) -> Engine {
    let builder = Engine::builder().store(store).keep_scope_updates(UPDATES);
    builder.register::<counting>().register::<asking>().build().unwrap()
}

async fn engine_on(path: &Path) -> Engine {
    engine(SqliteStore::open(path).await.unwrap())
}

async fn start<W: Workflow<Input = String, Output = u64>>(engine: &Engine, name: &str) -> Run<u64> {
    let start = engine.start::<W>(name.to_owned()).id(name);
    start.state(graphweft::scope::APP, "shop".to_owned()).await.unwrap()
}

/// Runs that have completed.
async fn others(engine: &Engine, names: std::ops::Range<usize>) {
    for name in names {
        start::<counting>(engine, &name.to_string()).await.result().await.unwrap();
    }
}

async fn waits<T: Payload + std::fmt::Debug>(run: &Run<T>) {
    let Outcome::Waiting(_) = run.outcome().await.unwrap() else { panic!("a person is asked") };
}

async fn entries(engine: &Engine) -> Vec<LogEntry> {
    engine.logs().unwrap().read("%state/app/shop", 0, u64::MAX).await.unwrap()
}

async fn visits(engine: &Engine) -> u64 {
    engine.scope(App, "shop").await.unwrap().get(VISITS).unwrap().unwrap_or_default()
}

async fn names(engine: &Engine) -> Vec<String> {
    engine.scope(App, "shop").await.unwrap().get(NAMES).unwrap().unwrap_or_default()
}

#[tokio::test]
async fn the_log_of_a_counter_stays_short_and_the_counter_is_exact() {
    let engine = engine(graphweft::store::MemoryStore::new());
    for round in 0..20 {
        others(&engine, 5 * round..5 * (round + 1)).await;
        assert_eq!(visits(&engine).await, 5 * (round as u64 + 1));
        assert!(entries(&engine).await.len() <= 2 * UPDATES + 1, "round {round}");
    }
    let all: Vec<String> = (0..100).map(|name| name.to_string()).collect();
    assert_eq!(names(&engine).await, all);
}

#[tokio::test]
async fn an_update_is_made_once_wherever_the_process_dies_though_others_have_trimmed_it() {
    for carried_out in [false, true] {
        for commit in 0.. {
            let at = format!("commit {commit}, carried out: {carried_out}");
            let directory = tempfile::tempdir().unwrap();
            let path = directory.path().join("runs.db");
            let (died, path) = tokio::task::spawn_blocking(move || {
                life(async {
                    let engine = engine_on(&path).await;
                    others(&engine, 0..6).await;
                    engine.shutdown().await;
                });
                let died = dies_at_commit(&path, commit, carried_out, |dying| async {
                    let engine = engine(dying);
                    others(&engine, 6..8).await;
                    engine.shutdown().await;
                });
                (died, path)
            })
            .await
            .unwrap();
            let engine = engine_on(&path).await;
            // What the run has written is trimmed before it is resumed.
            others(&engine, 10..30).await;
            engine.recover().await.unwrap();
            others(&engine, 6..8).await;
            assert_eq!(visits(&engine).await, 28, "{at}");
            let mut names: Vec<usize> = names(&engine).await.iter().map(|name| name.parse().unwrap()).collect();
            names.sort_unstable();
            assert_eq!(names, (0..8).chain(10..30).collect::<Vec<_>>(), "{at}");
            engine.shutdown().await;
            drop(directory);
            if !died {
                assert!(commit >= 8, "it has died at {commit} commits only");
                break;
            }
        }
    }
}

#[tokio::test]
async fn a_node_that_starts_again_behind_the_cut_reads_the_oldest_state_that_is_left_and_writes_once() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("runs.db");
    let first = engine_on(&path).await;
    others(&first, 0..2).await;
    waits(&start::<asking>(&first, "asks").await).await;
    first.shutdown().await;
    let second = engine_on(&path).await;
    others(&second, 2..20).await;
    let oldest = entries(&second).await;
    assert!(oldest.len() < 10 && oldest[0].value.get("summary").is_some());
    second.recover().await.unwrap();
    let run = second.get_run_of::<asking>("asks").await.unwrap().unwrap();
    run.answer("overwrite", false).await.unwrap();
    let seen = run.result().await.unwrap();
    assert!(2 < seen && seen < 20, "{seen}");
    assert_eq!(visits(&second).await, 21);
    second.shutdown().await;
}

#[tokio::test]
async fn what_has_become_a_part_of_a_summary_is_not_overwritten_unseen() {
    let engine = engine(graphweft::store::MemoryStore::new());
    let early = engine.scope(App, "shop").await.unwrap();
    let other = start::<asking>(&engine, "asks").await;
    waits(&other).await;
    other.answer("overwrite", true).await.unwrap();
    other.result().await.unwrap();
    others(&engine, 0..20).await;
    assert!(entries(&engine).await.iter().all(|entry| !entry.value.to_string().contains(r#""key":"last""#)));
    let conflict = early.update().set(LAST, "early".to_owned()).await.unwrap_err();
    let ScopeError::Conflict { key, by: WrittenBy::InRun { run, .. }, .. } = conflict else { panic!("{conflict}") };
    assert_eq!((&*key, &*run), ("last", "asks"));

    // One who has read behind that write, though before the cut, overwrites what they have seen.
    let later = engine.scope(App, "shop").await.unwrap();
    others(&engine, 20..40).await;
    later.update().set(LAST, "later".to_owned()).await.unwrap();
    assert_eq!(engine.scope(App, "shop").await.unwrap().get(LAST).unwrap().as_deref(), Some("later"));
}

#[tokio::test]
async fn an_update_with_a_key_stays_known() {
    let engine = engine(graphweft::store::MemoryStore::new());
    let import = async || {
        let ada = engine.scope(User, "ada").key("import").await.unwrap();
        ada.update().merge(POINTS, 10).await.unwrap();
    };
    import().await;
    for _ in 0..20 {
        engine.scope(User, "ada").await.unwrap().update().merge(POINTS, 1).await.unwrap();
    }
    import().await;
    assert_eq!(engine.scope(User, "ada").await.unwrap().get(POINTS).unwrap(), Some(30));
    let left = engine.logs().unwrap().read("%state/user/ada", 0, u64::MAX).await.unwrap();
    assert!(left.len() <= 2 * UPDATES + 2, "{}", left.len());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn readers_beside_writers_that_trim_see_each_update_once() {
    let engine = engine(graphweft::store::MemoryStore::new());
    let reads = async {
        let mut last = 0;
        while last < 60 {
            let app = engine.scope(App, "shop").await.unwrap();
            let (visits, names) = (app.get(VISITS).unwrap().unwrap(), app.get(NAMES).unwrap().unwrap_or_default());
            assert_eq!(visits, names.len() as u64);
            assert!(visits >= last);
            last = visits;
            tokio::task::yield_now().await;
        }
    };
    let writes = join_all((0..3).map(|third| others(&engine, 20 * third..20 * (third + 1))));
    tokio::join!(writes, reads);
}
