//! The events of all runs as one stream, with a cursor that outlives the process.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;
use std::time::Duration;

use futures::future::join_all;
use futures::{FutureExt, StreamExt};
use graphweft::prelude::*;
use graphweft::store::{Durability, MemoryStore, SqliteStore, Store, StoreError};
use graphweft::{Engine, Event, EventKind, Feed, FeedCursor, FeedEvent, FeedFrom, RunFilter, WatchError};
use tempfile::TempDir;

#[node]
async fn double(n: u32) -> u32 {
    2 * n
}

#[node]
async fn text(n: u32) -> String {
    n.to_string()
}

#[node]
async fn confirm(n: u32, ctx: &Context) -> u32 {
    if ctx.ask::<bool>("fine", "Is it fine?").await { n } else { 0 }
}

#[node]
async fn increment(n: u32) -> Result<u32, u32> {
    if n.is_multiple_of(50) { Err(n) } else { Ok(n + 1) }
}

workflow! { doubled(u32) -> String { START => double => text; } }
workflow! { confirmed(u32) -> u32 { START => confirm; } }
workflow! { counted(u32) -> u32 { START => increment => <ok: increment, err: END>; } }

/// An engine with a small commit log, so that records move while they are followed.
async fn engine(path: &Path, log_rows: usize) -> Engine {
    let store = SqliteStore::builder().durability(Durability::Relaxed).log_rows(log_rows).open(path).await.unwrap();
    of_store(store)
}

fn of_store(store: impl Store) -> Engine {
    let builder = Engine::builder().store(store).register::<doubled>().register::<confirmed>().register::<counted>();
    builder.build().unwrap()
}

async fn next(feed: &mut Feed) -> FeedEvent {
    let next = tokio::time::timeout(Duration::from_secs(20), feed.next()).await.expect("there is a next event");
    next.expect("the feed has another event").unwrap()
}

/// Events up to the end of so many runs.
async fn until_ended(feed: &mut Feed, mut runs: usize) -> Vec<FeedEvent> {
    let mut events = Vec::new();
    while runs > 0 {
        let event = next(feed).await;
        runs -= usize::from(event.event.is_terminal());
        events.push(event);
    }
    events
}

/// Holds what was followed against the histories of all runs: nothing is missing, and nothing comes twice or earlier
/// than what was before it.
async fn are_the_histories(engine: &Engine, followed: &[FeedEvent]) {
    let mut by_run: BTreeMap<&str, Vec<&Event>> = BTreeMap::new();
    for event in followed {
        by_run.entry(&event.event.run_id).or_default().push(&event.event);
    }
    assert!(followed.is_sorted_by_key(|event| event.cursor));
    for (run, events) in by_run {
        let history = engine.history(run).await.unwrap().unwrap();
        let recorded: Vec<_> = history.iter().filter(|event| !event.derived).collect();
        assert_eq!(events, recorded, "run {run}");
    }
}

#[tokio::test]
async fn the_events_of_all_runs_come_as_they_are_recorded() {
    let directory = TempDir::new().unwrap();
    for engine in [of_store(MemoryStore::new()), engine(&directory.path().join("runs.db"), 3).await] {
        let mut feed = engine.watch(FeedFrom::Beginning).await.unwrap();
        let runs = join_all((0..20).map(|n| engine.start::<doubled>(n).into_future())).await;
        let followed = until_ended(&mut feed, 20).await;
        are_the_histories(&engine, &followed).await;
        assert!(followed.iter().all(|event| event.workflow == "doubled"));
        for run in runs {
            run.unwrap().result().await.unwrap();
        }
        assert_eq!(until_ended(&mut engine.watch(FeedFrom::Beginning).await.unwrap(), 20).await, followed);
    }
}

