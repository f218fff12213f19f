//! Steps and starts in transactions on the file of the engine's store.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use graphweft::prelude::*;
use graphweft::store::rusqlite::{Connection, Error};
use graphweft::store::{SqliteStore, Store};
use graphweft::{ChildError, ErrorText, RetryPolicy, SqliteContext, SqliteStart, StartError};
use graphweft_tests::{dies_at_commit, life};

use super::signals::MESSAGE;

type Booked<T> = Result<T, ChildError<ErrorText>>;

const TABLES: &str = "
    CREATE TABLE accounts (id INTEGER PRIMARY KEY, cents INTEGER NOT NULL CHECK (cents > -100000));
    INSERT INTO accounts VALUES (0, 0), (1, 0);
    CREATE TABLE entries (run TEXT NOT NULL, step TEXT NOT NULL);
    CREATE TABLE orders (id INTEGER PRIMARY KEY)";

fn place() -> (tempfile::TempDir, std::path::PathBuf) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("shop.db");
    (directory, path)
}

fn engine(store: impl Store) -> Engine {
    Engine::builder().store(store).register::<pay>().register::<fan>().register::<odd>().build().unwrap()
}

async fn open(path: &std::path::Path) -> Engine {
    engine(SqliteStore::open(path).await.unwrap())
}

fn one(path: &std::path::Path, select: &str) -> i64 {
    Connection::open(path).unwrap().query_row(select, [], |row| row.get(0)).unwrap()
}

fn entries(path: &std::path::Path) -> i64 {
    one(path, "SELECT count(*) FROM entries")
}

fn enter(tx: &Connection, run: &str, step: &str, account: i64, cents: i64) -> Result<i64, Error> {
    tx.execute("INSERT INTO entries VALUES (?1, ?2)", [run, step])?;
    let add = "UPDATE accounts SET cents = cents + ?2 WHERE id = ?1 RETURNING cents";
    tx.query_row(add, [account, cents], |row| row.get(0))
}

#[node]
async fn transfer(cents: i64, ctx: &Context) -> Booked<i64> {
    let run = ctx.run_id().to_owned();
    let (taker, giver) = (run.clone(), run);
    ctx.transaction("take", move |tx| enter(tx, &taker, "take", 0, -cents)).error_as_text().await?;
    ctx.transaction("give", move |tx| enter(tx, &giver, "give", 1, cents)).error_as_text().await
}

#[node]
async fn approve(left: i64, ctx: &Context) -> i64 {
    ctx.ask::<bool>("approve", "Is it right?").await;
    left
}

workflow! { pub pay(i64) -> i64 { START => transfer => approve; approve => END; } }

#[node]
async fn split(n: i64) -> Vec<i64> {
    (0..n).collect()
}

#[node]
async fn each(n: i64, ctx: &Context) -> Booked<i64> {
    let (run, step) = (ctx.run_id().to_owned(), ctx.path());
    tokio::task::yield_now().await;
    ctx.transaction("enter", move |tx| enter(tx, &run, &step, 0, 1)).error_as_text().await?;
    ctx.message("it is entered");
    Ok(n)
}

#[node]
async fn gather(all: Vec<i64>) -> usize {
    all.len()
}

#[node]
async fn listen(_: (), ctx: &Context) -> usize {
    let mut heard = 0;
    while ctx.wait(MESSAGE).await != "end" {
        heard += 1;
    }
    heard
}

#[node]
async fn count((all, heard): (usize, usize)) -> usize {
    all + heard
}

#[node]
async fn nothing(_: i64) {}

workflow! {
    pub fan(i64) -> usize {
        START => (split, nothing);
        split => [each] => gather;
        nothing => listen;
        (gather, listen) => count;
        count => END;
    }
}

static TRIES: AtomicU32 = AtomicU32::new(0);

#[node]
async fn misbehave(how: String, ctx: &Context) -> Booked<()> {
    ctx.transaction("odd", move |tx| {
        tx.execute("INSERT INTO entries VALUES ('odd', 'odd')", [])?;
        match &*how {
            "commits" => tx.execute_batch("ROLLBACK"),
            "panics" => panic!("it is to panic"),
            "recovers" if TRIES.fetch_add(1, Ordering::Relaxed) == 2 => Ok(()),
            _ => tx.execute_batch("SELECT nonsense"),
        }
    })
    .retry(RetryPolicy::with_max_attempts(3).initial_delay(Duration::from_millis(1)))
    .error_as_text()
    .await
}

workflow! { pub odd(String) -> () { START => misbehave; misbehave => END; } }

#[tokio::test(flavor = "multi_thread")]
async fn what_a_step_writes_and_its_record_are_one_commit() {
    let (_directory, path) = place();
    let first = open(&path).await;
    Connection::open(&path).unwrap().execute_batch(TABLES).unwrap();
    let run = first.start::<pay>(40).id("order").await.unwrap();
    let Outcome::Waiting { .. } = run.outcome().await.unwrap() else { panic!("it asks") };
    assert_eq!((entries(&path), one(&path, "SELECT cents FROM accounts WHERE id = 1")), (2, 40));
    first.shutdown().await;
    let second = open(&path).await;
    second.recover().await.unwrap();
    second.answer("order", "approve", true).await.unwrap();
    assert_eq!(second.get_run_of::<pay>("order").await.unwrap().unwrap().result().await.unwrap(), 40);
    assert_eq!(entries(&path), 2);
}

