//! Deleted runs: one by one, and by a retention.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

use futures::FutureExt;
use graphweft::prelude::*;
use graphweft::store::{BoxFuture, RunHeader, RunQuery, SqliteStore, Store, StoreError};
use graphweft::{DeleteError, ForkError, Outcome, Retention, RetryError, RunError, StartError};

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

#[node]
async fn long(text: String) -> String {
    text.repeat(1000)
}

#[node]
async fn decide(text: String, ctx: &Context) -> Result<String, String> {
    if ctx.ask::<bool>("go", "?").await { Ok(text) } else { Err("no".to_owned()) }
}

workflow! { lengthen(String) -> String { START => long; } }
workflow! { decided(String) -> String { START => decide; } }

/// Starts a run, and looks at its result after an answer.
#[node]
async fn order(text: String, ctx: &Context) -> Result<String, String> {
    let run = ctx.start::<lengthen>(text).await?;
    let is_fine = ctx.ask::<bool>("look", "Is it fine?").await;
    let found = match run.result().await {
        Ok(text) => format!("{}: {} bytes", run.id(), text.len()),
        Err(error) => format!("{}: {error}", run.id()),
    };
    if is_fine { Ok(found) } else { Err(found) }
}

workflow! { ordered(String) -> String { START => order; } }

/// A clock that a test sets.
#[derive(Clone)]
struct Days(Arc<AtomicU64>);

impl Days {
    fn new() -> Days {
        Days(Arc::default())
    }

    fn pass(&self, days: u64) {
        self.0.fetch_add(days, Ordering::SeqCst);
    }

    fn now(&self) -> SystemTime {
        let days = u32::try_from(self.0.load(Ordering::SeqCst)).unwrap();
        SystemTime::UNIX_EPOCH + Duration::from_secs(1_700_000_000) + days * DAY
    }
}

fn engine(store: SqliteStore, days: &Days, retention: Retention) -> Engine {
    let days = days.clone();
    let builder =
        Engine::builder().register::<lengthen>().register::<decided>().register::<ordered>().retention(retention);
    builder.clock(move || days.now()).store(store).build().unwrap()
}

#[tokio::test]
async fn a_deleted_run_is_unknown_and_its_id_is_kept() {
    let directory = tempfile::tempdir().unwrap();
    let days = Days::new();
    let store = SqliteStore::open(directory.path().join("runs.db")).await.unwrap();
    let engine = engine(store, &days, Retention::default().ids(7 * DAY));
    let run = engine.start::<lengthen>("a".to_owned()).id("x").await.unwrap();
    run.result().await.unwrap();
    let fork = engine.fork("x").before(1).id("y").await.unwrap();
    fork.result().await.unwrap();

    engine.delete_run("x").await.unwrap();

    assert!(engine.get_run("x").await.unwrap().is_none());
    assert_eq!(run.status().await.unwrap_err(), RunError::NotFound);
    assert_eq!(engine.history("y").await.unwrap().unwrap().len(), fork.info().await.unwrap().records as usize);
    let again = engine.start::<lengthen>("a".to_owned()).id("x").await.unwrap_err();
    assert!(matches!(&again, StartError::Deleted { id, until } if id == "x" && *until == days.now() + 7 * DAY));
    assert!(again.to_string().contains("run `x` was deleted"), "{again}");
    assert_eq!(engine.delete_run("x").await.unwrap_err(), DeleteError::UnknownRun { run: "x".to_owned() });
    days.pass(7);
    assert_eq!(engine.start::<lengthen>("b".to_owned()).id("x").await.unwrap().result().await.unwrap().len(), 1000);
}

#[tokio::test]
async fn a_run_that_has_not_ended_is_not_deleted() {
    let engine = Engine::builder().build().unwrap();
    let run = engine.start::<decided>("a".to_owned()).id("x").await.unwrap();
    assert!(matches!(run.outcome().await.unwrap(), Outcome::Waiting(_)));

    let refused = engine.delete_run("x").await.unwrap_err();

    assert_eq!(refused, DeleteError::NotOver { run: "x".to_owned() });
    run.answer("go", true).await.unwrap();
    assert_eq!(run.result().await.unwrap(), "a");
    engine.delete_run("x").await.unwrap();
    assert!(engine.get_run("x").await.unwrap().is_none());
}

