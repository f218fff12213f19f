//! A store is away, or has no room, for some time: what that has stopped is resumed without a word of the program.

use std::sync::atomic::AtomicU32;

use graphweft::scope::{ScopeError, USER, User};
use graphweft::state::Sum;
use graphweft::store::{Claim, Claimed, LogAppended, LogEntry, LogStore, NewLogEntry};

use super::*;

#[derive(Clone, Default)]
struct Away {
    inner: MemoryStore,
    is_away: Arc<AtomicBool>,
    /// It is on a full disk, and not away.
    is_full: bool,
    /// The next run is added, and nothing says so.
    loses_reply: Arc<AtomicBool>,
    has_lost: Arc<AtomicBool>,
    /// The logs alone cannot be used: as if each time that they are, a connection was lost.
    logs_are_away: Arc<AtomicBool>,
    /// Snapshots of logs alone cannot be written.
    snapshots_are_away: Arc<AtomicBool>,
}

impl Away {
    fn answer<T: Send + 'static>(
        &self,
        answer: BoxFuture<'static, Result<T, StoreError>>,
    ) -> BoxFuture<'static, Result<T, StoreError>> {
        match self.is_away.load(Ordering::SeqCst) {
            true if self.is_full => async { Err(full()) }.boxed(),
            true => async { Err(away()) }.boxed(),
            false => answer,
        }
    }
}

fn away() -> StoreError {
    StoreError::Unreachable { server: "the database".to_owned(), message: "nothing listens".to_owned() }
}

fn full() -> StoreError {
    StoreError::Full { path: PathBuf::from("runs.db"), message: "database or disk is full".to_owned() }
}

impl Store for Away {
    graphweft_tests::forward_store! {
        join leave header list count overview open_questions delete reserve_task start_over is_alive is_served feed feed_end graph
        keeps_snapshots put_snapshot snapshot
    }

    fn logs(&self) -> Option<Arc<dyn LogStore>> {
        Some(Arc::new(AwayLogs { inner: self.inner.logs()?, store: self.clone() }))
    }

    fn read(&self, run: RunKey, from: u64, limit: usize) -> BoxFuture<'_, Result<Vec<Stored>, StoreError>> {
        let inner = self.inner.clone();
        self.answer(async move { inner.read(run, from, limit).await }.boxed())
    }

    fn create(&self, run: NewRun) -> BoxFuture<'_, Result<Created, StoreError>> {
        let created = self.inner.create(run);
        match self.loses_reply.swap(false, Ordering::SeqCst) {
            true => created.map(|_| Err(away())).boxed(),
            false => created,
        }
    }

    fn append(&self, batch: Append) -> BoxFuture<'static, Result<Appended, StoreError>> {
        let inner = self.inner.clone();
        self.answer(async move { inner.append(batch).await }.boxed())
    }

    fn claim(&self, claim: Claim) -> BoxFuture<'_, Result<Claimed, StoreError>> {
        let inner = self.inner.clone();
        self.answer(async move { inner.claim(claim).await }.boxed())
    }
}

struct AwayLogs {
    inner: Arc<dyn LogStore>,
    store: Away,
}

impl LogStore for AwayLogs {
    graphweft_tests::forward_logs! { list trim delete }

    fn append(&self, entry: NewLogEntry) -> BoxFuture<'_, Result<LogAppended, StoreError>> {
        let is_snapshot = entry.log.starts_with("%state-at/");
        let snapshots_are_away = self.store.snapshots_are_away.load(Ordering::SeqCst);
        match self.store.logs_are_away.load(Ordering::SeqCst) || is_snapshot && snapshots_are_away {
            true => async { Err(away()) }.boxed(),
            false => self.inner.append(entry),
        }
    }

    fn read(&self, log: &str, after: u64, until: u64) -> BoxFuture<'_, Result<Vec<LogEntry>, StoreError>> {
        match self.store.logs_are_away.load(Ordering::SeqCst) {
            true => async { Err(away()) }.boxed(),
            false => self.inner.read(log, after, until),
        }
    }
}

#[node]
async fn counts(n: u32, #[resource] begun: &Arc<AtomicU32>) -> u32 {
    begun.fetch_add(1, Ordering::SeqCst);
    tokio::time::sleep(Duration::from_secs(1)).await;
    n + 1
}

workflow! { counting(u32) -> u32 { START => counts; } }

fn engine(store: &Away, begun: &Arc<AtomicU32>) -> Engine {
    Engine::builder().store(store.clone()).resource(Arc::clone(begun)).register::<counting>().build().unwrap()
}

async fn result(engine: &Engine) -> u32 {
    result_of(engine, "run").await
}

async fn result_of(engine: &Engine, id: &str) -> u32 {
    result_in::<counting>(engine, id).await
}

