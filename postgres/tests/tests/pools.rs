//! Nodes of pools: workers are killed while they execute them, engines leave while they wait, and a ledger outside says what was executed.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime};

use futures::StreamExt;
use graphweft::prelude::*;
use graphweft::state::Append;
use graphweft::store::Store;
use graphweft_postgres::{PostgresStore, PostgresWorker};
use graphweft_postgres_tests::workflows::{of_scene, poster, scene, stamped};
use graphweft_postgres_tests::{builder, client, fresh_schema, server, store, without_notifications};

/// One ledger for the nodes of this process, since it is named by the environment.
fn ledger() -> PathBuf {
    PathBuf::from(std::env::var_os("GRAPHWEFT_LEDGER").expect("`with_server.sh` sets it"))
}

fn lines_of(run: &str) -> Vec<(String, u128, String)> {
    let text = std::fs::read_to_string(ledger()).unwrap_or_default();
    let lines = text.lines().map(|line| line.split(' ').collect::<Vec<_>>());
    let of_run = lines.filter(|words| words[2] == run);
    of_run.map(|words| (words[0].to_owned(), words[1].parse().unwrap(), words[3].to_owned())).collect()
}

async fn until(what: &str, mut is_so: impl AsyncFnMut() -> bool) {
    let waits = async {
        while !is_so().await {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(120), waits).await.unwrap_or_else(|_| panic!("never: {what}"));
}

async fn engine_of(store: &PostgresStore) -> Engine {
    let builder = Engine::builder().executor(store.executor()).store(store.clone());
    let engine = builder.register::<scene>().register::<poster>().register::<stamped>().build().unwrap();
    engine.recover().await.unwrap();
    engine
}

async fn worker_of(store: &PostgresStore) -> PostgresWorker {
    worker_with(store, 1).await
}

async fn worker_with(store: &PostgresStore, at_once: usize) -> PostgresWorker {
    let engine = Engine::builder().register::<scene>().register::<poster>().register::<stamped>().build().unwrap();
    store.worker(engine).pool("gpu").max_concurrency(at_once.try_into().unwrap()).start().await.unwrap()
}

/// A worker in a process of its own, which is killed in the end.
struct Spawned(Child);

impl Spawned {
    fn kill(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

impl Drop for Spawned {
    fn drop(&mut self) {
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

fn spawn(schema: &str, ledger: &Path) -> Spawned {
    let worker = Command::new(env!("CARGO_BIN_EXE_pool_worker"))
        .args([&server(), schema, "2"])
        .env("GRAPHWEFT_LEDGER", ledger)
        .stdout(Stdio::null())
        .spawn();
    Spawned(worker.expect("the worker starts"))
}

#[tokio::test(flavor = "multi_thread")]
async fn workers_of_a_pool_execute_the_nodes_and_their_progress_comes_back() {
    let store = builder(&fresh_schema()).connect().await.unwrap();
    let engine = engine_of(&store).await;
    let _workers = (worker_of(&store).await, worker_of(&store).await, worker_of(&store).await);
    let run = engine.start::<scene>(7).id("progress").await.unwrap();
    let events = run.events();
    assert_eq!(run.result().await.unwrap(), of_scene(7));
    let progress = events.filter(|event| {
        let is_progress = matches!(event.kind, EventKind::Progress { .. });
        async move { is_progress }
    });
    assert_eq!(progress.count().await, 8);
    assert_eq!(lines_of("progress").iter().filter(|(what, ..)| what == "end").count(), 8);
}

#[tokio::test(flavor = "multi_thread")]
async fn nodes_are_executed_if_notifications_are_lost() {
    let schema = fresh_schema();
    let store = builder(&schema).connect().await.unwrap();
    without_notifications(&schema).await;
    let engine = engine_of(&store).await;
    let _worker = worker_of(&store).await;
    let run = engine.start::<scene>(6).id("quiet").await.unwrap();
    let result = tokio::time::timeout(Duration::from_secs(60), run.result()).await;
    assert_eq!(result.expect("all look by themselves").unwrap(), of_scene(6));
    assert_eq!(begun("quiet"), 8);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_next_engine_attaches_to_the_tasks_of_one_that_has_left() {
    let store = builder(&fresh_schema()).connect().await.unwrap();
    let first = engine_of(&store).await;
    first.start::<scene>(2).id("handed").await.unwrap();
    let worker = worker_of(&store).await;
    until("a node begins", async || !lines_of("handed").is_empty()).await;
    first.shutdown().await;
    // All of them are executed while no engine has the run.
    until("all are done", async || lines_of("handed").iter().filter(|(what, ..)| what == "end").count() == 8).await;
    worker.drain().await;
    let second = engine_of(&store).await;
    let run = second.get_run_of::<scene>("handed").await.unwrap().unwrap();
    assert_eq!(run.result().await.unwrap(), of_scene(2));
    assert_eq!(lines_of("handed").iter().filter(|(what, ..)| what == "start").count(), 8);
}

/// One that keeps no run in memory which waits, and the run `id` of `scene(3)`, which has left it, since there is no worker.
async fn engine_without(store: &PostgresStore, id: &str) -> Engine {
    let builder = Engine::builder().executor(store.executor()).store(store.clone()).max_resident_waiting(0);
    let engine = builder.register::<scene>().build().unwrap();
    engine.recover().await.unwrap();
    engine.start::<scene>(3).id(id).await.unwrap();
    engine.until_not_driven(id).await.unwrap();
    assert_eq!(store.header(id).await.unwrap().unwrap().status, RunStatus::Sleeping);
    engine
}

/// Such a run whose tasks have results, and which no engine has: nothing removes them, and nothing has taken them.
async fn executed_without_engine(store: &PostgresStore, id: &str) {
    engine_without(store, id).await.shutdown().await;
    let worker = worker_of(store).await;
    until("all are done", async || lines_of(id).iter().filter(|(what, ..)| what == "end").count() == 8).await;
    worker.drain().await;
}

fn begun(run: &str) -> usize {
    lines_of(run).iter().filter(|(what, ..)| what == "start").count()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_that_waits_for_its_pool_is_not_in_memory_and_is_resumed_by_the_results() {
    let store = builder(&fresh_schema()).connect().await.unwrap();
    let engine = engine_without(&store, "parked").await;
    let _worker = worker_of(&store).await;
    let run = engine.get_run_of::<scene>("parked").await.unwrap().unwrap();
    assert_eq!((run.result().await.unwrap(), begun("parked")), (of_scene(3), 8));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_that_is_in_no_memory_continues_on_another_engine_when_its_own_is_gone() {
    let store = builder(&fresh_schema()).connect().await.unwrap();
    executed_without_engine(&store, "moved").await;
    let other = engine_of(&store).await;
    let run = other.get_run_of::<scene>("moved").await.unwrap().unwrap();
    assert_eq!((run.result().await.unwrap(), begun("moved")), (of_scene(3), 8));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_result_that_was_announced_to_an_engine_that_is_gone_wakes_its_run_on_another_one() {
    let schema = fresh_schema();
    let store = builder(&schema).connect().await.unwrap();
    executed_without_engine(&store, "announced").await;
    // Some time ago, and the engine died before it resumed the run.
    let announced = "update node_tasks set announced = 0, done = done - interval '1 minute'";
    assert_eq!(client(&schema).await.execute(announced, &[]).await.unwrap(), 8);
    let other = engine_of(&store).await;
    let run = other.get_run_of::<scene>("announced").await.unwrap().unwrap();
    let result = tokio::time::timeout(Duration::from_secs(60), run.result()).await.expect("it wakes");
    assert_eq!(result.unwrap(), of_scene(3));
}

/// The only attempt of the run `id` is under way in a worker that executes so many at once, and the table says no longer that it is.
async fn freed_under_its_worker(id: &str, at_once: usize) {
    let schema = fresh_schema();
    let store = builder(&schema).connect().await.unwrap();
    let engine = engine_of(&store).await;
    let _worker = worker_with(&store, at_once).await;
    let run = engine.start::<poster>(1).id(id).await.unwrap();
    until("the node begins", async || begun(id) == 1).await;
    // As if it had been believed dead.
    let freed = "with freed as (update node_tasks set worker = null where worker is not null returning run)
        select tell_pools('free') from freed";
    let client = client(&schema).await;
    client.query_one(freed, &[]).await.unwrap();
    let stopped = || lines_of(id).iter().filter(|(what, ..)| what == "stopped").count();
    if at_once == 1 {
        until("it begins again", async || begun(id) == 2).await;
    }
    // The worker looks at the table meanwhile, which says that it has the task.
    tokio::time::sleep(Duration::from_millis(2500)).await;
    until("one attempt is under way", async || begun(id) == stopped() + 1).await;
    assert!(begun(id) <= 2, "{:?}", lines_of(id));
    run.cancel().await.unwrap();
    until("it hears of it", async || begun(id) == stopped()).await;
    assert!(begun(id) <= 2, "{:?}", lines_of(id));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_begins_a_task_again_that_was_freed_under_it() {
    freed_under_its_worker("freed", 1).await;
}

/// It may take it back before it hears that it was freed. Then it keeps the attempt.
#[tokio::test(flavor = "multi_thread")]
async fn a_worker_with_room_has_one_attempt_of_a_task_that_was_freed_under_it() {
    freed_under_its_worker("freed-with-room", 2).await;
}

/// What the run `id` of `poster` fails with.
async fn failure_of(run: Run<u64>) -> String {
    let failed = tokio::time::timeout(Duration::from_secs(60), run.result()).await.expect("it ends");
    failed.unwrap_err().to_string()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_task_that_was_changed_fails_its_node_and_keeps_no_others_out() {
    let schema = fresh_schema();
    let store = builder(&schema).connect().await.unwrap();
    let engine = engine_of(&store).await;
    let client = client(&schema).await;
    let tasks = async || client.query_one("select count(*) from node_tasks", &[]).await.unwrap().get::<_, i64>(0);
    let changed = engine.start::<poster>(1).id("changed").await.unwrap();
    until("it is there", async || tasks().await == 1).await;
    client.batch_execute("update node_tasks set body = replace(body, 'changed', 'exchanged')").await.unwrap();
    let other = engine.start::<scene>(5).id("beside-changed").await.unwrap();
    let _worker = worker_of(&store).await;
    let error = failure_of(changed).await;
    assert!(error.contains("of run `changed` does not match its checksum"), "{error}");
    let result = tokio::time::timeout(Duration::from_secs(60), other.result()).await;
    assert_eq!(result.expect("it is executed").unwrap(), of_scene(5));
    assert_eq!(begun("changed") + begun("exchanged"), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_result_that_was_changed_fails_its_node() {
    let schema = fresh_schema();
    let store = builder(&schema).connect().await.unwrap();
    executed_without_engine(&store, "changed-result").await;
    let change = "update node_tasks set result = replace(result, ':{', ': {')";
    client(&schema).await.batch_execute(change).await.unwrap();
    let engine = engine_of(&store).await;
    let run = engine.get_run_of::<scene>("changed-result").await.unwrap().unwrap();
    let error = failure_of(run).await;
    assert!(error.contains("the result of task"), "{error}");
    assert!(error.contains("of run `changed-result` does not match its checksum"), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_tasks_of_a_run_that_is_cancelled_outside_of_the_memory_are_removed() {
    let schema = fresh_schema();
    let store = builder(&schema).connect().await.unwrap();
    let engine = engine_without(&store, "given-up").await;
    engine.cancel("given-up").await.unwrap();
    let run = engine.get_run_of::<scene>("given-up").await.unwrap().unwrap();
    assert!(matches!(run.result().await, Err(RunError::Cancelled)));
    let _worker = worker_of(&store).await;
    let client = client(&schema).await;
    let left = async || client.query_one("select count(*) from node_tasks", &[]).await.unwrap().get::<_, i64>(0);
    until("they are gone", async || left().await == 0).await;
    assert_eq!(begun("given-up"), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_task_that_another_engine_has_cancelled_is_executed_for_the_one_that_has_its_run() {
    let schema = fresh_schema();
    let store = builder(&schema).connect().await.unwrap();
    let engine = engine_of(&store).await;
    let client = client(&schema).await;
    let tasks = async || client.query_one("select count(*) from node_tasks", &[]).await.unwrap().get::<_, i64>(0);
    let run = engine.start::<scene>(4).id("taken-over").await.unwrap();
    until("they are there", async || tasks().await == 8).await;
    // As of an engine that has lost the run: free tasks are gone, and others wait for their worker.
    client
        .batch_execute("delete from node_tasks where number <= 4; update node_tasks set cancelled = true")
        .await
        .unwrap();
    let _worker = worker_of(&store).await;
    let result = tokio::time::timeout(Duration::from_secs(60), run.result()).await;
    assert_eq!(result.expect("it has a worker").unwrap(), of_scene(4));
    assert_eq!(begun("taken-over"), 8);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_attempt_that_may_be_made_once_outlives_the_engine_of_its_run_unless_the_task_is_gone() {
    let schema = fresh_schema();
    let store = builder(&schema).connect().await.unwrap();
    let client = client(&schema).await;
    for (id, is_gone) in [("kept-once", false), ("gone-once", true)] {
        let first = engine_of(&store).await;
        first.start::<stamped>(3).id(id).await.unwrap();
        let worker = worker_of(&store).await;
        until("it begins", async || begun(id) == 1).await;
        first.shutdown().await;
        until("it is done", async || lines_of(id).iter().any(|(what, ..)| what == "end")).await;
        worker.drain().await;
        if is_gone {
            client.execute("delete from node_tasks where run = $1", &[&id]).await.unwrap();
        }
        let second = engine_of(&store).await;
        let run = second.get_run_of::<stamped>(id).await.unwrap().unwrap();
        match (run.result().await, is_gone) {
            (Ok(output), false) => assert_eq!(output, 4),
            (Err(RunError::Failed(failure)), true) => assert_eq!(failure.cause.fault, Some(Fault::Interrupted)),
            (result, _) => panic!("{result:?}"),
        }
        assert_eq!(begun(id), 1);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_attempt_that_may_be_made_once_is_interrupted_when_its_task_is_gone() {
    let schema = fresh_schema();
    let store = builder(&schema).connect().await.unwrap();
    let engine = engine_of(&store).await;
    let client = client(&schema).await;
    let run = engine.start::<poster>(1).id("gone").await.unwrap();
    until("it is gone", async || client.execute("delete from node_tasks", &[]).await.unwrap() == 1).await;
    let result = tokio::time::timeout(Duration::from_secs(60), run.result()).await.expect("it ends");
    let Err(RunError::Failed(failure)) = result else { panic!("it was interrupted") };
    assert_eq!(failure.cause.fault, Some(Fault::Interrupted));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_executor_says_that_a_run_is_not_in_its_database() {
    let store = builder(&fresh_schema()).connect().await.unwrap();
    let engine = Engine::builder().executor(store.executor()).register::<scene>().build().unwrap();
    let run = engine.start::<scene>(1).await.unwrap();
    let result = tokio::time::timeout(Duration::from_secs(60), run.result()).await.expect("it ends");
    let Err(RunError::Failed(failure)) = result else { panic!("no worker is asked") };
    let text = failure.cause.to_string();
    assert!(text.contains("its run is not in the database of its executor"), "{text}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cancelled_run_stops_its_worker() {
    let store = builder(&fresh_schema()).connect().await.unwrap();
    let engine = engine_of(&store).await;
    let _worker = worker_of(&store).await;
    let run = engine.start::<poster>(1).id("cancelled").await.unwrap();
    until("the node begins", async || !lines_of("cancelled").is_empty()).await;
    run.cancel().await.unwrap();
    assert!(matches!(run.result().await, Err(RunError::Cancelled)));
    until("it hears of it", async || lines_of("cancelled").iter().any(|(what, ..)| what == "stopped")).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_attempt_that_may_be_made_once_is_interrupted_when_its_worker_is_killed() {
    let schema = fresh_schema();
    let store = builder(&schema).connect().await.unwrap();
    let engine = engine_of(&store).await;
    let mut worker = spawn(&schema, &ledger());
    let run = engine.start::<poster>(1).id("once").await.unwrap();
    until("the node begins", async || !lines_of("once").is_empty()).await;
    worker.kill();
    let _next = worker_of(&store).await;
    let Err(RunError::Failed(failure)) = run.result().await else { panic!("it was interrupted") };
    assert_eq!(failure.cause.fault, Some(Fault::Interrupted));
    assert_eq!(lines_of("once").len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn killed_workers_lose_nothing_and_nothing_that_has_a_result_is_executed_again() {
    const RUNS: u64 = 12;
    let schema = fresh_schema();
    let store = builder(&schema).connect().await.unwrap();
    let engine = engine_of(&store).await;
    let mut workers: Vec<Spawned> = (0..3).map(|_| spawn(&schema, &ledger())).collect();
    let mut runs = Vec::new();
    for n in 0..RUNS {
        runs.push((n, engine.start::<scene>(n).id(format!("killed-{n}")).await.unwrap()));
    }
    for at in 0..8 {
        tokio::time::sleep(Duration::from_millis(250)).await;
        let worker = &mut workers[at % 3];
        worker.kill();
        *worker = spawn(&schema, &ledger());
    }
    for (n, run) in runs {
        assert_eq!(run.result().await.unwrap(), of_scene(n), "{n}");
        let mut last: HashMap<String, (u128, u32)> = HashMap::new();
        for (what, micros, path) in lines_of(run.id()) {
            let seen = last.entry(path).or_default();
            if what == "start" { seen.0 = micros } else { seen.1 += 1 }
        }
        let header = store.header(run.id()).await.unwrap().unwrap();
        let mut judged = 0;
        for stored in store.read(header.key, 0, usize::MAX).await.unwrap() {
            let (EventKind::NodeCompleted { .. }, Some((started, ended))) =
                (&stored.record.kind, last.get(&stored.record.path))
            else {
                continue;
            };
            judged += 1;
            let recorded = stored.time.duration_since(SystemTime::UNIX_EPOCH).unwrap().as_micros() + 1000;
            assert!(*started <= recorded, "{} began again after its record", stored.record.path);
            assert!(*ended > 0, "{} is recorded and has not ended", stored.record.path);
        }
        assert_eq!(judged, 8, "the ledger knows the paths");
    }
}

const SEEN: StateKey<Vec<String>, Append> = StateKey::new("seen");

#[node(pool = "gpu", retry(max_attempts = 3, initial_delay = "1ms"))]
async fn develop(
    film: String,
    ctx: &PoolContext,
    #[writes(SEEN)] seen: StateWriter<Vec<String>, Append>,
) -> Result<usize, String> {
    ctx.message(format!("attempt {}", ctx.attempt()));
    ctx.note("frames", film.len());
    seen.push(film.clone());
    match &*film {
        "" => {
            ctx.no_retry();
            Err("it is empty".to_owned())
        }
        "torn" if ctx.attempt() < 3 => Err("it is torn".to_owned()),
        _ => Ok(film.len()),
    }
}
#[node]
async fn bind(frames: Vec<usize>, #[state(SEEN)] seen: Vec<String>) -> String {
    format!("{frames:?} of {seen:?}")
}
#[node]
async fn excuse(error: String) -> usize {
    1000 + error.len()
}

workflow! { album(Vec<String>) -> String { START => [develop] => bind => END; } }
workflow! { film(String) -> usize { START => develop => <ok: END, err: excuse>; excuse => END; } }

#[tokio::test(flavor = "multi_thread")]
async fn attempts_are_repeated_take_their_arms_and_have_what_they_report_and_write_recorded() {
    let store = builder(&fresh_schema()).connect().await.unwrap();
    let engine = || Engine::builder().register::<album>().register::<film>();
    let _worker = store.worker(engine().build().unwrap()).pool("gpu").start().await.unwrap();
    let engine = engine().executor(store.executor()).store(store.clone()).build().unwrap();
    engine.recover().await.unwrap();
    let run = engine.start::<album>(vec!["torn".to_owned(), "a".to_owned()]).id("album").await.unwrap();
    let output = run.result().await.unwrap();
    assert!([r#"[4, 1] of ["torn", "a"]"#, r#"[4, 1] of ["a", "torn"]"#].contains(&&*output), "{output}");
    let records = engine.history("album").await.unwrap().unwrap();
    let count = |is_one: fn(&EventKind) -> bool| records.iter().filter(|event| is_one(&event.kind)).count();
    assert_eq!(count(|kind| matches!(kind, EventKind::NodeFailed { .. })), 2);
    assert_eq!(count(|kind| matches!(kind, EventKind::Message { .. })), 4);
    assert_eq!(count(|kind| matches!(kind, EventKind::Note { name, .. } if name == "frames")), 4);
    let run = engine.start::<film>(String::new()).id("film").await.unwrap();
    assert_eq!(run.result().await, Ok(1000 + "it is empty".len()));
    let records = engine.history("film").await.unwrap().unwrap();
    let attempts = records.iter().filter(|event| matches!(event.kind, EventKind::Message { .. }));
    assert_eq!(attempts.count(), 1, "no other one may follow");
}

struct Name(&'static str);

#[node]
async fn parts(count: u32) -> Vec<u32> {
    (0..count).collect()
}
#[node(pool = "gpu")]
async fn paint(_part: u32, #[resource] name: &Name) -> String {
    tokio::time::sleep(Duration::from_millis(50)).await;
    name.0.to_owned()
}

workflow! { wall(u32) -> Vec<String> { START => parts => [paint] => END; } }

#[tokio::test(flavor = "multi_thread")]
async fn the_items_of_one_run_are_shared_by_all_workers() {
    let store = builder(&fresh_schema()).connect().await.unwrap();
    let mut workers = Vec::new();
    for name in ["first", "second", "third"] {
        let engine = Engine::builder().register::<wall>().resource(Name(name)).build().unwrap();
        workers.push(store.worker(engine).pool("gpu").max_concurrency(1.try_into().unwrap()).start().await.unwrap());
    }
    let engine = Engine::builder().register::<wall>().executor(store.executor()).store(store.clone()).build().unwrap();
    engine.recover().await.unwrap();
    let painted = engine.start::<wall>(60).id("wall").await.unwrap().result().await.unwrap();
    assert_eq!(painted.len(), 60);
    for name in ["first", "second", "third"] {
        assert!(painted.iter().any(|by| by == name), "{name} had nothing to do: {painted:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_that_drains_ends_what_it_has_and_takes_no_more() {
    let store = builder(&fresh_schema()).connect().await.unwrap();
    let engine = engine_of(&store).await;
    let worker = worker_of(&store).await;
    let run = engine.start::<scene>(6).id("drained").await.unwrap();
    until("a node begins", async || begun("drained") > 0).await;
    worker.drain().await;
    let ended = || lines_of("drained").iter().filter(|(what, ..)| what == "end").count();
    let at_its_end = (begun("drained"), ended());
    assert_eq!(at_its_end.0, at_its_end.1, "what had begun has ended");
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert_eq!((begun("drained"), ended()), at_its_end, "nothing else begins");
    let _next = worker_of(&store).await;
    assert_eq!((run.result().await.unwrap(), begun("drained")), (of_scene(6), 8));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_result_is_kept_for_some_time_from_when_its_run_has_taken_it() {
    let schema = fresh_schema();
    let store = builder(&schema).connect().await.unwrap();
    executed_without_engine(&store, "old").await;
    let client = client(&schema).await;
    client.execute("update node_tasks set done = done - interval '1 hour'", &[]).await.unwrap();
    let other = engine_of(&store).await;
    let run = other.get_run_of::<scene>("old").await.unwrap().unwrap();
    assert_eq!(run.result().await.unwrap(), of_scene(3));
    let taken = "select count(*) from node_tasks where taken and done > now() - interval '10 minutes'";
    until("they are taken now", async || client.query_one(taken, &[]).await.unwrap().get::<_, i64>(0) == 8).await;
}

/// Tasks are added once this connection lets them.
const SLOW: &str = "
    create function waits() returns trigger language plpgsql as $$ begin
        perform pg_advisory_xact_lock_shared(hashtext(current_schema()));
        return new;
    end $$;
    create trigger waits before insert on node_tasks for each row execute function waits();
    select pg_advisory_lock(hashtext(current_schema()))";

#[tokio::test(flavor = "multi_thread")]
async fn what_is_cancelled_before_its_task_was_added_is_not_executed() {
    let schema = fresh_schema();
    let store = builder(&schema).connect().await.unwrap();
    let engine = engine_of(&store).await;
    let other = client(&schema).await;
    other.batch_execute(SLOW).await.unwrap();
    let _worker = worker_of(&store).await;
    let cancelled = engine.start::<poster>(1).id("early").await.unwrap();
    let waits = "select exists (select from pg_locks where locktype = 'advisory' and not granted and objsubid = 1
        and objid = hashtext(current_schema())::oid)";
    until("it is being added", async || other.query_one(waits, &[]).await.unwrap().get(0)).await;
    cancelled.cancel().await.unwrap();
    assert!(matches!(cancelled.result().await, Err(RunError::Cancelled)));
    tokio::time::sleep(Duration::from_millis(200)).await;
    // Else a worker would see that the run is over.
    other.batch_execute("update runs set status = 'running' where id = 'early'").await.unwrap();
    other.batch_execute("select pg_advisory_unlock(hashtext(current_schema()))").await.unwrap();
    let next = engine.start::<scene>(5).id("behind").await.unwrap();
    // It never ends.
    let result = tokio::time::timeout(Duration::from_secs(30), next.result()).await.expect("the worker is free");
    assert_eq!(result.unwrap(), of_scene(5));
    assert_eq!(begun("early"), 0);
}

/// Has its thread until it is released, whatever its time limit says.
#[node(pool = "gpu", blocking, timeout = "50ms")]
fn grind(n: u64, ctx: &PoolContext) -> u64 {
    ctx.progress(n);
    while !RELEASED.load(Ordering::Acquire) {
        std::thread::sleep(Duration::from_millis(5));
    }
    ctx.progress(n);
    n
}

static RELEASED: AtomicBool = AtomicBool::new(false);

workflow! { mill(u64) -> u64 { START => grind => END; } }

#[tokio::test(flavor = "multi_thread")]
async fn the_time_limit_of_a_body_that_blocks_is_reported_while_it_blocks() {
    let store = builder(&fresh_schema()).connect().await.unwrap();
    let engine = Engine::builder().executor(store.executor()).store(store.clone()).register::<mill>().build().unwrap();
    engine.recover().await.unwrap();
    let works = Engine::builder().register::<mill>().build().unwrap();
    let _worker = store.worker(works).pool("gpu").start().await.unwrap();
    let run = engine.start::<mill>(1).await.unwrap();
    let result = tokio::time::timeout(Duration::from_secs(20), run.result()).await;
    // The runtime of this test ends with its threads.
    RELEASED.store(true, Ordering::Release);
    let Ok(Err(RunError::Failed(failure))) = result else { panic!("it has a time limit: {result:?}") };
    assert_eq!(failure.cause.fault, Some(Fault::Timeout { after: Duration::from_millis(50) }));
}

#[node(pool = "gpu")]
async fn measure(text: String) -> usize {
    text.len()
}

workflow! { lengths(Vec<String>) -> Vec<usize> { START => [measure] => END; } }

/// The server takes no task with more than 3 MB, and no statement with more than 10 MB of them.
const LIMITS: &str = "
    alter table node_tasks add constraint is_small check (length(body) < 3000000);
    create function are_few() returns trigger language plpgsql as $$ begin
        if (select sum(length(body)) from added) > 10000000 then raise 'too much in one statement'; end if;
        return null;
    end $$;
    create trigger are_few after insert on node_tasks referencing new table as added for each statement execute function are_few()";

#[tokio::test(flavor = "multi_thread")]
async fn a_task_that_the_server_does_not_take_fails_alone_and_large_ones_come_one_after_another() {
    let schema = fresh_schema();
    let store = builder(&schema).connect().await.unwrap();
    client(&schema).await.batch_execute(LIMITS).await.unwrap();
    let engine = || Engine::builder().register::<lengths>();
    let worker = store.worker(engine().build().unwrap()).pool("gpu").start().await.unwrap();
    let engine = engine().executor(store.executor()).store(store.clone()).build().unwrap();
    engine.recover().await.unwrap();
    let megabytes = |megabytes: usize| "x".repeat(megabytes * 1_000_000);
    let large = engine.start::<lengths>(vec!["a".to_owned(), megabytes(4)]).await.unwrap();
    let many = engine.start::<lengths>(vec![megabytes(2); 8]).await.unwrap();
    let of_many = tokio::time::timeout(Duration::from_secs(60), many.result()).await.expect("they are executed");
    assert_eq!(of_many.unwrap(), [2_000_000; 8]);
    let Err(RunError::Failed(failure)) = large.result().await else { panic!("it is too large") };
    assert_eq!(failure.path, "lengths/measure[1]");
    let text = failure.cause.to_string();
    assert!(text.contains("cannot be given to pool `gpu`: ERROR") && text.contains("is_small"), "{text}");
    worker.drain().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_without_a_node_leaves_its_tasks_to_one_that_has_it() {
    let schema = fresh_schema();
    let store = builder(&schema).connect().await.unwrap();
    let client = client(&schema).await;
    let builder = Engine::builder().executor(store.executor()).store(store.clone());
    let engine = builder.register::<scene>().register::<stamped>().register::<lengths>().build().unwrap();
    engine.recover().await.unwrap();
    let once = engine.start::<stamped>(1).id("left-once").await.unwrap();
    let many = engine.start::<scene>(4).id("left").await.unwrap();
    let tasks = async || client.query_one("select count(*) from node_tasks", &[]).await.unwrap().get::<_, i64>(0);
    until("their tasks are there", async || tasks().await == 9).await;
    let lacks = Engine::builder().register::<lengths>().build().unwrap();
    let _lacks = store.worker(lacks).pool("gpu").max_concurrency(1.try_into().unwrap()).start().await.unwrap();
    // It takes the oldest tasks first, so it has refused all others when it has executed this one.
    let own = engine.start::<lengths>(vec!["abc".to_owned()]).await.unwrap();
    let result = tokio::time::timeout(Duration::from_secs(60), own.result()).await.expect("it is executed");
    assert_eq!(result.unwrap(), [3]);
    let open = "select count(*) from node_tasks where run like 'left%' and result is null and worker is null";
    assert_eq!(client.query_one(open, &[]).await.unwrap().get::<_, i64>(0), 9);
    let _has = worker_of(&store).await;
    let once = tokio::time::timeout(Duration::from_secs(60), once.result()).await.expect("it is executed").unwrap();
    let many = tokio::time::timeout(Duration::from_secs(60), many.result()).await.expect("they are executed").unwrap();
    assert_eq!((once, many), (2, of_scene(4)));
    assert_eq!((begun("left-once"), begun("left")), (1, 8));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_that_could_execute_nothing_does_not_start() {
    let store = store().await;
    let engine = || Engine::builder().register::<scene>().build().unwrap();
    let error = store.worker(engine()).start().await.unwrap_err().to_string();
    assert_eq!(error, "a worker without a pool would execute nothing; name its pools with `.pool(..)`");
    let error = store.worker(engine()).pool("gpus").start().await.unwrap_err().to_string();
    assert!(error.starts_with("no node of a registered workflow is in pool `gpus`"), "{error}");
}
