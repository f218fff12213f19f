//! An engine that is shut down in good order.

use std::future::{pending, poll_fn};
use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use futures::{FutureExt, StreamExt};
use graphweft::prelude::*;
use graphweft::store::{Append, Appended, Created, MemoryStore, NewRun, RunStatus, SqliteStore, Store, StoreError};
use graphweft::{AnswerError, Engine, EngineBuilder, EventKind, RunError, RunFilter, StartError};
use graphweft_tests::Journal;
use tokio::sync::{Notify, mpsc};

#[derive(Clone)]
struct Arrivals(mpsc::UnboundedSender<String>);

/// Parks in the first process and not in the second.
#[derive(Clone, Copy)]
struct Parks(bool);

#[node]
async fn first(n: u32, #[resource] journal: &Journal) -> u32 {
    journal.note("first");
    n + 1
}

#[node]
async fn second(
    n: u32,
    ctx: &Context,
    #[resource] journal: &Journal,
    #[resource] parks: &Parks,
    #[resource] arrivals: &Arrivals,
) -> u32 {
    journal.note("second begins");
    let _dropped = journal.when_dropped("second is dropped");
    if parks.0 {
        arrivals.0.send(ctx.path()).unwrap();
        pending::<()>().await;
    }
    n * 10
}

#[node]
async fn other(n: u32) -> u32 {
    n + 5
}

#[node]
async fn sum(a: u32, b: u32) -> u32 {
    a + b
}

workflow! { chain(u32) -> u32 { START => first => second; } }
workflow! { split(u32) -> u32 { START => first => (second, other) => sum; } }
workflow! { adding(u32) -> u32 { START => other; } }
workflow! { outer(u32) -> u32 { START => split => other; } }

struct Process {
    engine: Engine,
    journal: Journal,
    arrived: mpsc::UnboundedReceiver<String>,
}

fn process(store: impl Store, parks: Parks) -> Process {
    let (journal, (arrivals, arrived)) = (Journal::default(), mpsc::unbounded_channel());
    let builder: EngineBuilder = Engine::builder().store(store).resource(journal.clone());
    let builder = builder.resource(parks).resource(Arrivals(arrivals));
    let engine = builder.register::<chain>().register::<split>().register::<outer>().build().unwrap();
    Process { engine, journal, arrived }
}

#[tokio::test]
async fn nodes_are_dropped_and_the_run_goes_on_in_the_next_process() {
    for workflow in ["chain", "split", "outer"] {
        let store = MemoryStore::new();
        let mut process_1 = process(store.clone(), Parks(true));
        let run = process_1.engine.start_json(workflow, 1.into()).id("run").await.unwrap();
        process_1.arrived.recv().await.unwrap();

        process_1.engine.shutdown().await;

        assert_eq!(run.result().await, Err(RunError::ShutDown), "{workflow}");
        assert_eq!(process_1.journal.count("second is dropped"), 1, "{workflow}");
        let header = store.header("run").await.unwrap().unwrap();
        assert_eq!((header.status, header.owner), (RunStatus::Running, None), "{workflow}");

        let process_2 = process(store, Parks(false));
        let recovery = process_2.engine.recover().await.unwrap();
        assert_eq!(recovery.resumed.len(), 1, "{workflow}");
        let expected = if workflow == "chain" { 20 } else { 27 + u32::from(workflow == "outer") * 5 };
        assert_eq!(recovery.resumed[0].result().await.unwrap(), expected, "{workflow}");
        assert_eq!(process_2.journal.lines(), ["second begins", "second is dropped"], "{workflow}");
    }
}

#[tokio::test]
async fn nothing_starts_afterwards_and_nothing_is_left_in_the_store() {
    let store = MemoryStore::new();
    let process = process(store.clone(), Parks(false));
    process.engine.shutdown().await;

    let refused = process.engine.start::<chain>(1).id("late").await.unwrap_err();

    assert!(matches!(refused, StartError::ShutDown), "{refused}");
    assert!(store.header("late").await.unwrap().is_none());
}