#[tokio::test]
async fn runs_are_deleted_when_their_time_is_over_and_others_stay() {
    let directory = tempfile::tempdir().unwrap();
    let days = Days::new();
    let store = SqliteStore::open(directory.path().join("runs.db")).await.unwrap();
    let engine = engine(store, &days, Retention::completed(30 * DAY).failed(90 * DAY));
    engine.start::<lengthen>("a".to_owned()).id("completed").await.unwrap().result().await.unwrap();
    for (id, answer) in [("failed", Some(false)), ("waiting", None), ("cancelled", None)] {
        let run = engine.start::<decided>("a".to_owned()).id(id).await.unwrap();
        assert!(matches!(run.outcome().await.unwrap(), Outcome::Waiting(_)));
        if let Some(answer) = answer {
            run.answer("go", answer).await.unwrap();
            run.outcome().await.unwrap();
        }
    }
    let cancelled = engine.get_run("cancelled").await.unwrap().unwrap();
    cancelled.cancel().await.unwrap();
    cancelled.outcome().await.unwrap();
    let there = async || {
        let runs = engine.list_runs(RunFilter::default().oldest_first()).await.unwrap();
        runs.into_iter().map(|run| run.id).collect::<Vec<_>>()
    };

    assert_eq!(engine.delete_expired().await.unwrap(), 0);
    days.pass(31);
    assert_eq!(engine.delete_expired().await.unwrap(), 1);
    assert_eq!(there().await, ["failed", "waiting", "cancelled"]);
    days.pass(60);
    assert_eq!(engine.delete_expired().await.unwrap(), 1);
    days.pass(1000);
    assert_eq!(engine.delete_expired().await.unwrap(), 0);
    assert_eq!(there().await, ["waiting", "cancelled"]);
}

/// A store of which another engine deletes too: one of those that were just found.
struct DeletedBeside {
    inner: SqliteStore,
    other: Engine,
}

impl Store for DeletedBeside {
    graphweft_tests::forward_store! {
        join leave create append start_over read header count overview open_questions delete reserve_task claim is_alive
        is_served is_shared feed feed_end graph logs
    }

    fn list(&self, query: RunQuery) -> BoxFuture<'_, Result<Vec<RunHeader>, StoreError>> {
        async {
            let found = self.inner.list(query).await?;
            if let Some(first) = found.first() {
                self.other.delete_run(&first.id).await.expect("it is over");
            }
            Ok(found)
        }
        .boxed()
    }
}

#[tokio::test]
async fn all_expired_runs_are_deleted_also_if_another_engine_deletes_some_of_them() {
    let directory = tempfile::tempdir().unwrap();
    let inner = SqliteStore::open(directory.path().join("runs.db")).await.unwrap();
    let other = Engine::builder().store(inner.clone()).build().unwrap();
    let engine = Engine::builder().store(DeletedBeside { inner, other }).register::<lengthen>().build().unwrap();
    for number in 0..350 {
        engine.start::<lengthen>("a".to_owned()).id(format!("{number}")).await.unwrap().result().await.unwrap();
    }
    // One of each of the four hundreds was deleted by the other.
    assert_eq!(engine.delete_expired_by(Retention::completed(Duration::ZERO)).await.unwrap(), 346);
    assert_eq!(engine.count_runs(RunFilter::default()).await.unwrap(), 0);
}

/// 365 days of 20 runs, of which 30 days are kept.
#[tokio::test]
async fn a_year_of_runs_with_a_retention_leaves_a_file_that_does_not_grow() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("runs.db");
    let days = Days::new();
    let store = SqliteStore::builder().durability(graphweft::store::Durability::Relaxed).open(&path).await.unwrap();
    let engine = engine(store, &days, Retention::completed(30 * DAY).ids(30 * DAY));
    let mut after_two_months = 0;
    for day in 0..365 {
        for number in 0..20 {
            let run = engine.start::<lengthen>("a".to_owned()).id(format!("{day}/{number}")).await.unwrap();
            run.result().await.unwrap();
        }
        engine.delete_expired().await.unwrap();
        days.pass(1);
        if day == 60 {
            after_two_months = pages(&path);
        }
    }
    let left = engine.count_runs(RunFilter::default()).await.unwrap();
    assert!((30 * 20..=31 * 20).contains(&left), "{left}");
    let after_a_year = pages(&path);
    assert!(after_a_year <= after_two_months * 5 / 4, "{after_two_months} and then {after_a_year} pages");
    let used = after_a_year * 2048 / left;
    assert!(used < 3 * 1000 + 2048, "{used} bytes for a run of three values of 1,000 bytes");
}

