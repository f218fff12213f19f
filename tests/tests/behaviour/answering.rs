//! Answers from another engine than the one that executes the run.

use std::num::NonZeroU32;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::Poll;
use std::time::Duration;

use futures::future::{BoxFuture, FutureExt, join_all};
use graphweft::prelude::*;
use graphweft::store::{Append, Appended, MemoryStore, RunKey, SqliteStore, Store, StoreError, Stored};
use graphweft::{AnswerError, Engine, EventKind, Run, RunError};
use tokio::sync::Notify;
use tokio::time::timeout;

#[node]
async fn asks_twice(ctx: &Context) -> u32 {
    let (a, b) = futures::join!(ctx.ask::<u32>("a", "?"), ctx.ask::<u32>("b", "?"));
    a + b
}

#[node]
async fn asks_all(count: u32, ctx: &Context) -> u32 {
    join_all((0..count).map(|at| ctx.ask::<u32>(format!("q{at}"), "?"))).await.iter().sum()
}

workflow! { asking_twice(()) -> u32 { START => asks_twice; } }
workflow! { asking_all(u32) -> u32 { START => asks_all; } }

fn engine(store: impl Store) -> Engine {
    let builder = Engine::builder().store(store).register::<asking_twice>().register::<asking_all>();
    builder.build().unwrap()
}

/// Two engines on one file, as in two processes.
async fn engines(directory: &tempfile::TempDir) -> (Engine, Engine) {
    let path = directory.path().join("runs.db");
    let driver = engine(SqliteStore::open(&path).await.unwrap());
    (driver, engine(SqliteStore::open(&path).await.unwrap()))
}

async fn open<T: graphweft::Payload + std::fmt::Debug>(run: &Run<T>) -> Vec<String> {
    match run.outcome().await.unwrap() {
        Outcome::Waiting(questions) => questions.into_iter().map(|question| question.name).collect(),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn an_answer_of_another_engine_is_seen_at_once_by_the_one_that_executes_the_run() {
    let directory = tempfile::tempdir().unwrap();
    let (driver, other) = engines(&directory).await;
    for _ in 0..10 {
        let run = driver.start::<asking_twice>(()).await.unwrap();
        assert_eq!(open(&run).await, ["a", "b"]);
        other.answer(run.id(), "a", 1).await.unwrap();

        let questions = run.questions().await.unwrap();

        assert_eq!(questions.iter().map(|question| question.name.as_str()).collect::<Vec<_>>(), ["b"]);

        let run = driver.start::<asking_twice>(()).await.unwrap();
        assert_eq!(open(&run).await, ["a", "b"]);
        other.answer(run.id(), "a", 1).await.unwrap();
        assert_eq!(open(&run).await, ["b"]);
    }
}

#[tokio::test]
async fn a_run_that_another_engine_has_cancelled_is_not_said_to_wait() {
    let directory = tempfile::tempdir().unwrap();
    let (driver, other) = engines(&directory).await;
    for _ in 0..10 {
        let run = driver.start::<asking_twice>(()).await.unwrap();
        open(&run).await;
        other.cancel(run.id()).await.unwrap();
        assert_eq!(run.outcome().await, Ok(Outcome::Cancelled));
    }
}

/// Counts what is asked of a store.
struct Counting {
    inner: SqliteStore,
    counts: Arc<Counts>,
    /// Records an answer before every other append, which then is a conflict and is made again.
    rival: Option<Engine>,
}

#[derive(Default)]
struct Counts {
    appends: AtomicUsize,
    /// Records that were read.
    records: AtomicUsize,
    /// Reads that begin with the first record of a run.
    from_the_start: AtomicUsize,
}

impl Store for Counting {
    graphweft_tests::forward_store! {
        join leave create header list count overview open_questions delete reserve_task claim start_over is_alive is_served is_shared is_volatile feed feed_end graph logs
        keeps_snapshots put_snapshot snapshot
    }

    fn append(&self, batch: Append) -> BoxFuture<'static, Result<Appended, StoreError>> {
        let before = self.counts.appends.fetch_add(1, Ordering::SeqCst);
        let Some(rival) = self.rival.clone().filter(|_| before < 10 && before % 2 == 1) else {
            return self.inner.append(batch);
        };
        let inner = self.inner.clone();
        async move {
            rival.answer("run", &format!("q{}", 10 + before), 10 + before).await.unwrap();
            inner.append(batch).await
        }
        .boxed()
    }

    fn read(&self, run: RunKey, from: u64, limit: usize) -> BoxFuture<'_, Result<Vec<Stored>, StoreError>> {
        let Counts { records, from_the_start, .. } = &*self.counts;
        from_the_start.fetch_add(usize::from(from == 0), Ordering::SeqCst);
        let read = self.inner.read(run, from, limit);
        async move {
            let read = read.await?;
            records.fetch_add(read.len(), Ordering::SeqCst);
            Ok(read)
        }
        .boxed()
    }
}