/// Both engines have the file open to the end.
#[tokio::test]
async fn a_file_whose_last_engine_was_shut_down_is_whole_without_its_log() {
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name);
    let of_log = || std::fs::metadata(path("runs.db-wal")).unwrap().len();
    let open = || SqliteStore::open(path("runs.db"));
    let (first, second) = (process(open().await.unwrap(), Parks(false)), process(open().await.unwrap(), Parks(false)));
    for (engine, id) in [(&first.engine, "a"), (&second.engine, "b")] {
        engine.start::<chain>(1).id(id).await.unwrap().result().await.unwrap();
    }

    first.engine.shutdown().await;
    assert!(of_log() > 0, "the other engine writes to it");
    second.engine.shutdown().await;

    assert_eq!(of_log(), 0);
    std::fs::copy(path("runs.db"), path("copy.db")).unwrap();
    let copy = process(SqliteStore::open(path("copy.db")).await.unwrap(), Parks(false));
    for id in ["a", "b"] {
        assert_eq!(copy.engine.get_run_of::<chain>(id).await.unwrap().unwrap().result().await.unwrap(), 20);
    }
    // What is recorded after that is in the log again.
    second.engine.delete_run("a").await.unwrap();
    assert!(of_log() > 0);
}

/// The engine that has the run is alive, and does not move.
#[test]
fn an_answer_that_is_recorded_when_the_engine_is_shut_down_is_unread() {
    let store = MemoryStore::new();
    let engine = || Engine::builder().store(store.clone()).register::<asking>().build().unwrap();
    let runtime = || tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let stopped = runtime();
    let _owner = stopped.block_on(async {
        let owner = engine();
        owner.start::<asking>(()).id("run").await.unwrap().outcome().await.unwrap();
        owner
    });
    runtime().block_on(async {
        let engine = engine();
        let answering = engine.clone();
        let answered = tokio::spawn(async move { answering.answer("run", "amount", 3).await });
        let is_recorded = async || {
            let history = engine.history("run").await.unwrap().unwrap();
            history.iter().any(|event| matches!(event.kind, EventKind::Answered { .. }))
        };
        while !is_recorded().await {
            tokio::task::yield_now().await;
        }
        engine.shutdown().await;
        let refused = soon(answered).await.unwrap().unwrap_err();
        assert!(matches!(refused, AnswerError::Unread { .. }), "{refused}");
    });
}

/// A store that is slow to create a run.
struct SlowToCreate {
    inner: MemoryStore,
    came: Arc<Notify>,
    goes_on: Arc<Notify>,
}

impl Store for SlowToCreate {
    graphweft_tests::forward_store! {
        join leave append start_over read header count overview open_questions list delete reserve_task claim is_alive
        is_served is_shared feed feed_end graph logs
    }

    fn create(&self, run: NewRun) -> BoxFuture<'_, Result<Created, StoreError>> {
        Box::pin(async {
            let created = self.inner.create(run).await;
            self.came.notify_one();
            self.goes_on.notified().await;
            created
        })
    }
}

#[tokio::test]
async fn a_run_that_was_recorded_when_the_engine_was_shut_down_is_started() {
    let inner = MemoryStore::new();
    let (came, goes_on) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let slow = SlowToCreate { inner: inner.clone(), came: Arc::clone(&came), goes_on: Arc::clone(&goes_on) };
    let engine = Engine::builder().store(slow).register::<adding>().build().unwrap();
    let starting = engine.clone();
    let started = tokio::spawn(async move { starting.start::<adding>(1).id("run").await });
    came.notified().await;
    soon(engine.shutdown()).await;
    goes_on.notify_one();

    let run = started.await.unwrap().unwrap();
    assert_eq!(run.id(), "run");
    assert_eq!(soon(run.result()).await, Err(RunError::ShutDown));
    let next = Engine::builder().store(inner).register::<adding>().build().unwrap();
    next.recover().await.unwrap();
    assert_eq!(next.get_run_of::<adding>("run").await.unwrap().unwrap().result().await, Ok(6));
}

