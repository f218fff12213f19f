//! Runs that start over in a file: over restarts, deaths, other processes and many turns.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use futures::FutureExt;
use graphweft::prelude::*;
use graphweft::store::{Append, BoxFuture, NewRun, StartedOver, Store, StoreError};
use graphweft::{EngineBuilder, Signalled, json};
use graphweft_tests::{Death, Journal, OnDisk, life};

use super::start_over::{MESSAGE, chat};

async fn builder(directory: &tempfile::TempDir) -> EngineBuilder {
    Engine::builder().store(SqliteStore::open(directory.path().join("runs.db")).await.unwrap())
}

async fn ended<T: graphweft::Payload>(run: &Run<T>) -> T {
    let result = async {
        loop {
            match run.outcome().await.unwrap() {
                Outcome::Completed(output) => return output,
                Outcome::AwaitingSignals(_) => tokio::time::sleep(Duration::from_millis(5)).await,
                other => panic!("{:?}", std::mem::discriminant(&other)),
            }
        }
    };
    tokio::time::timeout(Duration::from_secs(20), result).await.expect("the run ends")
}

#[node]
async fn poll(n: u32, ctx: &Context) -> u32 {
    if n < 1000 {
        ctx.start_over::<polling>(n + 1).await
    }
    n
}

workflow! { polling(u32) -> u32 { START => poll; } }

#[tokio::test]
async fn a_thousand_runs_follow_one_another_and_the_file_stays_small() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("runs.db");
    let length = || std::fs::metadata(&path).unwrap().len();
    let store = SqliteStore::builder().durability(graphweft::store::Durability::Relaxed);
    let store = store.lease(Duration::from_millis(300)).open(&path).await.unwrap();
    let retention = graphweft::Retention::completed(Duration::ZERO).ids(Duration::ZERO);
    let mut lengths = Vec::new();
    for thousand in 0..5 {
        let engine = Engine::builder().store(store.clone()).register::<polling>().build().unwrap();
        engine.start::<polling>(0).id(format!("p{thousand}")).await.unwrap();
        let last = async {
            loop {
                match engine.get_run(&format!("p{thousand}~1000")).await.unwrap() {
                    Some(last) => return ended(&last).await,
                    None => tokio::time::sleep(Duration::from_millis(5)).await,
                }
            }
        };
        assert_eq!(tokio::time::timeout(Duration::from_secs(60), last).await.unwrap(), json!(1000));
        let history = engine.history(&format!("p{thousand}~999")).await.unwrap().unwrap();
        assert_eq!(history.len(), 4, "each has a journal of its own");
        // The first thousand are kept until the second: what a thousand take is the measure of all.
        if thousand > 0 {
            engine.delete_expired_by(retention).await.unwrap();
            assert_eq!(engine.count_runs(RunFilter::default()).await.unwrap(), 0);
        }
        lengths.push(length());
    }
    assert!(lengths[4] < 2 * lengths[0], "{lengths:?}");
    store.check().await.unwrap();
}

#[tokio::test]
async fn a_chain_of_a_thousand_runs_is_followed_to_its_end() {
    let engine = Engine::builder().store(graphweft::store::MemoryStore::new().max_resident_finished(2000));
    let engine = engine.register::<polling>().build().unwrap();
    let run = engine.start::<polling>(0).id("p").await.unwrap();
    assert_eq!(ended(&run).await, 1000);
    assert_eq!(engine.count_runs(RunFilter::default()).await.unwrap(), 1001);
    assert_eq!(ended(&run).await, 1000);
}