/// Two engines on one file, and what the second asks of its store.
async fn engines_of_which_one_counts(directory: &tempfile::TempDir, has_rival: bool) -> (Engine, Engine, Arc<Counts>) {
    let path = directory.path().join("runs.db");
    let counts = Arc::<Counts>::default();
    let driver = engine(SqliteStore::open(&path).await.unwrap());
    let inner = SqliteStore::open(&path).await.unwrap();
    let rival = has_rival.then(|| driver.clone());
    (driver, engine(Counting { inner, counts: Arc::clone(&counts), rival }), counts)
}

/// Each that is recorded changes the journal under the others: what they have read is not read again.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_answers_to_one_run_go_into_few_commits() {
    const ANSWERS: u32 = 500;
    let directory = tempfile::tempdir().unwrap();
    let (driver, other, counts) = engines_of_which_one_counts(&directory, false).await;
    let run = driver.start::<asking_all>(ANSWERS).id("run").await.unwrap();
    assert_eq!(open(&run).await.len(), ANSWERS as usize);

    let answer = |at: u32| {
        let other = other.clone();
        tokio::spawn(async move { other.answer("run", &format!("q{at}"), at).await })
    };
    let answered = timeout(Duration::from_secs(60), join_all((0..ANSWERS).map(answer))).await.expect("it is soon done");

    assert!(answered.into_iter().all(|answered| answered.unwrap().is_ok()));
    assert_eq!(run.result().await, Ok((0..ANSWERS).sum::<u32>()));
    let count = |of: &AtomicUsize| of.load(Ordering::SeqCst);
    let (appends, records) = (count(&counts.appends), count(&counts.records));
    assert!(appends <= ANSWERS as usize / 10, "{appends} appends");
    // A question, an answer and its acceptance each, and some of them twice.
    assert!(records <= 10 * ANSWERS as usize, "{records} records were read");
}

/// While one answer is awaited, others are recorded, each after a conflict: what is known of the run is not read again.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_answer_that_waits_does_not_have_the_run_read_again_for_the_next() {
    let directory = tempfile::tempdir().unwrap();
    let (driver, other, counts) = engines_of_which_one_counts(&directory, true).await;
    let run = driver.start::<asking_all>(20).id("run").await.unwrap();
    assert_eq!(open(&run).await.len(), 20);

    let answers = (0..6).map(async |at: usize| {
        while counts.appends.load(Ordering::SeqCst) < (2 * at).saturating_sub(1) {
            tokio::task::yield_now().await;
        }
        other.answer("run", &format!("q{at}"), at).await
    });
    let answered = timeout(Duration::from_secs(60), join_all(answers)).await.expect("it is soon done");

    assert_eq!(answered, vec![Ok(()); 6]);
    for at in 6..20 {
        // Those that the rival has not answered.
        _ = driver.answer("run", &format!("q{at}"), at).await;
    }
    assert_eq!(run.result().await, Ok(190));
    // Again only if all that are recorded are settled: then nothing is known of the run any more.
    let reads = counts.from_the_start.load(Ordering::SeqCst);
    assert!(reads <= 3, "the run was read {reads} times from its start");
}

/// Each of them is resumed for its answer, and all at once.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn runs_that_are_not_in_memory_take_all_of_their_answers() {
    let directory = tempfile::tempdir().unwrap();
    let store = SqliteStore::open(directory.path().join("runs.db")).await.unwrap();
    let engine = Engine::builder().store(store).register::<asking_twice>().max_resident_waiting(1).build().unwrap();
    let runs = join_all((0..300).map(async |_| {
        let run = engine.start::<asking_twice>(()).await.unwrap();
        open(&run).await;
        run
    }));

    let answer = |run: Run<u32>| tokio::spawn(async move { tokio::join!(run.answer("a", 1), run.answer("b", 2)) });
    for answered in join_all(runs.await.into_iter().map(answer)).await {
        assert_eq!(answered.unwrap(), (Ok(()), Ok(())));
    }
}

