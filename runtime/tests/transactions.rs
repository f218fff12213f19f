//! Steps in transactions of a file, in runs that record other things meanwhile.
#![cfg(feature = "sqlite")]

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use futures::{FutureExt, StreamExt, poll};
use graphweft::prelude::*;
use graphweft::store::SqliteStore;
use graphweft::store::rusqlite::{Connection, Error};
use graphweft::{ErrorText, Event, SqliteContext, Workflow};

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

/// Breaks a foreign key that is checked at the commit: so often, and then no more.
static BREAKS: AtomicU32 = AtomicU32::new(0);

#[node]
async fn refer(_: (), ctx: &Context) -> Written {
    ctx.step("before", || async { Ok::<_, String>(1) }).error_as_text().await?;
    ctx.message("it refers");
    let referred = ctx.transaction("refer", |tx| {
        let breaks = BREAKS.load(Ordering::Relaxed);
        BREAKS.store(breaks.saturating_sub(1), Ordering::Relaxed);
        tx.execute("INSERT INTO entries VALUES (1)", [])?;
        tx.execute("INSERT INTO children VALUES (?1)", [i64::from(breaks > 0)])?;
        Ok::<i64, Error>(i64::from(breaks))
    });
    let referred = referred.error_as_text().await;
    ctx.step("behind", || async { Ok::<_, String>(2) }).error_as_text().await?;
    referred
}

workflow! { pub referring(()) -> i64 { START => refer; refer => END; } }

/// Holds the step, which could go on, and awaits something else of its context.
#[node]
async fn hold(_: (), ctx: &Context) -> Written {
    let mut held = ctx.transaction("enter", enter).error_as_text();
    assert!(poll!(&mut held).is_pending());
    tokio::time::sleep(2 * SLOW).await;
    ctx.step("beside", || async { Ok::<_, String>(1) }).error_as_text().await?;
    held.await
}

workflow! { pub holding(()) -> i64 { START => hold; hold => END; } }

static EXECUTED: AtomicU32 = AtomicU32::new(0);

/// Drops a step in the very poll in which it ends, and makes it again.
#[node]
async fn make_again(_: (), ctx: &Context) -> i64 {
    let make = || {
        let step = ctx.step("once", || async {
            tokio::task::yield_now().await;
            Ok::<_, String>(i64::from(EXECUTED.fetch_add(1, Ordering::Relaxed)))
        });
        step.boxed()
    };
    let mut step = make();
    while EXECUTED.load(Ordering::Relaxed) == 0 {
        assert!(poll!(&mut step).is_pending());
        if EXECUTED.load(Ordering::Relaxed) == 0 {
            tokio::task::yield_now().await;
        }
    }
    drop(step);
    make().await.unwrap()
}

workflow! { pub making(()) -> i64 { START => make_again; make_again => END; } }

#[node]
async fn begin_anew(_: (), ctx: &Context) -> Written {
    let ended = ctx.transaction("anew", |tx| {
        tx.execute_batch("PRAGMA query_only = ON; COMMIT; BEGIN")?;
        Ok::<i64, Error>(1)
    });
    ended.error_as_text().await
}

workflow! { pub beginning(()) -> i64 { START => begin_anew; begin_anew => END; } }

/// Records something of another step while the transaction is under way.
#[node]
async fn join(_: (), ctx: &Context) -> Written {
    let beside = ctx.step("beside", || async {
        tokio::time::sleep(SLOW / 10).await;
        Ok::<_, String>(1)
    });
    let (written, beside) = futures::join!(ctx.transaction("enter", enter).error_as_text(), beside.error_as_text());
    beside?;
    written
}

workflow! { pub joining(()) -> i64 { START => join; join => END; } }

struct Place {
    _directory: tempfile::TempDir,
    path: std::path::PathBuf,
    engine: Engine,
}

async fn place() -> Place {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("shop.db");
    let store = SqliteStore::open(&path).await.unwrap();
    let tables = "CREATE TABLE entries (n);
        CREATE TABLE parents (id INTEGER PRIMARY KEY);
        INSERT INTO parents VALUES (0);
        CREATE TABLE children (parent INTEGER REFERENCES parents DEFERRABLE INITIALLY DEFERRED)";
    Connection::open(&path).unwrap().execute_batch(tables).unwrap();
    let engine = Engine::builder().store(store).register::<writing>().register::<around>().register::<referring>();
    let engine = engine
        .register::<holding>()
        .register::<making>()
        .register::<joining>()
        .register::<beginning>()
        .build()
        .unwrap();
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

#[tokio::test]
async fn a_commit_that_fails_is_made_again_and_then_an_error_of_the_step() {
    let place = place().await;
    BREAKS.store(2, Ordering::Relaxed);
    let run = place.engine.start::<referring>(()).id("twice").await.unwrap();
    assert_eq!(soon(run.result()).await.unwrap(), 0);
    assert_eq!(place.entries(), 1);

    BREAKS.store(1000, Ordering::Relaxed);
    let run = place.engine.start::<referring>(()).id("always").await.unwrap();
    let error = soon(run.result()).await.unwrap_err();
    assert!(matches!(&error, RunError::Failed(_)), "{error}");
    assert!(error.to_string().contains("FOREIGN KEY constraint failed"), "{error}");
    assert_eq!(place.entries(), 1);
    assert_eq!(BREAKS.load(Ordering::Relaxed), 996);
    // All else that the node has done is recorded, and so is its error.
    let events: Vec<Event> = run.events().collect().await;
    let is_ended = |step: &str| {
        events.iter().any(|event| event.path.ends_with(step) && matches!(event.kind, EventKind::NodeCompleted { .. }))
    };
    assert!(is_ended("/before") && is_ended("/behind") && !is_ended("/refer"), "{events:?}");
}

#[tokio::test]
async fn a_step_that_is_held_and_not_polled_loses_its_turn() {
    let place = place().await;
    let run = place.engine.start::<holding>(()).await.unwrap();
    assert_eq!(soon(run.result()).await.unwrap(), 1);
    assert_eq!(place.entries(), 1);
}

#[tokio::test]
async fn a_step_beside_records_while_the_transaction_is_under_way() {
    let place = place().await;
    let run = place.engine.start::<joining>(()).await.unwrap();
    assert_eq!(soon(run.result()).await.unwrap(), 1);
    assert_eq!(place.entries(), 1);
}

#[tokio::test]
async fn a_step_that_is_made_again_in_the_poll_in_which_it_ended_is_executed_once() {
    let place = place().await;
    let run = place.engine.start::<making>(()).await.unwrap();
    assert_eq!(soon(run.result()).await.unwrap(), 0);
    assert_eq!(EXECUTED.load(Ordering::Relaxed), 1);
}

#[tokio::test]
async fn a_closure_that_begins_another_transaction_is_told() {
    let place = place().await;
    let run = place.engine.start::<beginning>(()).await.unwrap();
    let error = soon(run.result()).await.unwrap_err().to_string();
    assert!(error.contains("has ended it by a statement of its own"), "{error}");
    // And nothing that it has set stays.
    soon(place.engine.start::<writing>(()).await.unwrap().result()).await.unwrap();
    assert_eq!(place.entries(), 1);
}