/// How many pages the database has, with those that are still in its log.
fn pages(path: &std::path::Path) -> u64 {
    let connection = rusqlite::Connection::open(path).unwrap();
    connection.query_row("PRAGMA page_count", [], |row| row.get::<_, i64>(0)).unwrap().cast_unsigned()
}

#[tokio::test(start_paused = true)]
async fn an_engine_deletes_by_itself_what_is_over() {
    let days = Days::new();
    let now = days.clone();
    let builder = Engine::builder().register::<lengthen>().retention(Retention::completed(30 * DAY));
    let engine = builder.clock(move || now.now()).build().unwrap();
    engine.start::<lengthen>("a".to_owned()).id("x").await.unwrap().result().await.unwrap();
    tokio::time::sleep(Duration::from_secs(120)).await;
    assert!(engine.get_run("x").await.unwrap().is_some());

    days.pass(31);
    tokio::time::sleep(Duration::from_secs(120)).await;

    assert!(engine.get_run("x").await.unwrap().is_none());
}

/// The id of a run that was deleted may be that of another one.
#[tokio::test]
async fn a_handle_of_a_run_that_was_deleted_is_not_one_of_another_with_its_id() {
    let retention = Retention::completed(30 * DAY).ids(Duration::ZERO);
    let engine = Engine::builder().register::<lengthen>().retention(retention).build().unwrap();
    let first = engine.start::<lengthen>("a".to_owned()).id("x").await.unwrap();
    first.result().await.unwrap();
    engine.delete_run("x").await.unwrap();
    assert!(first.events().next().await.is_none());

    engine.start::<lengthen>("b".to_owned()).id("x").await.unwrap().result().await.unwrap();

    assert!(tokio::time::timeout(Duration::from_secs(10), first.events().next()).await.expect("they end").is_none());
    assert!(matches!(first.result().await, Err(RunError::NotFound)));
}

static IS_OPEN: AtomicBool = AtomicBool::new(false);

#[node]
async fn pay(n: u32) -> Result<u32, String> {
    if IS_OPEN.load(Ordering::Relaxed) { Ok(n) } else { Err("closed".to_owned()) }
}

workflow! { paying(u32) -> u32 { START => pay; } }

/// It has seen the failure from before the retry.
#[tokio::test]
async fn a_handle_of_a_run_that_was_retried_and_deleted_does_not_return_what_came_before() {
    let engine = Engine::builder().register::<paying>().build().unwrap();
    let run = engine.start::<paying>(7).id("x").await.unwrap();
    assert!(matches!(run.result().await, Err(RunError::Failed(_))));
    IS_OPEN.store(true, Ordering::Relaxed);
    engine.retry("x").await.unwrap().result().await.unwrap();
    assert_eq!(run.result().await.unwrap(), 7);

    engine.delete_run("x").await.unwrap();

    assert!(matches!(run.result().await, Err(RunError::NotFound)));
}

#[tokio::test]
async fn a_node_that_starts_again_goes_on_without_the_run_that_it_has_started_and_that_was_deleted_since() {
    let directory = tempfile::tempdir().unwrap();
    let days = Days::new();
    let open = async || {
        let store = SqliteStore::open(directory.path().join("runs.db")).await.unwrap();
        engine(store, &days, Retention::default())
    };
    let first = open().await;
    let run = first.start::<ordered>("a".to_owned()).id("x").await.unwrap();
    assert!(matches!(run.outcome().await.unwrap(), Outcome::Waiting(_)));
    let started = "x:ordered/order/start:lengthen";
    first.get_run(started).await.unwrap().unwrap().outcome().await.unwrap();
    first.delete_run(started).await.unwrap();
    first.shutdown().await;

    let second = open().await;
    second.recover().await.unwrap();
    second.answer("x", "look", false).await.unwrap();
    let gone = format!("{started}: {}", RunError::NotFound);
    let run = second.get_run_of::<ordered>("x").await.unwrap().unwrap();
    let Err(RunError::Failed(failure)) = run.result().await else { panic!("it was not fine") };
    assert_eq!(failure.cause.to_string(), gone);

    // The request is made again, and its id is not free.
    let again = second.retry("x").from_node("ordered/order").await.unwrap();
    assert!(matches!(again.outcome().await.unwrap(), Outcome::Waiting(_)));
    second.answer("x", "look", true).await.unwrap();
    assert_eq!(again.typed::<ordered>().unwrap().result().await.unwrap(), gone);
}