#[node]
async fn goes(first: bool, ctx: &Context, #[resource] journal: &Journal) -> String {
    journal.note(format!("goes {first}"));
    if first {
        while journal.count("listens") == 0 {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        ctx.start_over::<lingering>(false).await
    }
    "gone".to_owned()
}

#[node]
async fn lingers(first: bool, ctx: &Context, #[resource] death: &Death, #[resource] journal: &Journal) -> String {
    if first {
        journal.note("listens");
        ctx.cancelled().await;
        death.come("lingers").await;
    }
    "lingered".to_owned()
}

#[node]
async fn both(a: String, b: String) -> String {
    format!("{a} {b}")
}

workflow! { lingering(bool) -> String { START => (goes, lingers) => both; } }

#[test]
fn a_process_that_dies_while_the_others_stop_is_followed_by_one_that_starts_over() {
    let disk = OnDisk::default();
    disk.dies_at::<lingering>(true, "lingers");
    let (result, events) = disk.resumes::<lingering>();

    assert_eq!(result.unwrap(), json!("gone lingered"));
    assert!(matches!(events.last().unwrap().kind, EventKind::RunStartedOver { .. }));
    // The node that has started over is over, and does not run again.
    assert_eq!(disk.journal.count("goes true"), 1);
    assert_eq!(disk.journal.count("goes false"), 1);
}

#[test]
fn a_chat_goes_on_over_restarts() {
    let disk = OnDisk::default();
    disk.process::<chat, _, _>(|engine| async move {
        engine.start::<chat>(Vec::new()).id("chat").await.unwrap();
        engine.signal("chat", MESSAGE, "0".to_owned()).await.unwrap();
    });
    for at in 1..6 {
        disk.process::<chat, _, _>(|engine| async move {
            if at % 2 == 0 {
                engine.recover().await.unwrap();
            }
            for message in ["over".to_owned(), at.to_string()] {
                let id = format!("{message} {at}");
                engine.signal("chat", MESSAGE, message.clone()).id(&id).await.unwrap();
            }
        });
    }
    let said = disk.process::<chat, _, _>(|engine| async move {
        engine.recover().await.unwrap();
        engine.signal("chat", MESSAGE, "end".to_owned()).await.unwrap();
        ended(&engine.get_run("chat").await.unwrap().unwrap()).await
    });
    assert_eq!(said, json!(["0", "1", "2", "3", "4", "5"]));
}

#[tokio::test]
async fn another_process_reaches_the_last_run_by_the_first_id() {
    for resident in [0, 100] {
        let directory = tempfile::tempdir().unwrap();
        let driver = builder(&directory).await.register::<chat>().max_resident_waiting(resident).build().unwrap();
        let other = builder(&directory).await.build().unwrap();
        let run = driver.start::<chat>(Vec::new()).id("chat").await.unwrap();
        let followed = other.get_run("chat").await.unwrap().unwrap();
        let mut expected = Vec::new();
        for at in 0..20 {
            let message = if at % 4 == 3 { "over".to_owned() } else { format!("m{at}") };
            let engine = if at % 2 == 0 { &other } else { &driver };
            assert_eq!(engine.signal("chat", MESSAGE, message.clone()).id(format!("{at}")).await, Ok(Signalled::New));
            if message != "over" {
                expected.push(message);
            }
        }
        other.signal("chat", MESSAGE, "end".to_owned()).await.unwrap();
        assert_eq!(ended(&run).await, expected);
        assert_eq!(ended(&followed).await, json!(expected));
        let last = other.get_run("chat~5").await.unwrap().unwrap();
        assert_eq!(last.status().await.unwrap(), RunStatus::Completed);
        driver.shutdown().await;
        other.shutdown().await;
    }
}

#[tokio::test]
async fn another_process_cancels_the_last_run_by_the_first_id() {
    let directory = tempfile::tempdir().unwrap();
    let driver = builder(&directory).await.register::<chat>().build().unwrap();
    let other = builder(&directory).await.build().unwrap();
    let run = driver.start::<chat>(Vec::new()).id("chat").await.unwrap();
    other.signal("chat", MESSAGE, "over".to_owned()).await.unwrap();
    let over = async {
        while run.next().await.unwrap().is_none() {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(20), over).await.unwrap();
    other.cancel("chat").await.unwrap();
    let outcome = async {
        loop {
            match run.outcome().await.unwrap() {
                Outcome::Cancelled => return,
                _ => tokio::time::sleep(Duration::from_millis(5)).await,
            }
        }
    };
    tokio::time::timeout(Duration::from_secs(20), outcome).await.expect("it is cancelled");
}

/// Another engine with the same file.
struct Other {
    engine: Engine,
    has_cancelled: AtomicBool,
}

/// Starts over before this process may know that another one has cancelled the run.
#[node]
async fn is_cancelled_and_goes(n: u32, ctx: &Context, #[resource] other: &Other) -> u32 {
    if n == 0 {
        if !other.has_cancelled.swap(true, Ordering::SeqCst) {
            other.engine.cancel(ctx.run_id()).await.unwrap();
        }
        ctx.start_over::<cancelled_and_going>(1).await
    }
    n
}

workflow! { cancelled_and_going(u32) -> u32 { START => is_cancelled_and_goes; } }

#[tokio::test]
async fn a_run_that_was_cancelled_while_it_started_over_is_retried() {
    let directory = tempfile::tempdir().unwrap();
    let other = Other { engine: builder(&directory).await.build().unwrap(), has_cancelled: AtomicBool::new(false) };
    let engine = builder(&directory).await.resource(other).register::<cancelled_and_going>().build().unwrap();
    let run = engine.start::<cancelled_and_going>(0).id("x").await.unwrap();
    assert_eq!(run.outcome().await, Ok(Outcome::Cancelled));

    engine.retry("x").await.unwrap();
    assert_eq!(ended(&run).await, 1);
    assert_eq!(run.last().await.unwrap().id(), "x~1");
}

/// What becomes of the commit with which a run starts over.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Fate {
    Lost,
    Unheard,
    Silent,
}

/// Fails that commit once.
struct Failing {
    inner: SqliteStore,
    fate: Fate,
    has_failed: Arc<AtomicBool>,
}

impl Store for Failing {
    graphweft_tests::forward_store! {
        join leave create append read header list count overview open_questions delete reserve_task claim is_alive is_served
        is_shared feed feed_end graph logs
    }

    fn start_over(&self, end: Append, next: NewRun) -> BoxFuture<'static, Result<StartedOver, StoreError>> {
        let started = self.inner.start_over(end, next);
        if self.has_failed.swap(true, Ordering::SeqCst) {
            return started;
        }
        let fate = self.fate;
        async move {
            if fate != Fate::Lost {
                started.await?;
            }
            if fate == Fate::Silent {
                std::future::pending::<()>().await;
            }
            Err(StoreError::Other { message: "on purpose".to_owned() })
        }
        .boxed()
    }
}

