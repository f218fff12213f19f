//! Runs of engines that die, are stopped, drain or are cut off, each by a mistake that another system made there; and engines of two
//! versions over one database.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime};

use graphweft::prelude::*;
use graphweft::store::{Append, Appended, Claim, NewRun, Record, RunQuery, Store, StoreError};
use graphweft::{EventKind, json};
use graphweft_postgres::PostgresStore;
use graphweft_postgres_tests::server::Server;
use graphweft_postgres_tests::workflows::waits;
use graphweft_postgres_tests::{builder, client, fresh_schema, server};
use tokio::runtime::Runtime;

#[node]
async fn review(ctx: &Context) -> bool {
    ctx.ask("approve", "Ship it?").await
}

static IS_BLOCKED: AtomicBool = AtomicBool::new(false);
static IS_RELEASED: AtomicBool = AtomicBool::new(false);

/// Nothing is blocked any more when it is dropped.
struct Release;

impl Drop for Release {
    fn drop(&mut self) {
        IS_RELEASED.store(true, Ordering::Relaxed);
    }
}

/// Blocks its thread the first time, which nothing can stop.
#[node]
async fn block(n: u64) -> u64 {
    let begun = Instant::now();
    let is_first = !IS_BLOCKED.swap(true, Ordering::Relaxed);
    // Not for ever, if the test fails.
    while is_first && !IS_RELEASED.load(Ordering::Relaxed) && begun.elapsed() < Duration::from_secs(30) {
        std::thread::sleep(Duration::from_millis(10));
    }
    n + 1
}

workflow! { pub publish(()) -> bool { START => review; review => END; } }
workflow! { pub stuck(u64) -> u64 { START => block; block => END; } }

/// A process with an engine and so many runs of `waits`, which is killed in the end.
struct Worker {
    process: Child,
    /// It prints what it does, and would end if nothing read that.
    _output: BufReader<ChildStdout>,
}

impl Worker {
    /// One that has started its runs.
    fn begun(server: &str, schema: &str, runs: u64, millis: u64) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_waiting_worker"));
        command.args([server, schema, "run", &runs.to_string(), &millis.to_string()]);
        let mut process = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("the worker starts");
        process.stdin.as_mut().unwrap().write_all(b"\n").unwrap();
        let mut lines = BufReader::new(process.stdout.take().unwrap());
        for expected in ["ready\n", "started\n"] {
            let mut line = String::new();
            lines.read_line(&mut line).unwrap();
            assert_eq!(line, expected);
        }
        Worker { process, _output: lines }
    }

    fn signal(&self, signal: &str) {
        let killed = Command::new("kill").args([format!("-{signal}"), self.process.id().to_string()]).status();
        assert!(killed.expect("`kill` is there").success());
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        drop(self.process.kill());
        drop(self.process.wait());
    }
}