async fn result_in<W: Workflow<Output = u32>>(engine: &Engine, id: &str) -> u32 {
    let run = engine.get_run_of::<W>(id).await.unwrap().expect("it is in the store");
    let result = async {
        loop {
            match run.result().await {
                Err(RunError::Store(StoreError::Unreachable { .. } | StoreError::Full { .. })) => {
                    tokio::time::sleep(Duration::from_millis(10)).await
                }
                result => return result.unwrap(),
            }
        }
    };
    tokio::time::timeout(Duration::from_secs(60), result).await.expect("it is resumed")
}

#[tokio::test(start_paused = true)]
async fn runs_that_it_has_stopped_are_resumed_when_it_is_back() {
    let (store, begun) = (Away::default(), Arc::default());
    let engine = engine(&store, &begun);
    engine.start::<counting>(1).id("run").await.unwrap();
    while begun.load(Ordering::SeqCst) == 0 {
        tokio::task::yield_now().await;
    }
    store.is_away.store(true, Ordering::SeqCst);
    assert_eq!(engine.until_not_driven("run").await, Err(RunError::Store(away())));
    tokio::time::sleep(Duration::from_secs(5)).await;
    assert_eq!(begun.load(Ordering::SeqCst), 1);
    store.is_away.store(false, Ordering::SeqCst);
    assert_eq!(result(&engine).await, 2);
    assert_eq!(begun.load(Ordering::SeqCst), 2, "its node was not recorded");
}

#[tokio::test(start_paused = true)]
async fn runs_that_a_full_disk_has_stopped_are_resumed_when_there_is_room() {
    let (store, begun) = (Away { is_full: true, ..Away::default() }, Arc::default());
    let engine = engine(&store, &begun);
    engine.start::<counting>(1).id("run").await.unwrap();
    while begun.load(Ordering::SeqCst) == 0 {
        tokio::task::yield_now().await;
    }
    store.is_away.store(true, Ordering::SeqCst);
    assert_eq!(engine.until_not_driven("run").await, Err(RunError::Store(full())));
    tokio::time::sleep(Duration::from_secs(300)).await;
    assert_eq!(begun.load(Ordering::SeqCst), 1);
    store.is_away.store(false, Ordering::SeqCst);
    assert_eq!(result(&engine).await, 2);
}

#[tokio::test(start_paused = true)]
async fn the_events_of_a_run_elsewhere_continue_when_it_is_back() {
    let (store, begun) = (Away::default(), Arc::default());
    let driver = Engine::builder().store(store.inner.clone()).resource(Arc::<AtomicU32>::clone(&begun));
    let driver = driver.register::<counting>().build().unwrap();
    let driven = driver.start::<counting>(1).id("run").await.unwrap();
    let watcher = engine(&store, &begun);
    let mut events = watcher.get_run("run").await.unwrap().expect("it is in the store").events();
    let first = events.next().await.expect("it has begun");
    assert_eq!(first.seq, 0);
    store.is_away.store(true, Ordering::SeqCst);
    let rest = tokio::spawn(events.map(|event| event.kind.name()).collect::<Vec<_>>());
    assert_eq!(driven.result().await.unwrap(), 2);
    tokio::time::sleep(Duration::from_secs(30)).await;
    store.is_away.store(false, Ordering::SeqCst);
    let rest = tokio::time::timeout(Duration::from_secs(60), rest).await.expect("it ends with the run").unwrap();
    assert_eq!(rest.last().copied(), Some("run_completed"));
    assert_eq!(rest.iter().filter(|name| **name == "node_completed").count(), 1, "{rest:?}");
}

#[tokio::test(start_paused = true)]
async fn an_error_of_who_reads_a_run_elsewhere_does_not_say_that_it_has_stopped_there() {
    let (store, begun) = (Away::default(), Arc::default());
    let driver = Engine::builder().store(store.inner.clone()).resource(Arc::<AtomicU32>::clone(&begun));
    let driver = driver.register::<counting>().build().unwrap();
    let driven = driver.start::<counting>(1).id("run").await.unwrap();
    assert_eq!(driven.result().await.unwrap(), 2);
    let reader = engine(&store, &begun);
    let run = reader.get_run_of::<counting>("run").await.unwrap().expect("it is in the store");
    store.is_away.store(true, Ordering::SeqCst);
    let error = run.result().await.unwrap_err().to_string();
    let expected = "the store failed, so the run has stopped in this process, or cannot be read: the database cannot be reached: nothing listens";
    assert_eq!(error, expected);
}

#[tokio::test(start_paused = true)]
async fn the_events_of_a_run_end_with_their_engine_although_it_is_away() {
    let (store, begun) = (Away::default(), Arc::default());
    let engine = engine(&store, &begun);
    engine.start::<counting>(1).id("run").await.unwrap();
    store.is_away.store(true, Ordering::SeqCst);
    let mut events = engine.get_run("run").await.unwrap().expect("it is in the store").events();
    let rest = tokio::spawn(async move {
        while events.next().await.is_some() {}
        events.error().cloned()
    });
    drop(engine);
    let error = tokio::time::timeout(Duration::from_secs(60), rest).await.expect("it ends").unwrap();
    assert_eq!(error, Some(RunError::ShutDown));
}