#[test]
fn steps_write_in_a_runtime_of_one_thread_too() {
    let (_directory, path) = place();
    life(async {
        let engine = open(&path).await;
        Connection::open(&path).unwrap().execute_batch(TABLES).unwrap();
        let runs: Vec<_> = (0..20).map(|n| engine.start::<pay>(n).id(n.to_string()).into_future()).collect();
        for run in futures::future::join_all(runs).await {
            let Outcome::Waiting { .. } = run.unwrap().outcome().await.unwrap() else { panic!("it asks") };
        }
        engine.shutdown().await;
    });
    assert_eq!((entries(&path), one(&path, "SELECT sum(cents) FROM accounts")), (40, 0));
}

#[tokio::test(flavor = "multi_thread")]
async fn steps_side_by_side_write_while_another_process_sends_signals() {
    let (_directory, path) = place();
    let (engine, other) = (open(&path).await, open(&path).await);
    Connection::open(&path).unwrap().execute_batch(TABLES).unwrap();
    let run = engine.start::<fan>(40).id("fan").await.unwrap();
    let mut sent = 0;
    while entries(&path) < 40 {
        other.signal("fan", MESSAGE, format!("message {sent}")).await.unwrap();
        sent += 1;
    }
    other.signal("fan", MESSAGE, "end".to_owned()).await.unwrap();
    assert_eq!(run.result().await.unwrap(), 40 + sent);
    assert_eq!(one(&path, "SELECT count(DISTINCT step) FROM entries"), 40);
    assert_eq!(entries(&path), 40);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_closure_that_does_what_it_must_not_is_undone_and_told() {
    let (_directory, path) = place();
    let engine = open(&path).await;
    Connection::open(&path).unwrap().execute_batch(TABLES).unwrap();
    for (how, said) in [
        ("fails", "no such column: nonsense"),
        ("panics", "panicked: it is to panic"),
        ("commits", "has ended it by a statement of its own"),
    ] {
        let error = engine.start::<odd>(how.to_owned()).await.unwrap().result().await.unwrap_err().to_string();
        assert!(error.contains(said), "{how}: {error}");
        assert_eq!(entries(&path), 0, "{how}");
    }
    engine.start::<odd>("recovers".to_owned()).await.unwrap().result().await.unwrap();
    assert_eq!(entries(&path), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_transaction_needs_a_file() {
    let run = Engine::builder().register::<odd>().build().unwrap().start::<odd>("fails".to_owned()).await.unwrap();
    let error = run.result().await.unwrap_err().to_string();
    assert!(error.contains("a transaction of `SqliteStore` was to begin, and the engine has another store"), "{error}");
    let error = odd("fails".to_owned()).await.unwrap_err().to_string();
    assert!(error.contains("a transaction in a run without an engine"), "{error}");
}

#[test]
fn money_is_neither_made_nor_lost_wherever_the_process_dies() {
    let mut deaths = 0;
    for carried_out in [false, true] {
        for commit in 0.. {
            let (_directory, path) = place();
            life(async {
                open(&path).await.shutdown().await;
                Connection::open(&path).unwrap().execute_batch(TABLES).unwrap();
            });
            let died = dies_at_commit(&path, commit, carried_out, |dying| async {
                let engine = engine(dying);
                let run = engine.start::<pay>(7).id("order").await.unwrap();
                run.outcome().await.unwrap();
                engine.answer("order", "approve", true).await.unwrap();
                run.result().await.unwrap();
                engine.shutdown().await;
            });
            deaths += u32::from(died);
            life(async {
                let engine = open(&path).await;
                engine.recover().await.unwrap();
                let run = engine.start::<pay>(7).id("order").await.unwrap();
                if let Outcome::Waiting { .. } = run.outcome().await.unwrap() {
                    engine.answer("order", "approve", true).await.unwrap();
                }
                assert_eq!(run.result().await.unwrap(), 7);
                engine.shutdown().await;
            });
            let at = format!("commit {commit}, carried out: {carried_out}");
            assert_eq!((entries(&path), one(&path, "SELECT sum(cents) FROM accounts")), (2, 0), "{at}");
            if !died {
                break;
            }
        }
    }
    assert!(deaths >= 8, "it has died at {deaths} commits only");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_started_within_a_transaction_is_there_if_that_is_committed() {
    let (_directory, path) = place();
    let engine = open(&path).await;
    let mut shop = Connection::open(&path).unwrap();
    shop.execute_batch(TABLES).unwrap();

    let tx = shop.transaction().unwrap();
    tx.execute("INSERT INTO orders VALUES (7)", []).unwrap();
    let run = engine.start::<pay>(7).id("undone").within(&tx).unwrap();
    tx.rollback().unwrap();
    assert!(engine.get_run(run.id()).await.unwrap().is_none());

    let tx = shop.transaction().unwrap();
    tx.execute("INSERT INTO orders VALUES (8)", []).unwrap();
    let run = engine.start::<pay>(8).id("done").within(&tx).unwrap();
    assert!(engine.get_run("done").await.unwrap().is_none());
    tx.commit().unwrap();
    while !matches!(run.status().await.unwrap(), RunStatus::Waiting) {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    engine.answer("done", "approve", true).await.unwrap();
    assert_eq!(run.result().await.unwrap(), 8);

    let tx = shop.transaction().unwrap();
    assert_eq!(engine.start::<pay>(8).id("done").within(&tx).unwrap().id(), "done");
    let other = engine.start::<pay>(9).id("done").within(&tx).unwrap_err();
    assert!(matches!(other, StartError::OtherInput { .. }), "{other}");
    drop(tx);
    let none = engine.start::<pay>(9).within(&shop).unwrap_err().to_string();
    assert!(none.contains("the connection has no transaction"), "{none}");
    let (_elsewhere, elsewhere) = place();
    let mut elsewhere = Connection::open(&elsewhere).unwrap();
    let error = engine.start::<pay>(9).within(&elsewhere.transaction().unwrap()).unwrap_err().to_string();
    assert!(error.contains("the file of the engine's store"), "{error}");
}

/// Its closure is executed while its node has dropped it, so its error is dropped by the thread of the store.
#[test]
fn an_error_that_panics_when_it_is_dropped_harms_nothing_but_itself() {
    #[derive(Debug)]
    struct Bad(std::thread::ThreadId);

    impl std::fmt::Display for Bad {
        fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.write_str("bad")
        }
    }

    impl std::error::Error for Bad {}

    impl Drop for Bad {
        fn drop(&mut self) {
            assert!(
                std::thread::panicking() || self.0 != std::thread::current().id(),
                "it is dropped where it was made"
            );
        }
    }

    #[node]
    async fn gives_up(ctx: &Context) -> u32 {
        let (begins, begun) = tokio::sync::oneshot::channel();
        let begins = std::sync::Mutex::new(Some(begins));
        let (ends, end) = std::sync::mpsc::channel::<()>();
        let end = std::sync::Mutex::new(end);
        let transaction = ctx.transaction("t", move |_| {
            let begins = begins.lock().unwrap().take();
            begins.map(|begins| begins.send(()));
            // Until its node has dropped it.
            let _ = end.lock().unwrap().recv();
            Err::<u32, _>(Bad(std::thread::current().id()))
        });
        tokio::select! {
            _ = transaction.error_as_text() => 0,
            _ = begun => { drop(ends); 7 }
        }
    }
    workflow! { giving_up(()) -> u32 { START => gives_up; } }
    let (_directory, path) = place();
    life(async {
        let store = SqliteStore::open(&path).await.unwrap();
        let engine = Engine::builder().store(store).register::<giving_up>().build().unwrap();
        for id in ["first", "second"] {
            let run = engine.start::<giving_up>(()).id(id).await.unwrap();
            assert_eq!(run.result().await.unwrap(), 7, "{id}");
        }
    });
}

#[test]
fn odd_settings_of_a_store_are_made_to_work() {
    #[node]
    async fn same(n: u32) -> u32 {
        n
    }
    workflow! { plain(u32) -> u32 { START => same; } }
    let (_directory, path) = place();
    life(async {
        let store = SqliteStore::builder().busy_timeout(Duration::MAX).lease(Duration::ZERO).open(&path).await.unwrap();
        let engine = Engine::builder().store(store).register::<plain>().build().unwrap();
        let run = async { engine.start::<plain>(7).await.unwrap().result().await };
        let result = tokio::time::timeout(Duration::from_secs(20), run).await;
        assert_eq!(result.expect("other work is done besides the lease").unwrap(), 7);
    });
}

/// The connection of the closure is that of the store, which adds the records of all runs by it.
#[tokio::test(flavor = "multi_thread")]
async fn a_run_cannot_be_started_within_the_transaction_of_a_step() {
    #[node]
    async fn starts(ctx: &Context, #[resource] own: &std::sync::Arc<std::sync::OnceLock<Engine>>) -> Booked<bool> {
        let engine = own.get().expect("it was set").clone();
        ctx.transaction("start", move |tx| {
            let refused = engine.start::<pay>(7).id("within").within(tx).map(drop);
            Ok::<_, Error>(refused == Err(StartError::WithinStep))
        })
        .error_as_text()
        .await
    }
    workflow! { starting(()) -> bool { START => starts; } }

    let (_directory, path) = place();
    let own = std::sync::Arc::new(std::sync::OnceLock::<Engine>::new());
    let store = SqliteStore::open(&path).await.unwrap();
    let engine = Engine::builder().store(store).resource(own.clone()).register::<starting>().register::<pay>();
    let engine = engine.build().unwrap();
    assert!(own.set(engine.clone()).is_ok());
    assert_eq!(engine.start::<starting>(()).await.unwrap().result().await, Ok(true));
    assert!(engine.get_run("within").await.unwrap().is_none());
}