/// Does not say when something has changed, as a file.
#[derive(Clone)]
struct Quiet {
    inner: MemoryStore,
}

impl Store for Quiet {
    graphweft_tests::forward_store! {
        join leave create append read header list count overview open_questions delete reserve_task claim start_over is_alive is_served feed
        feed_end graph logs keeps_snapshots put_snapshot snapshot
    }
}

/// The engine that has the run hears of the first when it looks after its runs, and looks more often from then on.
#[tokio::test(start_paused = true)]
async fn answers_one_after_another_do_not_each_wait_for_a_look() {
    let store = Quiet { inner: MemoryStore::new() };
    let (driver, other) = (engine(store.clone()), engine(store));
    let run = driver.start::<asking_all>(20).id("run").await.unwrap();
    assert_eq!(open(&run).await.len(), 20);
    let begun = tokio::time::Instant::now();

    for at in 0..20 {
        other.answer("run", &format!("q{at}"), at).await.unwrap();
    }

    let took = begun.elapsed();
    assert!(took < Duration::from_millis(20 * 250 / 2), "{took:?}");
    assert_eq!(run.result().await, Ok(190));
}

#[tokio::test]
async fn of_two_answers_to_one_question_at_once_one_is_taken() {
    let directory = tempfile::tempdir().unwrap();
    let (driver, other) = engines(&directory).await;
    let run = driver.start::<asking_twice>(()).await.unwrap();
    open(&run).await;

    let answers = join_all((0..4).map(|at| other.answer(run.id(), "a", at))).await;

    let taken = answers.iter().filter(|answer| answer.is_ok()).count();
    let late = answers.iter().filter(|answer| matches!(answer, Err(AnswerError::AlreadyAnswered { .. }))).count();
    assert_eq!((taken, late), (1, 3), "{answers:?}");
}

/// It waits with the others for one append, and takes none of them with it.
#[tokio::test]
async fn an_answer_that_is_dropped_on_its_way_holds_up_no_other() {
    let directory = tempfile::tempdir().unwrap();
    let (driver, other) = engines(&directory).await;
    for polls in 0..8 {
        let run = driver.start::<asking_twice>(()).await.unwrap();
        open(&run).await;
        let mut dropped = Box::pin(other.answer(run.id(), "a", 1));
        for _ in 0..polls {
            if futures::poll!(dropped.as_mut()).is_ready() {
                break;
            }
            tokio::task::yield_now().await;
        }
        let kept = other.answer(run.id(), "b", 2);
        let mut kept = Box::pin(kept);
        let answered = futures::poll!(kept.as_mut());
        drop(dropped);
        match answered {
            Poll::Ready(answered) => answered.unwrap(),
            Poll::Pending => timeout(Duration::from_secs(20), kept).await.expect("it is recorded").unwrap(),
        }
    }
}

#[tokio::test]
async fn an_answer_that_is_invalid_keeps_no_other_from_being_recorded() {
    let directory = tempfile::tempdir().unwrap();
    let (driver, other) = engines(&directory).await;
    let run = driver.start::<asking_twice>(()).await.unwrap();
    open(&run).await;

    let (a, b, c) =
        tokio::join!(other.answer(run.id(), "a", "x"), other.answer(run.id(), "b", 2), other.answer(run.id(), "c", 2));

    assert!(matches!(a, Err(AnswerError::Invalid { .. })), "{a:?}");
    assert_eq!(b, Ok(()));
    assert!(matches!(c, Err(AnswerError::UnknownQuestion { .. })), "{c:?}");
    assert_eq!(open(&run).await, ["a"]);
}