#[tokio::test]
async fn an_engine_with_nothing_to_stop_is_shut_down_twice() {
    let process = process(MemoryStore::new(), Parks(false));
    assert_eq!(process.engine.start::<chain>(1).await.unwrap().result().await, Ok(20));

    process.engine.shutdown().await;
    process.engine.shutdown().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_file_keeps_no_trace_of_the_engine() {
    let directory = tempfile::tempdir().unwrap();
    let store = SqliteStore::open(directory.path().join("runs.db")).await.unwrap();
    let mut process = process(store, Parks(true));
    process.engine.start::<split>(1).await.unwrap();
    process.arrived.recv().await.unwrap();

    process.engine.shutdown().await;

    let files = std::fs::read_dir(directory.path()).unwrap().map(|file| file.unwrap().file_name());
    let owners: Vec<_> = files.filter(|name| name.to_string_lossy().contains("owner")).collect();
    assert!(owners.is_empty(), "{owners:?}");
}

async fn soon<T>(future: impl Future<Output = T>) -> T {
    tokio::time::timeout(std::time::Duration::from_secs(20), future).await.expect("it ends soon")
}

#[node]
async fn asks(ctx: &Context) -> u32 {
    ctx.ask::<u32>("amount", "How much?").await
}

workflow! { asking(()) -> u32 { START => asks; } }

/// How the program gives its engine up.
#[derive(Clone, Copy, Debug)]
enum End {
    IsShutDown,
    IsDropped,
}

impl End {
    async fn of(self, engine: Engine) {
        match self {
            End::IsShutDown => engine.shutdown().await,
            End::IsDropped => drop(engine),
        }
    }
}

/// As of a server that sends them to a client for as long as there are any.
#[tokio::test]
async fn events_of_the_run_of_another_engine_end_with_the_own_engine() {
    for end in [End::IsShutDown, End::IsDropped] {
        let store = MemoryStore::new();
        let mut other = process(store.clone(), Parks(true));
        other.engine.start::<chain>(1).id("run").await.unwrap();
        other.arrived.recv().await.unwrap();
        let engine = process(store.clone(), Parks(true)).engine;
        let run = engine.get_run("run").await.unwrap().unwrap();
        let mut events = run.events();
        // All that is recorded, so that it waits for more.
        let recorded = store.header("run").await.unwrap().unwrap().records;
        for _ in 0..recorded {
            soon(events.next()).await.unwrap();
        }
        let more = tokio::spawn(async move { events.next().await });
        tokio::task::yield_now().await;

        end.of(engine).await;

        assert_eq!(soon(more).await.unwrap(), None, "{end:?}");
        assert_eq!(soon(run.events().next()).await.map(|first| first.seq), Some(0), "what is recorded is still read");
    }
}

#[tokio::test]
async fn who_waits_for_the_run_of_another_engine_hears_that_the_own_one_is_shut_down() {
    for end in [End::IsShutDown, End::IsDropped] {
        let store = MemoryStore::new();
        let mut other = process(store.clone(), Parks(true));
        other.engine.start::<chain>(1).id("run").await.unwrap();
        other.arrived.recv().await.unwrap();
        let engine = process(store, Parks(true)).engine;
        let run = engine.get_run("run").await.unwrap().unwrap();
        let waits = tokio::spawn(async move { run.outcome().await });
        tokio::task::yield_now().await;

        end.of(engine).await;

        if matches!(end, End::IsDropped) {
            // The other has the run, and a handle follows it there.
            assert!(!waits.is_finished());
            other.engine.shutdown().await;
        }
        assert_eq!(soon(waits).await.unwrap(), Err(RunError::ShutDown), "{end:?}");
    }
}

#[tokio::test]
async fn events_of_its_own_runs_end_when_an_engine_is_shut_down() {
    let engine = Engine::builder().register::<asking>().build().unwrap();
    let run = engine.start::<asking>(()).await.unwrap();
    assert!(matches!(soon(run.outcome()).await, Ok(Outcome::Waiting(_))));
    let events = tokio::spawn(run.events().count());
    tokio::task::yield_now().await;

    engine.shutdown().await;

    assert_eq!(soon(events).await.unwrap(), 3);
}

#[tokio::test]
async fn a_dropped_engine_executes_its_runs_to_their_ends_and_their_events_are_seen() {
    let engine = Engine::builder().register::<asking>().build().unwrap();
    let run = engine.start::<asking>(()).await.unwrap();
    drop(engine);
    assert!(matches!(soon(run.outcome()).await, Ok(Outcome::Waiting(_))));
    let events = tokio::spawn(run.events().count());
    run.answer("amount", 7).await.unwrap();

    assert_eq!(soon(run.result()).await, Ok(7));
    assert_eq!(soon(events).await.unwrap(), 6);
}

/// Neither a handle nor a stream keeps it: what waits outside of the memory is free for the next engine.
#[tokio::test]
async fn a_dropped_engine_releases_the_runs_that_it_does_not_execute() {
    let store = MemoryStore::new();
    let builder = Engine::builder().store(store.clone()).register::<asking>().max_resident_waiting(0);
    let engine = builder.build().unwrap();
    let run = engine.start::<asking>(()).id("run").await.unwrap();
    let events = run.events();
    while engine.clone().list_runs(RunFilter::default()).await.unwrap()[0].status != RunStatus::Waiting {
        tokio::task::yield_now().await;
    }

    drop(engine);

    assert_eq!(soon(events.count()).await, 3);
    assert!(matches!(soon(run.result()).await, Err(RunError::Waiting { .. })), "what is recorded is still read");
    assert_eq!(store.header("run").await.unwrap().unwrap().owner, None);
    let next = Engine::builder().store(store).register::<asking>().build().unwrap();
    next.answer("run", "amount", 7).await.unwrap();
    assert_eq!(soon(next.get_run("run").await.unwrap().unwrap().result()).await, Ok(7.into()));
}

#[test]
fn what_a_dropped_runtime_does_to_the_tasks_of_a_node_is_not_recorded() {
    const ROUNDS: usize = 100;
    #[node]
    async fn spawns(ctx: &Context) -> u32 {
        let asks = |at: usize| {
            let ctx = ctx.clone();
            tokio::spawn(async move { ctx.ask::<u32>(format!("{at}"), "?").await })
        };
        let asked: Vec<_> = (0..20).map(asks).collect();
        let mut answers = std::pin::pin!(async move {
            let mut sum = 0;
            for answer in asked.into_iter().rev() {
                sum += answer.await.expect("nobody stops it");
            }
            sum
        });
        // Its run is being polled whenever the runtime stops.
        poll_fn(|waker| {
            waker.waker().wake_by_ref();
            answers.as_mut().poll(waker)
        })
        .await
    }
    workflow! { spawning(()) -> u32 { START => spawns; } }
    for round in 0..ROUNDS {
        let store = MemoryStore::new();
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(4).enable_all().build().unwrap();
        runtime.block_on(async {
            let engine = Engine::builder().store(store.clone()).build().unwrap();
            let run = engine.start::<spawning>(()).id("run").await.unwrap();
            while run.questions().await.unwrap().len() < 20 {
                tokio::task::yield_now().await;
            }
        });
        drop(runtime);

        let key = graphweft_tests::life(store.header("run")).unwrap().unwrap().key;
        let records = graphweft_tests::life(store.read(key, 0, usize::MAX)).unwrap();
        let of_the_end = |kind: &EventKind| {
            matches!(kind, EventKind::NodeFailed { .. } | EventKind::RunFailed { .. } | EventKind::RequestWithdrawn)
        };
        let recorded: Vec<_> = records.iter().filter(|stored| of_the_end(&stored.record.kind)).collect();
        assert!(recorded.is_empty(), "round {round}: {recorded:?}");
    }
}

/// A store that takes longer for a commit than its nodes.
#[derive(Clone)]
struct Slow {
    inner: MemoryStore,
}

impl Store for Slow {
    graphweft_tests::forward_store! {
        join leave create start_over read header list count overview open_questions delete reserve_task claim is_alive is_served
        is_shared feed feed_end graph logs keeps_snapshots put_snapshot snapshot
    }

    fn append(&self, batch: Append) -> BoxFuture<'static, Result<Appended, StoreError>> {
        let appended = self.inner.append(batch);
        async move {
            tokio::time::sleep(Duration::from_millis(30)).await;
            appended.await
        }
        .boxed()
    }
}

