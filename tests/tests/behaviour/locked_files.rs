//! A file that another program keeps locked: what is asked of it has its error in time, and the runs that it has stopped continue.

use std::path::Path;
use std::time::Duration;

use graphweft::prelude::*;
use graphweft::store::{SqliteStore, StoreError};
use graphweft::{RunError, StartError};
use rusqlite::Connection;

const TURNS: u32 = 200;

#[node]
async fn counts(turns: u32, ctx: &Context) -> Result<u32, ChildError<String>> {
    for turn in 0..turns {
        let turns = || async {
            tokio::time::sleep(Duration::from_millis(1)).await;
            Ok::<_, String>(turn)
        };
        ctx.step("turn", turns).key(turn).await?;
    }
    Ok(turns)
}

workflow! {
    long(u32) -> u32 { START => counts; }
}

async fn engine(path: &Path, busy_timeout: Duration) -> Engine {
    let store =
        SqliteStore::builder().busy_timeout(busy_timeout).lease(Duration::from_secs(1)).open(path).await.unwrap();
    Engine::builder().store(store).register::<long>().build().unwrap()
}

fn locked(path: &Path) -> Connection {
    let other = Connection::open(path).unwrap();
    other.busy_timeout(Duration::from_secs(20)).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    other
}

async fn soon<T>(future: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(60), future).await.expect("it takes no minute")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_run_that_a_lock_has_stopped_continues_by_itself_when_the_file_is_free() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("runs.db");
    let engine = engine(&path, Duration::from_millis(50)).await;
    let run = engine.start::<long>(TURNS).id("run").await.unwrap();
    let other = locked(&path);
    let stopped = soon(run.result()).await;
    assert!(matches!(stopped, Err(RunError::Store(StoreError::Busy { .. }))), "{stopped:?}");
    drop(other);
    // Without `recover`.
    let ended = soon(async {
        loop {
            let run = engine.get_run("run").await.unwrap().unwrap();
            match run.result().await {
                Err(RunError::Store(StoreError::Busy { .. })) => tokio::time::sleep(Duration::from_millis(10)).await,
                ended => return ended,
            }
        }
    });
    assert_eq!(ended.await.unwrap(), graphweft::json!(TURNS));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_asked_of_a_locked_file_has_its_error_before_the_lock_is_gone() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("runs.db");
    // A lease is due again as soon as a renewal of it has waited so long.
    let engine = engine(&path, Duration::from_millis(400)).await;
    engine.start::<long>(0).await.unwrap().result().await.unwrap();
    let other = locked(&path);
    for _ in 0..4 {
        let refused = soon(engine.start::<long>(0).into_future()).await;
        assert!(matches!(refused, Err(StartError::Store(StoreError::Busy { .. }))), "{refused:?}");
    }
    drop(other);
    assert_eq!(soon(async { engine.start::<long>(0).await.unwrap().result().await }).await.unwrap(), 0);
}

/// The one that reads looks at the file for two seconds, since times of files are not exact.
#[tokio::test(flavor = "multi_thread")]
async fn a_file_that_another_begins_to_write_while_it_is_opened_for_reading_is_opened() {
    #[node]
    async fn length(text: String) -> usize {
        text.len()
    }
    workflow! { measured(String) -> usize { START => length; } }
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("runs.db");
    drop(SqliteStore::open(&path).await.unwrap());
    while directory.path().join("runs.db-wal").exists() {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    let to_read = path.clone();
    let opening = tokio::spawn(async move { SqliteStore::builder().read_only().open(&to_read).await });
    // By then it looks.
    tokio::time::sleep(Duration::from_millis(300)).await;
    let store = SqliteStore::open(&path).await.unwrap();
    let engine = Engine::builder().store(store).register::<measured>().build().unwrap();
    let until = std::time::Instant::now() + Duration::from_secs(30);
    while !opening.is_finished() {
        assert!(std::time::Instant::now() < until, "it is never opened");
        engine.start::<measured>("x".repeat(1 << 20)).await.unwrap().result().await.unwrap();
    }
    opening.await.unwrap().unwrap();
}