#[tokio::test(start_paused = true)]
async fn all_of_many_runs_that_it_has_stopped_are_resumed() {
    const RUNS: u32 = 200;
    let (store, begun) = (Away::default(), Arc::default());
    let engine = engine(&store, &begun);
    for n in 0..RUNS {
        engine.start::<counting>(n).id(format!("run {n}")).await.unwrap();
    }
    while begun.load(Ordering::SeqCst) < RUNS {
        tokio::task::yield_now().await;
    }
    store.is_away.store(true, Ordering::SeqCst);
    for n in 0..RUNS {
        let stopped = engine.until_not_driven(&format!("run {n}")).await;
        assert_eq!(stopped, Err(RunError::Store(away())));
    }
    store.is_away.store(false, Ordering::SeqCst);
    for n in 0..RUNS {
        assert_eq!(result_of(&engine, &format!("run {n}")).await, n + 1);
    }
}

#[tokio::test(start_paused = true)]
async fn a_run_whose_addition_is_not_known_is_driven() {
    let (store, begun) = (Away::default(), Arc::default());
    let engine = engine(&store, &begun);
    store.loses_reply.store(true, Ordering::SeqCst);
    let error = engine.start::<counting>(1).id("run").await.unwrap_err();
    assert!(error.to_string().contains("nothing listens"), "{error}");
    assert_eq!((result(&engine).await, begun.load(Ordering::SeqCst)), (2, 1));
}

#[node]
async fn starts(n: u32, ctx: &Context, #[resource] store: &Away) -> Result<u32, String> {
    // The first time, it is added, and nothing says so.
    store.loses_reply.store(!store.has_lost.swap(true, Ordering::SeqCst), Ordering::SeqCst);
    let run = ctx.start::<counting>(n).await?;
    run.result().await.map_err(|error| error.to_string())
}

workflow! { starting(u32) -> u32 { START => starts; } }

#[tokio::test(start_paused = true)]
async fn a_run_of_which_a_node_does_not_know_whether_it_has_started_it_is_started_once() {
    let (store, begun): (Away, Arc<AtomicU32>) = Default::default();
    let builder = Engine::builder().store(store.clone()).resource(store.clone()).resource(Arc::clone(&begun));
    let engine = builder.register::<starting>().register::<counting>().build().unwrap();
    engine.start::<starting>(1).id("run").await.unwrap();
    assert_eq!(result_in::<starting>(&engine, "run").await, 2);
    assert_eq!(begun.load(Ordering::SeqCst), 1);
    assert_eq!(engine.count_runs(RunFilter::default()).await.unwrap(), 2);
}

const VISITS: StateKey<u32, Sum, User> = StateKey::new("visits");

#[node]
async fn visits(n: u32, ctx: &Context, #[resource] store: &Away) -> Result<u32, ScopeError> {
    let goes_away = || {
        if !store.has_lost.swap(true, Ordering::SeqCst) {
            store.logs_are_away.store(true, Ordering::SeqCst);
        }
    };
    if n == 0 {
        goes_away();
    }
    let user = ctx.scope(User).await?;
    goes_away();
    user.update().merge(VISITS, 1).await?;
    Ok(n)
}

workflow! { visiting(u32) -> u32 { START => visits; } }

#[tokio::test(start_paused = true)]
async fn a_node_whose_scope_cannot_be_read_or_written_while_it_is_away_does_not_fail() {
    for n in [0, 1] {
        let store = Away::default();
        let builder = Engine::builder().store(store.clone()).resource(store.clone());
        let engine = builder.register::<visiting>().build().unwrap();
        engine.start::<visiting>(n).id("run").state(USER, "ada".to_owned()).await.unwrap();
        assert_eq!(engine.until_not_driven("run").await, Err(RunError::Store(away())), "{n}");
        store.logs_are_away.store(false, Ordering::SeqCst);
        assert_eq!(result_in::<visiting>(&engine, "run").await, n);
        assert_eq!(engine.scope(User, "ada").await.unwrap().get(VISITS).unwrap(), Some(1), "{n}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_run_does_not_stop_for_a_snapshot_of_a_scope_that_cannot_be_written_while_it_is_away() {
    let store = Away::default();
    store.has_lost.store(true, Ordering::SeqCst);
    let builder = Engine::builder().store(store.clone()).resource(store.clone());
    let engine = builder.register::<visiting>().build().unwrap();
    for _ in 0..300 {
        engine.scope(User, "ada").await.unwrap().update().merge(VISITS, 1).await.unwrap();
    }
    engine.logs().unwrap().delete("%state-at/user/ada").await.unwrap();
    store.snapshots_are_away.store(true, Ordering::SeqCst);
    let run = engine.start::<visiting>(0).state(USER, "ada".to_owned()).await.unwrap();
    assert_eq!(run.result().await.unwrap(), 0);
    assert_eq!(engine.scope(User, "ada").await.unwrap().get(VISITS).unwrap(), Some(301));
    assert!(engine.logs().unwrap().read("%state-at/user/ada", 0, u64::MAX).await.unwrap().is_empty());
}