/// What an integer reads is known from the schema, and need not be known from the node.
#[tokio::test]
async fn an_answer_that_its_integer_type_cannot_hold_is_refused_by_every_engine() {
    let directory = tempfile::tempdir().unwrap();
    let (driver, other) = engines(&directory).await;
    let unregistered = SqliteStore::open(directory.path().join("runs.db")).await.unwrap();
    let unregistered = Engine::builder().store(unregistered).build().unwrap();
    let run = driver.start::<asking_twice>(()).await.unwrap();
    open(&run).await;
    let records = async || driver.history(run.id()).await.unwrap().unwrap().len();
    let before = records().await;

    for engine in [&driver, &other, &unregistered] {
        for invalid in [graphweft::json!(4_294_967_296_u64), graphweft::json!(5.0), graphweft::json!(-1)] {
            let refused = engine.answer(run.id(), "a", invalid.clone()).await;
            assert!(matches!(refused, Err(AnswerError::Invalid { .. })), "{invalid}: {refused:?}");
        }
    }

    assert_eq!(records().await, before);
    driver.shutdown().await;
    let refused = other.answer(run.id(), "a", 5.0).await;
    assert!(matches!(refused, Err(AnswerError::Invalid { .. })), "in no process: {refused:?}");
}

/// By its schema it is any text.
#[value]
#[derive(Debug, PartialEq)]
#[serde(try_from = "String", into = "String")]
struct Address(String);

impl TryFrom<String> for Address {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        if text.contains('@') { Ok(Address(text)) } else { Err(format!("`{text}` has no @")) }
    }
}

impl From<Address> for String {
    fn from(address: Address) -> Self {
        address.0
    }
}

#[value]
#[serde(deny_unknown_fields)]
struct Contact {
    to: Vec<Address>,
    #[serde(default)]
    copies: Option<NonZeroU32>,
}

/// Says when the body of a node is dropped.
struct Dropped(Arc<Notify>);

impl Drop for Dropped {
    fn drop(&mut self) {
        self.0.notify_one();
    }
}

#[node]
async fn asks_strictly(ctx: &Context, #[resource] left: &Arc<Notify>) -> String {
    let _dropped = Dropped(Arc::clone(left));
    let (contact, copies, letter) = futures::join!(
        ctx.ask::<Contact>("contact", "Who?"),
        ctx.ask::<NonZeroU32>("copies", "How many?"),
        ctx.ask::<char>("letter", "Which?"),
    );
    format!("{} {} {copies} {letter}", contact.to[0].0, contact.copies.map_or(0, NonZeroU32::get))
}

workflow! { asking_strictly(()) -> String { START => asks_strictly; } }

/// Where the run is whose questions are answered.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Place {
    /// Executed by the other engine.
    InMemory,
    /// Of the other engine, and not in its memory.
    OutOfMemory,
    /// Of no living engine.
    InStore,
}

struct Strict {
    directory: tempfile::TempDir,
    first: Engine,
    second: Engine,
}

impl Strict {
    /// A run that asks, of the first of two engines.
    async fn at(place: Place) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let left = Arc::new(Notify::new());
        let resident = if place == Place::OutOfMemory { 0 } else { 100 };
        let engine = async || {
            let store = SqliteStore::open(directory.path().join("runs.db")).await.unwrap();
            let builder = Engine::builder().store(store).register::<asking_strictly>();
            builder.resource(Arc::clone(&left)).max_resident_waiting(resident).build().unwrap()
        };
        let (first, second) = (engine().await, engine().await);
        let run = first.start::<asking_strictly>(()).id("run").await.unwrap();
        assert_eq!(open(&run).await.len(), 3);
        match place {
            Place::InMemory => {}
            Place::OutOfMemory => soon(left.notified()).await,
            Place::InStore => first.shutdown().await,
        }
        Strict { directory, first, second }
    }

    async fn open_questions(&self) -> usize {
        self.second.get_run("run").await.unwrap().unwrap().questions().await.unwrap().len()
    }

    /// Gives answers that are none, and then some that are.
    async fn answers_through(&self, engine: &Engine) {
        let invalid = [
            ("contact", graphweft::json!({"to": ["ada"]}), "to[0]"),
            ("contact", graphweft::json!({"to": ["ada@home"], "copies": 0}), "copies"),
            ("contact", graphweft::json!({"to": ["ada@home"], "from": "bob@home"}), ""),
            ("copies", 0.into(), "."),
            ("letter", "ab".into(), "."),
        ];
        for (question, answer, at) in invalid {
            let refused = soon(engine.answer("run", question, answer.clone())).await;
            match refused {
                Err(AnswerError::Invalid { field, .. }) if at.is_empty() || field == at => {}
                other => panic!("{answer}: {other:?}"),
            }
            assert_eq!(self.open_questions().await, 3, "it is open again");
        }
        let contact = graphweft::json!({"to": ["ada@home"], "copies": 2});
        assert_eq!(soon(engine.answer("run", "contact", contact)).await, Ok(()));
        let (copies, letter) =
            tokio::join!(soon(engine.answer("run", "copies", 3)), soon(engine.answer("run", "letter", "a")));
        assert_eq!((copies, letter), (Ok(()), Ok(())));
        let run = self.second.get_run("run").await.unwrap().unwrap();
        assert_eq!(soon(run.result()).await.unwrap(), "ada@home 2 3 a");
    }
}

