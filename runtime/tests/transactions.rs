//! Steps in transactions of a file, in runs that record other things meanwhile.
#![cfg(feature = "sqlite")]

use std::time::Duration;

use graphweft::prelude::*;
use graphweft::store::SqliteStore;
use graphweft::store::rusqlite::{Connection, Error};
use graphweft::{ChildError, ErrorText, SqliteContext, Workflow};

type Written = Result<i64, ChildError<ErrorText>>;

/// Longer than a step takes that is not slow: its start is recorded meanwhile.
const SLOW: Duration = Duration::from_millis(300);

fn enter(tx: &Connection) -> Result<i64, Error> {
    tx.execute("INSERT INTO entries VALUES (1)", [])?;
    std::thread::sleep(SLOW);
    tx.query_row("SELECT count(*) FROM entries", [], |row| row.get(0))
}

#[node]
async fn write(_: (), ctx: &Context) -> Written {
    ctx.message("it begins");
    ctx.transaction("enter", enter).error_as_text().await
}

workflow! { pub writing(()) -> i64 { START => write; write => END; } }

#[node]
async fn outer(_: (), ctx: &Context) -> Result<i64, ChildError<ErrorText>> {
    ctx.call::<writing>(()).error_as_text().await
}

workflow! { pub around(()) -> i64 { START => outer; outer => END; } }

struct Place {
    _directory: tempfile::TempDir,
    path: std::path::PathBuf,
    engine: Engine,
}

async fn place() -> Place {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("shop.db");
    let store = SqliteStore::open(&path).await.unwrap();
    Connection::open(&path).unwrap().execute_batch("CREATE TABLE entries (n)").unwrap();
    let engine = Engine::builder().store(store).register::<writing>().register::<around>().build().unwrap();
    Place { _directory: directory, path, engine }
}

impl Place {
    fn entries(&self) -> i64 {
        Connection::open(&self.path).unwrap().query_row("SELECT count(*) FROM entries", [], |row| row.get(0)).unwrap()
    }
}

async fn soon<T>(does: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(30), does).await.expect("it ends")
}

async fn watched<W: Workflow<Input = ()>>(place: &Place) {
    let run = place.engine.start::<W>(()).await.unwrap();
    let mut events = run.events();
    let watching = tokio::spawn(async move { while events.next().await.is_some() {} });
    soon(run.result()).await.unwrap();
    soon(watching).await.unwrap();
}

#[tokio::test]
async fn a_slow_closure_of_a_watched_run_ends() {
    let place = place().await;
    watched::<writing>(&place).await;
    assert_eq!(place.entries(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn so_does_one_in_a_called_workflow() {
    let place = place().await;
    watched::<around>(&place).await;
    assert_eq!(place.entries(), 1);
}

#[tokio::test]
async fn a_run_is_cancelled_while_its_closure_is_executed() {
    let place = place().await;
    let run = place.engine.start::<writing>(()).await.unwrap();
    tokio::time::sleep(SLOW / 3).await;
    soon(run.cancel()).await.unwrap();
    // It may have its result before it hears of that.
    let ended = soon(run.result()).await;
    place.engine.shutdown().await;
    assert!(place.entries() == 1 || ended.is_err(), "{ended:?}");
}