#[node]
async fn numbers(n: u32) -> Vec<u32> {
    (0..n).collect()
}

#[node]
async fn quick(n: u32, #[resource] journal: &Journal) -> u32 {
    journal.note("returns");
    n
}

#[node(at_most_once)]
async fn once(n: u32, #[resource] journal: &Journal) -> u32 {
    journal.note("returns");
    n
}

#[node]
async fn holds(all: Vec<u32>, ctx: &Context) -> usize {
    ctx.ask::<bool>("go", "?").await;
    all.len()
}

workflow! { many(u32) -> usize { START => numbers => [quick] => holds; } }
workflow! { many_once(u32) -> usize { START => numbers => [once] => holds; } }

/// However many they are, and however long it takes to record them.
async fn what_has_returned_is_not_executed_again<W>(items: u32)
where
    W: graphweft::Workflow<Input = u32, Output = usize>,
{
    let (store, journal) = (Slow { inner: MemoryStore::new() }, Journal::default());
    let engine = || {
        let builder = Engine::builder().store(store.clone()).resource(journal.clone());
        builder.register::<W>().build().unwrap()
    };
    let first = engine();
    first.start::<W>(items).id("run").await.unwrap();
    while journal.count("returns") < items as usize {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    tokio::time::sleep(Duration::from_millis(10)).await;
    first.shutdown().await;

    let second = engine();
    second.recover().await.unwrap();
    let run = second.get_run_of::<W>("run").await.unwrap().unwrap();
    while let Outcome::Waiting(_) = run.outcome().await.unwrap() {
        second.answer("run", "go", true).await.unwrap();
    }
    assert_eq!(run.result().await.unwrap(), items as usize);
    assert_eq!(journal.count("returns"), items as usize);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn outputs_that_many_items_have_returned_are_recorded() {
    what_has_returned_is_not_executed_again::<many>(1000).await;
    what_has_returned_is_not_executed_again::<many_once>(1000).await;
}