async fn soon<T>(future: impl Future<Output = T>) -> T {
    timeout(Duration::from_secs(30), future).await.expect("it is soon done")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_answer_is_held_against_its_type_wherever_its_run_is() {
    for place in [Place::InMemory, Place::OutOfMemory, Place::InStore] {
        let strict = Strict::at(place).await;
        strict.answers_through(&strict.second).await;
    }
}

#[tokio::test]
async fn an_answer_is_held_against_its_type_by_the_engine_that_has_the_run() {
    for place in [Place::InMemory, Place::OutOfMemory] {
        let strict = Strict::at(place).await;
        strict.answers_through(&strict.first).await;
    }
}

#[tokio::test]
async fn an_engine_without_the_workflow_hears_from_another_whether_an_answer_has_its_type() {
    for place in [Place::InMemory, Place::OutOfMemory] {
        let strict = Strict::at(place).await;
        let store = SqliteStore::open(strict.directory.path().join("runs.db")).await.unwrap();
        strict.answers_through(&Engine::builder().store(store).build().unwrap()).await;
    }
}

/// Asks something else at its second attempt, and can be woken by more than its answer.
#[node(retry(max_attempts = 2, initial_delay = "1ms"))]
async fn asks_another(ctx: &Context) -> Result<u32, String> {
    if ctx.attempt() == 1 {
        let first = timeout(Duration::from_millis(20), ctx.ask::<u32>("first", "?"));
        return first.await.map_err(|error| error.to_string());
    }
    let second = timeout(Duration::from_secs(3600), ctx.ask::<u32>("second", "?"));
    second.await.map_err(|error| error.to_string())
}

workflow! { asking_another(()) -> u32 { START => asks_another; } }

#[tokio::test(start_paused = true)]
async fn who_waits_for_an_answer_to_be_read_hears_that_the_run_has_ended_without_that() {
    let engine = Engine::builder().build().unwrap();
    let run = engine.start::<asking_another>(()).await.unwrap();
    let mut events = run.events();
    let mut until = async |is_it: fn(&EventKind) -> bool| while !is_it(&events.next().await.unwrap().kind) {};
    until(|kind| matches!(kind, EventKind::NodeFailed { .. })).await;
    until(|kind| matches!(kind, EventKind::QuestionAsked { .. })).await;
    let answering = tokio::spawn({
        let run = run.clone();
        async move { run.answer("first", 1).await }
    });
    until(|kind| matches!(kind, EventKind::Answered { unchecked: true, .. })).await;

    run.cancel().await.unwrap();

    let withdrawn = soon(answering).await.unwrap();
    assert!(matches!(withdrawn, Err(AnswerError::Withdrawn { .. })), "{withdrawn:?}");
}

/// Nobody else could hold it against its type.
#[tokio::test]
async fn an_engine_that_is_shut_down_refuses_an_answer_to_a_run_that_nobody_has() {
    let strict = Strict::at(Place::InMemory).await;
    strict.second.shutdown().await;
    strict.first.shutdown().await;
    let records = async || strict.first.history("run").await.unwrap().unwrap().len();
    let before = records().await;

    for engine in [&strict.first, &strict.second] {
        let refused = soon(engine.answer("run", "copies", 3)).await;
        assert_eq!(refused, Err(AnswerError::Run(RunError::ShutDown)));
    }

    assert_eq!(records().await, before);
}
