//! Appends of many runs at once, which share statements.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

use futures::future::join_all;
use graphweft::store::{Append, Appended, FeedQuery, NewRun, Record, RunKey, Store};
use graphweft::{EventKind, json};
use graphweft_postgres::PostgresStore;
use graphweft_postgres_tests::{builder, client, fresh_schema, server};

const RUNS: u64 = 64;

fn said(run: RunKey, at: u64, records: u64) -> Append {
    let record = |n| Record::new("pay/charge", EventKind::message(format!("{} says {n}", run.get())));
    Append::new(run, at, SystemTime::now(), (at..at + records).map(record).collect::<Vec<_>>())
}

async fn created(store: &PostgresStore, ids: impl Iterator<Item = String>) -> Vec<RunKey> {
    let mut keys = Vec::new();
    for id in ids {
        store.create(NewRun::new(&id, "pay", (1, json!({})).into(), SystemTime::now())).await.unwrap();
        keys.push(store.header(&id).await.unwrap().unwrap().key);
    }
    keys
}

/// What a run has said, in the order of its records.
async fn words(store: &PostgresStore, run: RunKey) -> Vec<String> {
    let stored = store.read(run, 0, usize::MAX).await.unwrap();
    let numbers: Vec<u64> = stored.iter().map(|stored| stored.seq).collect();
    assert_eq!(numbers, (0..stored.len() as u64).collect::<Vec<_>>());
    let text = |kind| if let EventKind::Message { text, .. } = kind { text } else { panic!("{kind:?}") };
    stored.into_iter().map(|stored| text(stored.record.kind)).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn what_many_runs_append_at_once_is_complete_in_order_and_once_in_the_feed() {
    const STEPS: u64 = 20;
    let store = builder(&fresh_schema()).connect().await.unwrap();
    let keys = created(&store, (0..RUNS).map(|run| format!("run-{run}"))).await;
    let conflicts = AtomicU64::new(0);
    join_all(keys.iter().map(|&run| {
        let (store, conflicts) = (&store, &conflicts);
        async move {
            for step in 0..STEPS {
                // One in five is of an engine that has lost the run.
                if (run.get() + step) % 5 == 0 {
                    let stale = store.append(said(run, 3 * step + 7, 1)).await.unwrap();
                    assert_eq!(stale, Appended::Conflict);
                    conflicts.fetch_add(1, Ordering::Relaxed);
                }
                let records = 1 + (run.get() + step) % 3;
                let at = store.header(&format!("run-{}", run.get() - 1)).await.unwrap().unwrap().records;
                assert_eq!(store.append(said(run, at, records)).await.unwrap(), Appended::Done);
            }
        }
    }))
    .await;
    assert_eq!(conflicts.into_inner(), RUNS * STEPS / 5);
    let mut all = Vec::new();
    for run in &keys {
        let words = words(&store, *run).await;
        let expected: Vec<_> = (0..words.len()).map(|n| format!("{} says {n}", run.get())).collect();
        assert_eq!(words, expected);
        all.extend(words);
    }
    let mut fed: Vec<String> = Vec::new();
    let mut query = FeedQuery::default();
    loop {
        let page = store.feed(query.clone()).await.unwrap();
        if page.records.is_empty() {
            break;
        }
        for record in page.records {
            match record.stored.unwrap().record.kind {
                EventKind::Message { text, .. } => fed.push(text),
                kind => panic!("{kind:?}"),
            }
        }
        query.after = page.place;
    }
    fed.sort();
    all.sort();
    assert_eq!(fed, all);
}

#[tokio::test(flavor = "multi_thread")]
async fn of_two_appends_at_the_same_place_one_is_taken_however_many_come_beside_them() {
    let store = builder(&fresh_schema()).connect().await.unwrap();
    let keys = created(&store, (0..8).map(|run| format!("run-{run}"))).await;
    for step in 0..30 {
        // The more there are at once, the more are written together.
        let both = keys.iter().flat_map(|&run| [run, run, run]).map(|run| store.append(said(run, step, 1)));
        let done = join_all(both).await;
        for of_run in done.chunks(3) {
            let done = of_run.iter().filter(|done| matches!(done, Ok(Appended::Done))).count();
            let conflicts = of_run.iter().filter(|done| matches!(done, Ok(Appended::Conflict))).count();
            assert_eq!((done, conflicts), (1, 2), "{of_run:?}");
        }
    }
    for run in keys {
        assert_eq!(words(&store, run).await.len(), 30);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_that_is_locked_does_not_hold_up_those_that_are_written_with_it() {
    let schema = fresh_schema();
    let store = builder(&schema).connect().await.unwrap();
    let keys = created(&store, (0..RUNS).map(|run| format!("run-{run}"))).await;
    let mut client = client(&schema).await;
    let lock = client.transaction().await.unwrap();
    lock.execute("select from runs where id = 'run-5' for update", &[]).await.unwrap();
    let locked = tokio::spawn(store.append(said(keys[5], 0, 1)));
    // It has one of the statements that may be under way at once.
    tokio::time::sleep(Duration::from_millis(100)).await;
    let others = keys.iter().enumerate().filter(|(at, _)| *at != 5);
    let others = join_all(others.map(|(_, &run)| store.append(said(run, 0, 1))));
    let done = tokio::time::timeout(Duration::from_secs(30), others).await.expect("they do not wait for it");
    assert!(done.into_iter().all(|done| done.unwrap() == Appended::Done));
    assert!(!locked.is_finished());
    lock.commit().await.unwrap();
    assert_eq!(locked.await.unwrap().unwrap(), Appended::Done);
}

#[test]
fn appends_whose_runtime_ends_do_not_keep_those_of_the_next_one() {
    let schema = fresh_schema();
    let life = || tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let first = life();
    let address = format!("{} application_name=ends", server());
    let store = first.block_on(async { PostgresStore::builder(&address).schema(&schema).connect().await.unwrap() });
    let keys = first.block_on(created(&store, (0..RUNS).map(|run| format!("run-{run}"))));
    first.block_on(async {
        let appends = join_all(keys.iter().map(|&run| store.append(said(run, 0, 1))));
        drop(tokio::time::timeout(Duration::from_micros(300), appends).await);
    });
    first.shutdown_background();
    life().block_on(async {
        // What the server has of the first one it still executes.
        let executes = "select exists (select from pg_stat_activity where application_name = 'ends')";
        let client = client(&schema).await;
        while client.query_one(executes, &[]).await.unwrap().get(0) {
            tokio::task::yield_now().await;
        }
        let at = async |run: u64| store.header(&format!("run-{run}")).await.unwrap().unwrap().records;
        for (run, key) in (0..).zip(&keys) {
            let append = store.append(said(*key, at(run).await, 1));
            let done = tokio::time::timeout(Duration::from_secs(30), append).await.expect("it does not wait for ever");
            assert_eq!(done.unwrap(), Appended::Done);
        }
    });
}

#[tokio::test(flavor = "multi_thread")]
async fn records_whose_connection_is_lost_are_there_once() {
    const STEPS: u64 = 60;
    let schema = fresh_schema();
    let address = format!("{} application_name=lost", server());
    let store = PostgresStore::builder(&address).schema(&schema).max_connections(4).connect().await.unwrap();
    let keys = created(&store, (0..RUNS).map(|run| format!("run-{run}"))).await;
    let client = client(&schema).await;
    let kills = async {
        for _ in 0..8 {
            tokio::time::sleep(Duration::from_millis(30)).await;
            let kill = "select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'lost'";
            client.execute(kill, &[]).await.unwrap();
        }
    };
    let appends = join_all((0..).zip(&keys).map(|(at, &run): (u64, _)| {
        let store = &store;
        async move {
            let mut step = 0;
            while step < STEPS {
                // Also those whose connection was lost are known.
                assert_eq!(store.append(said(run, step, 1)).await.unwrap(), Appended::Done);
                step = store.header(&format!("run-{at}")).await.unwrap().unwrap().records;
            }
        }
    }));
    futures::future::join(kills, appends).await;
    for run in keys {
        let expected: Vec<_> = (0..STEPS).map(|n| format!("{} says {n}", run.get())).collect();
        assert_eq!(words(&store, run).await, expected);
    }
}