/// Long before a feed would look into the store by itself.
#[tokio::test(start_paused = true)]
async fn a_feed_wakes_at_once_for_what_its_own_engine_records() {
    for _ in 0..20 {
        let engine = of_store(MemoryStore::new());
        let mut feed = engine.watch(FeedFrom::Now).await.unwrap();
        assert!(feed.next().now_or_never().is_none());
        let begun = tokio::time::Instant::now();
        engine.start::<doubled>(1).await.unwrap().result().await.unwrap();
        until_ended(&mut feed, 1).await;
        assert!(begun.elapsed() < Duration::from_millis(5), "{:?}", begun.elapsed());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn an_engine_that_executes_nothing_follows_two_others() {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("runs.db");
    let watcher = Engine::builder().store(SqliteStore::open(&path).await.unwrap()).build().unwrap();
    let mut feed = watcher.watch(FeedFrom::Beginning).await.unwrap();
    let engines = [engine(&path, 7).await, engine(&path, 2).await];
    let running = engines.iter().cloned().map(|engine| {
        tokio::spawn(async move {
            let runs = join_all((0..25).map(|n| engine.start::<doubled>(n).into_future())).await;
            join_all(runs.iter().map(|run| run.as_ref().unwrap().result())).await;
        })
    });
    let running: Vec<_> = running.collect();
    let followed = until_ended(&mut feed, 50).await;
    are_the_histories(&watcher, &followed).await;
    for running in running {
        running.await.unwrap();
    }
}

#[tokio::test]
async fn a_restart_continues_behind_the_last_cursor() {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("runs.db");
    let (mut followed, mut saved) = (Vec::new(), None::<String>);
    for life in 0..6 {
        let engine = engine(&path, 4).await;
        engine.recover().await.unwrap();
        let from = saved.as_ref().map_or(FeedFrom::Beginning, |saved| saved.parse::<FeedCursor>().unwrap().into());
        let mut feed = engine.watch(from).await.unwrap();
        if life > 0 {
            engine.answer(&format!("run-{}", life - 1), "fine", true).await.unwrap();
        }
        if life < 5 {
            let run = engine.start::<confirmed>(7).id(format!("run-{life}")).await.unwrap();
            run.outcome().await.unwrap();
        }
        // Not all that is there, so that the next life finds records of this one.
        for _ in 0..3 {
            followed.push(next(&mut feed).await);
        }
        saved = Some(serde_json::from_str(&serde_json::to_string(&feed.cursor()).unwrap()).unwrap());
        assert_eq!(saved, Some(followed.last().unwrap().cursor.to_string()));
        engine.shutdown().await;
    }
    let engine = engine(&path, 4).await;
    let mut feed = engine.watch(saved.unwrap().parse::<FeedCursor>().unwrap()).await.unwrap();
    let left = 5 - followed.iter().filter(|event| event.event.is_terminal()).count();
    followed.extend(until_ended(&mut feed, left).await);
    are_the_histories(&engine, &followed).await;
}

#[tokio::test]
async fn from_now_on_is_from_the_call_and_not_from_the_first_poll() {
    let directory = TempDir::new().unwrap();
    for engine in [of_store(MemoryStore::new()), engine(&directory.path().join("runs.db"), 3).await] {
        engine.start::<doubled>(1).id("before").await.unwrap().result().await.unwrap();
        let mut feed = engine.watch(FeedFrom::Now).await.unwrap();
        engine.start::<doubled>(2).id("after").await.unwrap().result().await.unwrap();
        let followed = until_ended(&mut feed, 1).await;
        assert!(matches!(followed[0].event.kind, EventKind::RunStarted { .. }));
        assert!(followed.iter().all(|event| event.event.run_id == "after"));
    }
}

#[tokio::test]
async fn runs_that_were_deleted_leave_no_hole_that_blocks() {
    let directory = TempDir::new().unwrap();
    for engine in [of_store(MemoryStore::new()), engine(&directory.path().join("runs.db"), 3).await] {
        for id in ["a", "b", "c"] {
            engine.start::<doubled>(1).id(id).await.unwrap().result().await.unwrap();
        }
        let mut begun = engine.watch(FeedFrom::Beginning).await.unwrap();
        let first = next(&mut begun).await;
        assert_eq!(first.event.run_id, "a");
        engine.delete_run("a").await.unwrap();
        engine.delete_run("b").await.unwrap();

        for from in [FeedFrom::Beginning, first.cursor.into()] {
            let followed = until_ended(&mut engine.watch(from).await.unwrap(), 1).await;
            assert!(followed.iter().all(|event| event.event.run_id == "c"), "{followed:?}");
            are_the_histories(&engine, &followed).await;
        }
        // It had read a page before.
        assert_eq!(until_ended(&mut begun, 3).await.last().unwrap().event.run_id, "c");
    }
}

#[tokio::test]
async fn a_slow_reader_misses_nothing_and_holds_one_page() {
    let directory = TempDir::new().unwrap();
    let engine = engine(&directory.path().join("runs.db"), 50).await;
    let mut feed = engine.watch(FeedFrom::Beginning).await.unwrap();
    let mut followed = vec![];
    let mut started = 0;
    while started < 150 {
        engine.start::<doubled>(started).await.unwrap().result().await.unwrap();
        started += 1;
        if started % 5 == 0 {
            followed.push(next(&mut feed).await);
        }
    }
    followed.extend(until_ended(&mut feed, 150 - count_of_ends(&followed)).await);
    assert_eq!(followed.iter().map(|event| &event.event.run_id).collect::<std::collections::HashSet<_>>().len(), 150);
    are_the_histories(&engine, &followed).await;
}

fn count_of_ends(followed: &[FeedEvent]) -> usize {
    followed.iter().filter(|event| event.event.is_terminal()).count()
}

#[tokio::test]
async fn a_feed_has_the_runs_of_some_workflows_and_tags() {
    let directory = TempDir::new().unwrap();
    for engine in [of_store(MemoryStore::new()), engine(&directory.path().join("runs.db"), 3).await] {
        for (id, tenant) in [("a", "acme"), ("b", "other")] {
            engine.start::<doubled>(1).id(id).tag("tenant", tenant).await.unwrap().result().await.unwrap();
            let counted = engine.start::<counted>(1).id(format!("counted-{id}")).tag("tenant", tenant);
            counted.await.unwrap().result().await.unwrap();
        }
        let ids = async |feed: Feed, runs| {
            let mut feed = feed;
            let mut ids: Vec<_> =
                until_ended(&mut feed, runs).await.into_iter().map(|event| event.event.run_id).collect();
            ids.dedup();
            ids
        };
        let feed = async || engine.watch(FeedFrom::Beginning).await.unwrap();
        assert_eq!(ids(feed().await.workflow("doubled"), 2).await, ["a", "b"]);
        assert_eq!(ids(feed().await.tag("tenant", "other"), 2).await, ["b", "counted-b"]);
        let both = feed().await.workflow("doubled").workflow("counted").tag("tenant", "acme");
        assert_eq!(ids(both, 2).await, ["a", "counted-a"]);
        // What is passed over moves the cursor.
        let mut all = feed().await;
        until_ended(&mut all, 4).await;
        let mut none = feed().await.workflow("unknown");
        let begun = std::time::Instant::now();
        while none.cursor() < all.cursor() {
            assert!(tokio::time::timeout(Duration::from_millis(50), none.next()).await.is_err());
            assert!(begun.elapsed() < Duration::from_secs(60), "it does not move");
        }
        let end = none.cursor();
        engine.start::<doubled>(1).id("c").await.unwrap().result().await.unwrap();
        assert_eq!(until_ended(&mut engine.watch(end).await.unwrap(), 1).await[0].event.run_id, "c");
    }
}

#[tokio::test]
async fn a_shutdown_ends_it_after_the_last_record() {
    let directory = TempDir::new().unwrap();
    for engine in [of_store(MemoryStore::new()), engine(&directory.path().join("runs.db"), 3).await] {
        let feed = engine.watch(FeedFrom::Beginning).await.unwrap();
        let waiting = engine.start::<confirmed>(1).id("waits").await.unwrap();
        waiting.outcome().await.unwrap();
        engine.start::<doubled>(1).id("ends").await.unwrap().result().await.unwrap();
        let following = tokio::spawn(feed.collect::<Vec<_>>());

        engine.shutdown().await;

        let followed = tokio::time::timeout(Duration::from_secs(20), following).await.expect("it ends").unwrap();
        let followed: Vec<_> = followed.into_iter().map(Result::unwrap).collect();
        assert_eq!(count_of_ends(&followed), 1);
        are_the_histories(&engine, &followed).await;
        // Whoever comes later gets what is there, and the end.
        let later: Vec<_> = engine.watch(FeedFrom::Beginning).await.unwrap().collect().await;
        assert_eq!(later.len(), followed.len());
    }
}

#[tokio::test]
async fn it_ends_when_the_program_has_dropped_the_engine() {
    let engine = of_store(MemoryStore::new());
    engine.start::<doubled>(1).await.unwrap().result().await.unwrap();
    let feed = engine.watch(FeedFrom::Beginning).await.unwrap();
    drop(engine);
    let followed: Vec<_> = tokio::time::timeout(Duration::from_secs(20), feed.collect()).await.expect("it ends");
    assert!(followed.last().unwrap().as_ref().unwrap().event.is_terminal());
}

#[tokio::test]
async fn a_cursor_of_another_store_is_refused() {
    let (long, short) = (of_store(MemoryStore::new()), of_store(MemoryStore::new()));
    long.start::<doubled>(1).await.unwrap().result().await.unwrap();
    let mut feed = long.watch(FeedFrom::Beginning).await.unwrap();
    let cursor = until_ended(&mut feed, 1).await.last().unwrap().cursor;
    let error = short.watch(cursor).await.unwrap_err();
    assert!(matches!(error, WatchError::UnknownCursor { cursor: of, .. } if of == cursor), "{error}");
    assert!(long.watch(cursor).await.is_ok());
}

#[test]
fn outside_of_a_runtime_it_says_so() {
    let engine = of_store(MemoryStore::new());
    let error = engine.watch(FeedFrom::Now).now_or_never().expect("it waits for nothing").unwrap_err();
    assert_eq!(error, WatchError::NoRuntime);
}

#[tokio::test]
async fn a_damaged_record_is_an_error_and_the_feed_continues() {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("runs.db");
    let engine = engine(&path, 1000).await;
    for id in ["a", "b"] {
        engine.start::<doubled>(1).id(id).await.unwrap().result().await.unwrap();
    }
    let change = "UPDATE commit_log SET time = time + 1 WHERE pos = 2";
    assert_eq!(rusqlite::Connection::open(&path).unwrap().execute(change, []).unwrap(), 1);

    let mut feed = engine.watch(FeedFrom::Beginning).await.unwrap();
    let (mut events, mut errors) = (HashMap::<String, usize>::new(), Vec::new());
    while events.get("b") != Some(&engine.history("b").await.unwrap().unwrap().len()) {
        match feed.next().await.unwrap() {
            Ok(event) => *events.entry(event.event.run_id).or_default() += 1,
            Err(error) => errors.push(error),
        }
    }

    let [error] = &errors[..] else { panic!("{errors:?}") };
    assert!(matches!(&error.source, StoreError::Corrupt { message, .. } if message.contains("run `a`")), "{error}");
    assert_eq!(engine.count_runs(RunFilter::default()).await.unwrap(), 2);
}

#[tokio::test]
async fn a_filter_that_comes_late_holds_for_all_that_follows() {
    let engine = of_store(MemoryStore::new());
    let waits = engine.start::<confirmed>(1).await.unwrap();
    waits.outcome().await.unwrap();
    let run = engine.start::<doubled>(1).await.unwrap();
    run.outcome().await.unwrap();
    let mut feed = engine.watch(FeedFrom::Beginning).await.unwrap();
    assert_eq!(next(&mut feed).await.workflow, "confirmed");
    let mut feed = feed.workflow("doubled");
    let followed = until_ended(&mut feed, 1).await;
    assert!(followed.iter().all(|event| event.workflow == "doubled"), "{followed:?}");
    assert_eq!(
        followed.len(),
        engine.history(run.id()).await.unwrap().unwrap().iter().filter(|it| !it.derived).count()
    );
}