/// Waits for what comes soon.
async fn until(what: &str, mut is_so: impl AsyncFnMut() -> bool) {
    let waited = tokio::time::timeout(Duration::from_secs(60), async {
        while !is_so().await {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    });
    waited.await.unwrap_or_else(|_| panic!("not so: {what}"));
}

async fn all_complete(store: &PostgresStore, runs: u64) {
    let completed = async || {
        let mut query = RunQuery::default();
        query.status = vec![RunStatus::Completed];
        store.count(query).await.is_ok_and(|completed| completed == runs)
    };
    until("all runs complete", completed).await;
}

/// How many records each run has, after it was seen that each node has completed once, and has not begun after that.
async fn lengths(store: &PostgresStore, runs: u64) -> Vec<u64> {
    let mut lengths = Vec::new();
    for n in 0..runs {
        let header = store.header(&format!("run-{n}")).await.unwrap().unwrap();
        let mut completed: HashMap<String, u32> = HashMap::new();
        for stored in store.read(header.key, 0, usize::MAX).await.unwrap() {
            let path = stored.record.path;
            match stored.record.kind {
                EventKind::NodeStarted { .. } => {
                    assert!(!completed.contains_key(&path), "{path} of run {n} begins again")
                }
                EventKind::NodeCompleted { .. } => *completed.entry(path).or_default() += 1,
                _ => {}
            }
        }
        assert!(completed.len() == 4 && completed.values().all(|times| *times == 1), "run {n}: {completed:?}");
        lengths.push(header.records);
    }
    lengths
}

fn engine_of(store: &PostgresStore) -> Engine {
    let builder = Engine::builder().store(store.clone());
    builder.register::<waits>().register::<publish>().register::<stuck>().build().unwrap()
}

/// dbos-transact-py#453: what a dead executor had stays pending, until an operator or a service that is paid for assigns it.
#[tokio::test(flavor = "multi_thread")]
async fn the_work_of_a_dead_executor_does_not_stay() {
    const RUNS: u64 = 16;
    let schema = fresh_schema();
    let store = builder(&schema).connect().await.unwrap();
    let engine = engine_of(&store);
    engine.recover().await.unwrap();

    drop(Worker::begun(&server(), &schema, RUNS, 300));

    all_complete(&store, RUNS).await;
    lengths(&store, RUNS).await;
    engine.shutdown().await;
}

/// dbos-transact-py#716: what was about to be recovered when the database restarted is lost.
#[tokio::test(flavor = "multi_thread")]
async fn a_restart_of_the_database_during_recovery_loses_nothing() {
    const RUNS: u64 = 30;
    let (mut database, schema) = (Server::start(), fresh_schema());
    let store = PostgresStore::builder(&database.address()).schema(&schema).connect().await.unwrap();
    drop(Worker::begun(&database.address(), &schema, RUNS, 200));
    let engine = engine_of(&store);
    let recovering = engine.clone();
    // A program that starts is started again until it can.
    let recovered = tokio::spawn(async move { while recovering.recover().await.is_err() {} });
    // While it takes runs over, and while it drives the first ones.
    for pause in [0, 40, 400] {
        tokio::time::sleep(Duration::from_millis(pause)).await;
        tokio::task::block_in_place(|| database.crash());
    }
    recovered.await.unwrap();

    all_complete(&store, RUNS).await;
    lengths(&store, RUNS).await;
    engine.shutdown().await;
}

/// For longer than statements are tried again: its runs stop, and nothing but the engine that has them resumes them.
#[tokio::test(flavor = "multi_thread")]
async fn an_engine_whose_database_was_away_resumes_its_own_runs() {
    const RUNS: u64 = 8;
    let (mut database, schema) = (Server::start(), fresh_schema());
    let store = PostgresStore::builder(&database.address()).schema(&schema).connect().await.unwrap();
    let engine = engine_of(&store);
    engine.recover().await.unwrap();
    let asks = engine.start::<publish>(()).id("poem").await.unwrap();
    asks.outcome().await.unwrap();
    for n in 0..RUNS {
        engine.start::<waits>(1_000).id(format!("run-{n}")).await.unwrap();
    }

    tokio::task::block_in_place(|| database.crash_for(Duration::from_secs(8)));

    all_complete(&store, RUNS).await;
    lengths(&store, RUNS).await;
    let records = engine.history("run-0").await.unwrap().unwrap();
    assert!(records.iter().any(|event| matches!(event.kind, EventKind::RunResumed { .. })), "{records:?}");
    engine.answer("poem", "approve", true).await.unwrap();
    assert!(asks.result().await.unwrap());
    engine.shutdown().await;
}

/// dbos-transact-py#804: an executor that drains takes work in the name that its successor has too, and does not do it.
#[test]
fn a_draining_executor_of_the_same_name_strands_no_work() {
    let schema = fresh_schema();
    let release = Release;
    // The same program twice, as two processes: a thread that is blocked in the one does not hold up the other. The store names each engine.
    let (one, other) = (Runtime::new().unwrap(), Runtime::new().unwrap());
    let engine = async || {
        let engine = engine_of(&builder(&schema).connect().await.unwrap());
        engine.recover().await.unwrap();
        engine
    };
    let (draining, next) = (one.block_on(engine()), other.block_on(engine()));
    other.block_on(async {
        let third = engine_of(&builder(&schema).connect().await.unwrap());
        third.start::<publish>(()).id("free").await.unwrap().outcome().await.unwrap();
        third.shutdown().await;
    });
    one.block_on(async {
        draining.start::<publish>(()).id("poem").await.unwrap().outcome().await.unwrap();
        let engine = draining.clone();
        // In a task of its own, whose thread it blocks.
        tokio::spawn(async move { drop(engine.start::<stuck>(1).id("stuck").await) });
    });
    // Not by a timer of its runtime, which may be at the thread that is blocked.
    while !IS_BLOCKED.load(Ordering::Relaxed) {
        std::thread::sleep(Duration::from_millis(10));
    }

    let engine = draining.clone();
    let shutdown = one.spawn(async move { engine.shutdown().await });

    // Nothing that comes while it drains waits for it: neither a new run, nor one without an owner that is answered now.
    other.block_on(async {
        let soon = Duration::from_secs(15);
        next.start::<publish>(()).id("new").await.unwrap().outcome().await.unwrap();
        for id in ["new", "free"] {
            next.answer(id, "approve", true).await.unwrap();
            let run = next.get_run_of::<publish>(id).await.unwrap().unwrap();
            assert!(tokio::time::timeout(soon, run.result()).await.expect("it is not stranded").unwrap());
        }
    });
    assert!(!shutdown.is_finished());
    assert!(one.block_on(draining.start::<publish>(()).into_future()).is_err(), "it takes no work");

    drop(release);
    one.block_on(shutdown).unwrap();
    other.block_on(async {
        let stuck = next.get_run_of::<stuck>("stuck").await.unwrap().unwrap();
        assert_eq!(stuck.result().await.unwrap(), 2);
        // What it had until its end is continued too.
        next.answer("poem", "approve", true).await.unwrap();
        assert!(next.get_run_of::<publish>("poem").await.unwrap().unwrap().result().await.unwrap());
        next.shutdown().await;
    });
}

/// dbos-transact-py#742: an executor that has lost a run executes it all the same, and records that.
#[tokio::test(flavor = "multi_thread")]
async fn a_stale_claimant_records_nothing() {
    const RUNS: u64 = 8;
    let schema = fresh_schema();
    let store = builder(&schema).connect().await.unwrap();
    let stale = Worker::begun(&server(), &schema, RUNS, 700);
    stale.signal("STOP");
    let engine = engine_of(&store);
    engine.recover().await.unwrap();
    // When its lease has ended.
    all_complete(&store, RUNS).await;
    let before = lengths(&store, RUNS).await;

    stale.signal("CONT");

    // What it was about to record when it was stopped, it tries now.
    tokio::time::sleep(Duration::from_secs(3)).await;
    assert_eq!(lengths(&store, RUNS).await, before);
    drop(stale);
    engine.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn records_of_an_owner_that_was_taken_from_are_refused() {
    let schema = fresh_schema();
    let (mine, other) = (builder(&schema).connect().await.unwrap(), builder(&schema).connect().await.unwrap());
    let (stale, next) =
        (mine.join(vec!["pay".to_owned()]).await.unwrap(), other.join(vec!["pay".to_owned()]).await.unwrap());
    let mut run = NewRun::new("order-7", "pay", (1, json!({})).into(), SystemTime::now());
    run.owner = Some(stale);
    mine.create(run).await.unwrap();
    let key = mine.header("order-7").await.unwrap().unwrap().key;
    // As its lease does when its process is stopped.
    client(&schema)
        .await
        .batch_execute("update owners set expires = now(), beat = '-infinity' where id = 1")
        .await
        .unwrap();

    let claimed = other.claim(Claim::new(next, vec!["pay".to_owned()], SystemTime::now())).await.unwrap();

    assert_eq!(claimed.runs.iter().map(|run| &*run.id).collect::<Vec<_>>(), ["order-7"]);
    let record = Record::new("pay", EventKind::CancelRequested);
    let late = mine.append(Append::new(key, 0, SystemTime::now(), vec![record])).await.unwrap();
    assert_eq!(late, Appended::Conflict);
    assert_eq!(mine.header("order-7").await.unwrap().unwrap().owner, Some(next));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_engine_continues_when_a_newer_version_converts_the_tables_under_it_and_one_that_starts_is_refused() {
    let schema = fresh_schema();
    let store = builder(&schema).connect().await.unwrap();
    let yesterday = engine_of(&store);
    yesterday.recover().await.unwrap();
    let poem = yesterday.start::<publish>(()).id("poem").await.unwrap();
    poem.outcome().await.unwrap();
    let at_work = yesterday.start::<waits>(200).await.unwrap();

    // What a step to another format may do, and in the way in which it is made: new tables, and new columns that have a default.
    let client = client(&schema).await;
    let step = "begin;
         set local lock_timeout = '300ms';
         alter table runs add column later bigint;
         alter table journal add column later bigint not null default 0;
         alter table owners add column later text;
         alter table questions add column later text;
         create table later (id bigint primary key);
         update meta set format = format + 1;
         commit";
    while client.batch_execute(step).await.is_err() {
        client.batch_execute("rollback").await.unwrap();
    }

    assert_eq!(at_work.result().await.unwrap(), 200);
    yesterday.answer("poem", "approve", true).await.unwrap();
    assert!(poem.result().await.unwrap());
    assert_eq!(yesterday.start::<waits>(1).await.unwrap().result().await.unwrap(), 1);
    // Also with connections that it makes anew.
    client.batch_execute("select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'graphweft' and pid in (
        select pid from pg_locks where locktype = 'advisory' and objsubid = 2 and objid <> 0 and classid = owner_locks()::oid
    )").await.unwrap();
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(yesterday.start::<waits>(1).await.unwrap().result().await.unwrap(), 1);

    let error = builder(&schema).connect().await.unwrap_err();
    assert!(matches!(error, StoreError::NewerFormat { .. }), "{error:?}");
    assert!(error.to_string().contains(&format!("`{schema}` has a newer format, ")), "{error}");
    yesterday.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn tables_of_earlier_formats_are_converted() {
    const TO_3: &str = "alter table meta drop column system; update meta set format = 3";
    const TO_2: &str = "drop table node_tasks; drop function tell_pools; update meta set format = 2";
    const TO_1: &str = "alter table owners drop column mark, drop column renewals; update meta set format = 1";
    for back in [TO_3.to_owned(), format!("{TO_3}; {TO_2}"), format!("{TO_3}; {TO_2}; {TO_1}")] {
        let schema = fresh_schema();
        drop(builder(&schema).connect().await.unwrap());
        client(&schema).await.batch_execute(&back).await.unwrap();

        let engine = engine_of(&builder(&schema).connect().await.unwrap());

        engine.recover().await.unwrap();
        assert_eq!(engine.start::<waits>(1).await.unwrap().result().await.unwrap(), 1);
        engine.shutdown().await;
    }
}

static BLOCKED: AtomicU64 = AtomicU64::new(0);

#[node(at_most_once)]
async fn blocks(n: u64) -> u64 {
    BLOCKED.fetch_add(1, Ordering::SeqCst);
    std::thread::sleep(Duration::from_secs(6));
    n + 1
}

workflow! { pub blocking(u64) -> u64 { START => blocks; } }

/// For longer than its lease.
#[tokio::test(flavor = "multi_thread")]
async fn an_engine_whose_nodes_block_all_its_threads_keeps_its_runs() {
    let schema = fresh_schema();
    let engine = async |schema: &str| {
        let store = builder(schema).connect().await.unwrap();
        let engine = Engine::builder().store(store).register::<blocking>().build().unwrap();
        engine.recover().await.unwrap();
        engine
    };
    let other = engine(&schema).await;
    let blocked = std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let engine = engine(&schema).await;
            engine.start::<blocking>(1).id("blocks").await.unwrap().result().await
        })
    });
    let blocked = tokio::task::spawn_blocking(|| blocked.join().unwrap()).await.unwrap();
    assert_eq!(blocked, Ok(2));
    assert_eq!(BLOCKED.load(Ordering::SeqCst), 1);
    let history = other.history("blocks").await.unwrap().unwrap();
    assert!(!history.iter().any(|event| matches!(event.kind, EventKind::RunResumed { .. })), "{history:#?}");
}

#[node]
async fn naps(n: u64) -> u64 {
    tokio::time::sleep(Duration::from_secs(1)).await;
    n + 1
}

workflow! { pub napping(u64) -> u64 { START => naps; } }

/// It is there, and executes nothing.
#[tokio::test(flavor = "multi_thread")]
async fn an_engine_whose_runtime_is_gone_keeps_no_run() {
    let schema = fresh_schema();
    let engine = async |schema: &str| {
        let store = builder(schema).connect().await.unwrap();
        Engine::builder().store(store).register::<napping>().build().unwrap()
    };
    let other = engine(&schema).await;
    other.recover().await.unwrap();
    let without_runtime = std::thread::spawn(move || {
        let runtime = Runtime::new().unwrap();
        runtime.block_on(async {
            let engine = engine(&schema).await;
            engine.start::<napping>(1).id("naps").await.unwrap();
            engine
        })
    });
    let without_runtime = tokio::task::spawn_blocking(|| without_runtime.join().unwrap()).await.unwrap();
    let run = other.get_run_of::<napping>("naps").await.unwrap().unwrap();
    let result = tokio::time::timeout(Duration::from_secs(30), run.result()).await;
    assert_eq!(result.expect("it is taken over"), Ok(2));
    drop(without_runtime);
}