/// Another engine has the run, and what it has read of the questions is out of date.
#[tokio::test(flavor = "multi_thread")]
async fn an_answer_to_a_run_that_is_deleted_meanwhile_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let mut engines = Vec::new();
    for _ in 0..2 {
        let store = SqliteStore::open(directory.path().join("runs.db")).await.unwrap();
        let engine = Engine::builder().store(store).register::<decided>().build().unwrap();
        engine.recover().await.unwrap();
        engines.push(engine);
    }
    let [first, second] = &engines[..] else { unreachable!() };
    for round in 0..20 {
        let id = format!("run {round}");
        first.start::<decided>("a".into()).id(&*id).await.unwrap().outcome().await.unwrap();
        let (answering, of) = (second.clone(), id.clone());
        let answered = tokio::spawn(async move { answering.answer(&of, "go", true).await });
        // It may have been read before.
        let _ = first.cancel(&id).await;
        while let Err(DeleteError::NotOver { .. }) = first.delete_run(&id).await {}
        let answered = tokio::time::timeout(Duration::from_secs(60), answered).await;
        answered.expect("it does not look for ever").unwrap().err();
    }
}

/// A store of which another engine deletes the run whose header was just found, once it is to.
struct DeletedBehind {
    inner: SqliteStore,
    other: Engine,
    deletes: Arc<AtomicBool>,
}

impl Store for DeletedBehind {
    graphweft_tests::forward_store! {
        join leave create append start_over read list count overview open_questions delete reserve_task claim is_alive is_served is_shared feed
        feed_end graph logs
    }

    fn header(&self, run: &str) -> BoxFuture<'_, Result<Option<RunHeader>, StoreError>> {
        let run = run.to_owned();
        async move {
            let found = self.inner.header(&run).await?;
            if self.deletes.swap(false, Ordering::SeqCst) {
                self.other.delete_run(&run).await.expect("it is over");
            }
            Ok(found)
        }
        .boxed()
    }
}

#[tokio::test]
async fn a_run_that_is_deleted_while_it_is_to_be_retried_forked_or_read_is_unknown() {
    let directory = tempfile::tempdir().unwrap();
    let inner = SqliteStore::open(directory.path().join("runs.db")).await.unwrap();
    let other = Engine::builder().store(inner.clone()).build().unwrap();
    let deletes = Arc::new(AtomicBool::new(false));
    let store = DeletedBehind { inner, other, deletes: Arc::clone(&deletes) };
    let engine = Engine::builder().store(store).register::<decided>().build().unwrap();
    for id in ["retried", "forked", "shown", "its inputs", "its state"] {
        let run = engine.start::<decided>("a".into()).id(id).await.unwrap();
        run.outcome().await.unwrap();
        run.answer("go", false).await.unwrap();
        run.result().await.unwrap_err();
    }
    deletes.store(true, Ordering::SeqCst);
    let retried = engine.retry("retried").await.unwrap_err();
    assert_eq!(retried, RetryError::UnknownRun { run: "retried".into() });
    deletes.store(true, Ordering::SeqCst);
    let forked = engine.fork("forked").before(3).await.unwrap_err();
    assert_eq!(forked, ForkError::UnknownRun { run: "forked".into() });
    deletes.store(true, Ordering::SeqCst);
    assert_eq!(engine.history("shown").await.unwrap(), None);
    let run = engine.get_run("its inputs").await.unwrap().unwrap();
    deletes.store(true, Ordering::SeqCst);
    assert_eq!(run.inputs().await, Err(RunError::NotFound));
    const OWNER: StateKey<String> = StateKey::new("owner");
    let run = engine.get_run("its state").await.unwrap().unwrap();
    deletes.store(true, Ordering::SeqCst);
    assert_eq!(run.state(OWNER).await, Err(RunError::NotFound));
}
