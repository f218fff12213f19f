//! Runs that begin later.

use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use graphweft::prelude::*;
use graphweft::store::SqliteStore;
use graphweft::{EventKind, Signal, StartError};

#[node]
async fn double(n: u32) -> u32 {
    2 * n
}

const PAID: Signal<u32> = Signal::new("paid");

#[node]
async fn pay(n: u32, ctx: &Context) -> u32 {
    n + ctx.wait(PAID).await
}

workflow! { doubled(u32) -> u32 { START => double; } }
workflow! { paying(u32) -> u32 { START => pay; } }
workflow! { #[timeout = "1h"] limited(u32) -> u32 { START => double; } }

const HOUR: Duration = Duration::from_secs(3600);

/// A clock that a test sets.
#[derive(Clone)]
struct Clock(Arc<Mutex<SystemTime>>);

impl Clock {
    fn new() -> Clock {
        Clock(Arc::new(Mutex::new(SystemTime::UNIX_EPOCH + Duration::from_secs(1_700_000_000))))
    }

    fn now(&self) -> SystemTime {
        *self.0.lock().unwrap()
    }

    fn set(&self, time: SystemTime) {
        *self.0.lock().unwrap() = time;
    }
}

fn engine(store: SqliteStore, clock: &Clock) -> Engine {
    let clock = clock.clone();
    let builder = Engine::builder().register::<doubled>().register::<limited>().register::<paying>().store(store);
    builder.clock(move || clock.now()).build().unwrap()
}

async fn store(directory: &tempfile::TempDir) -> SqliteStore {
    SqliteStore::open(directory.path().join("runs.db")).await.unwrap()
}

/// Some looks of an engine.
async fn some_time() {
    tokio::time::sleep(Duration::from_millis(700)).await;
}

#[tokio::test]
async fn a_run_begins_at_its_time_in_the_process_that_is_there_then() {
    let directory = tempfile::tempdir().unwrap();
    let clock = Clock::new();
    let first = engine(store(&directory).await, &clock);
    let begins = clock.now() + HOUR;
    let run = first.start::<limited>(4).id("x").at(begins).await.unwrap();
    assert_eq!(run.status().await.unwrap(), RunStatus::Sleeping);
    let info = run.info().await.unwrap();
    assert_eq!((info.wake_at, info.records), (Some(begins), 1));
    some_time().await;
    assert_eq!(run.status().await.unwrap(), RunStatus::Sleeping);
    first.shutdown().await;
    drop((run, first));

    clock.set(begins);
    let next = engine(store(&directory).await, &clock);
    next.recover().await.unwrap();
    let run = next.get_run_of::<limited>("x").await.unwrap().unwrap();
    assert_eq!(run.result().await.unwrap(), 8);
    // The limit counts from the beginning.
    let EventKind::RunStarted { limit: Some(limit), .. } = &next.history("x").await.unwrap().unwrap()[0].kind else {
        panic!()
    };
    assert_eq!(limit.until, begins + HOUR);
}

#[tokio::test]
async fn the_same_start_again_is_the_same_run_whenever_it_begins() {
    let directory = tempfile::tempdir().unwrap();
    let clock = Clock::new();
    let engine = engine(store(&directory).await, &clock);
    for _ in 0..2 {
        let run = engine.start::<doubled>(4).id("x").after(HOUR).await.unwrap();
        assert_eq!(run.status().await.unwrap(), RunStatus::Sleeping);
        clock.set(clock.now() + Duration::from_secs(60));
    }
    assert_eq!(engine.count_runs(RunFilter::default()).await.unwrap(), 1);
    clock.set(clock.now() + HOUR);
    let run = engine.start::<doubled>(4).id("x").after(HOUR).await.unwrap();
    assert_eq!(run.result().await.unwrap(), 8);
}

#[tokio::test]
async fn a_run_that_has_not_begun_is_cancelled() {
    let directory = tempfile::tempdir().unwrap();
    let clock = Clock::new();
    let engine = engine(store(&directory).await, &clock);
    let run = engine.start::<doubled>(4).after(HOUR).await.unwrap();
    run.cancel().await.unwrap();
    assert!(matches!(run.outcome().await.unwrap(), Outcome::Cancelled));
    let history = engine.history(run.id()).await.unwrap().unwrap();
    assert!(!history.iter().any(|event| event.path.ends_with("double") && !event.derived), "{history:?}");
}

#[tokio::test]
async fn a_clock_that_is_set_back_does_not_lengthen_a_delay_and_does_not_shorten_it() {
    let directory = tempfile::tempdir().unwrap();
    let clock = Clock::new();
    let engine = engine(store(&directory).await, &clock);
    let run = engine.start::<doubled>(4).after(HOUR).await.unwrap();
    let exact = engine.start::<doubled>(5).at(clock.now() + HOUR).await.unwrap();
    let began = clock.now();

    clock.set(began - 24 * HOUR);
    some_time().await;
    assert_eq!(run.status().await.unwrap(), RunStatus::Sleeping);
    assert_eq!(exact.status().await.unwrap(), RunStatus::Sleeping);
    clock.set(clock.now() + HOUR);
    assert_eq!(run.result().await.unwrap(), 8);
    some_time().await;
    assert_eq!(exact.status().await.unwrap(), RunStatus::Sleeping);
    clock.set(began + HOUR);
    assert_eq!(exact.result().await.unwrap(), 10);
}

#[tokio::test]
async fn a_time_that_has_passed_is_now() {
    let engine = Engine::builder().register::<doubled>().build().unwrap();
    let run = engine.start::<doubled>(4).at(SystemTime::UNIX_EPOCH).await.unwrap();
    assert_eq!(run.result().await.unwrap(), 8);
    let never = engine.start::<doubled>(4).after(Duration::MAX).await.unwrap();
    assert_eq!(never.status().await.unwrap(), RunStatus::Sleeping);
}

#[tokio::test]
async fn only_a_registered_workflow_can_begin_later() {
    let engine = Engine::builder().build().unwrap();
    let refused = engine.start::<doubled>(4).after(HOUR).await.unwrap_err();
    assert_eq!(refused, StartError::NotRegistered { workflow: "doubled".to_owned() });
    let flow = workflow! { START => double };
    assert_eq!(engine.start_flow(&flow, 4).after(HOUR).await.unwrap_err(), StartError::FlowInStore);
    assert_eq!(engine.start_flow(&flow, 4).await.unwrap().result().await.unwrap(), 8);
}

/// It is kept for the node that waits for it, also where the run is looked at too early.
#[tokio::test]
async fn a_signal_does_not_begin_a_run_before_its_time() {
    let directory = tempfile::tempdir().unwrap();
    let clock = Clock::new();
    let engine = engine(store(&directory).await, &clock);
    let begins = clock.now() + HOUR;
    let run = engine.start::<paying>(4).id("x").at(begins).await.unwrap();
    engine.signal("x", PAID, 1).await.unwrap();

    engine.wake("x").await.unwrap();
    some_time().await;
    assert_eq!(run.status().await.unwrap(), RunStatus::Sleeping);
    clock.set(begins - HOUR - HOUR);
    some_time().await;
    assert_eq!(run.status().await.unwrap(), RunStatus::Sleeping);

    clock.set(begins);
    assert_eq!(run.result().await.unwrap(), 5);
}