#[test]
fn the_end_and_the_next_run_are_both_there_or_neither_whatever_becomes_of_the_commit() {
    for fate in [Fate::Lost, Fate::Unheard, Fate::Silent] {
        let directory = tempfile::tempdir().unwrap();
        let open = || SqliteStore::open(directory.path().join("runs.db"));
        let has_failed = Arc::new(AtomicBool::new(false));
        life(async {
            let store = Failing { inner: open().await.unwrap(), fate, has_failed: Arc::clone(&has_failed) };
            let engine = Engine::builder().store(store).register::<chat>().build().unwrap();
            engine.start::<chat>(Vec::new()).id("chat").await.unwrap();
            for message in ["a", "over", "b"] {
                let _the_run_may_have_stopped = engine.signal("chat", MESSAGE, message.to_owned()).id(message).await;
            }
            let failed = async {
                while !has_failed.load(Ordering::SeqCst) {
                    tokio::time::sleep(Duration::from_millis(2)).await;
                }
                tokio::time::sleep(Duration::from_millis(50)).await;
            };
            tokio::time::timeout(Duration::from_secs(20), failed).await.unwrap();
            let runs = engine.count_runs(RunFilter::default()).await.unwrap();
            let first = engine.get_run("chat").await.unwrap().unwrap();
            let is_over = first.status().await.unwrap() == RunStatus::StartedOver;
            assert_eq!((runs, is_over), if fate == Fate::Lost { (1, false) } else { (2, true) }, "{fate:?}");
        });
        let said = life(async {
            let engine = Engine::builder().store(open().await.unwrap()).register::<chat>().build().unwrap();
            engine.recover().await.unwrap();
            for message in ["b", "end"] {
                engine.signal("chat", MESSAGE, message.to_owned()).id(message).await.unwrap();
            }
            let run = engine.get_run("chat").await.unwrap().unwrap();
            let said = ended(&run).await;
            assert_eq!(engine.count_runs(RunFilter::default()).await.unwrap(), 2);
            assert!(run.info().await.unwrap().next.is_some());
            said
        });
        assert_eq!(said, json!(["a", "b"]), "{fate:?}");
    }
}

#[tokio::test]
async fn a_failed_commit_in_a_process_that_lives_on_stops_no_run_for_ever() {
    let directory = tempfile::tempdir().unwrap();
    let inner = SqliteStore::open(directory.path().join("runs.db")).await.unwrap();
    let store = Failing { inner, fate: Fate::Unheard, has_failed: Arc::default() };
    let engine = Engine::builder().store(store).register::<chat>().build().unwrap();
    let run = engine.start::<chat>(Vec::new()).id("chat").await.unwrap();
    for message in ["a", "over", "end"] {
        engine.signal("chat", MESSAGE, message.to_owned()).id(message).await.unwrap();
    }
    // The next run is there, and this engine finds it.
    assert_eq!(ended(&run).await, ["a"]);
}
