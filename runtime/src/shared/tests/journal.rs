//! The journal of a run that other processes add to.

use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use serde_json::{Value, json};
use tokio::sync::Semaphore;

use crate::clock::Clock;
use crate::event::EventKind;
use crate::halt::Halt;
use crate::shared::appending::LATE;
use crate::shared::{Journal, Over};
use crate::store::{
    Append, Appended, AskedQuestion, Claim, Claimed, Created, Delete, FeedPage, FeedPlace, FeedQuery, HeaderChange,
    LogStore, MemoryStore, NewRun, Owner, QuestionQuery, Record, ReserveTask, RunHeader, RunKey, RunOverview, RunQuery,
    RunStatus, Snapshot, StartedOver, Store, StoreError, Stored,
};

/// A store that tells later that it has appended.
struct Slow {
    store: MemoryStore,
    may_tell: Arc<Semaphore>,
}

impl Store for Slow {
    fn join(&self, workflows: Vec<String>) -> BoxFuture<'_, Result<Owner, StoreError>> {
        self.store.join(workflows)
    }

    fn leave(&self, owner: Owner) -> BoxFuture<'static, ()> {
        self.store.leave(owner)
    }

    fn create(&self, run: NewRun) -> BoxFuture<'_, Result<Created, StoreError>> {
        self.store.create(run)
    }

    fn append(&self, batch: Append) -> BoxFuture<'static, Result<Appended, StoreError>> {
        let (appended, may_tell) = (self.store.append(batch), Arc::clone(&self.may_tell));
        async move {
            let appended = appended.await;
            may_tell.acquire().await.expect("it is open").forget();
            appended
        }
        .boxed()
    }

    fn start_over(&self, end: Append, next: NewRun) -> BoxFuture<'static, Result<StartedOver, StoreError>> {
        let (started, may_tell) = (self.store.start_over(end, next), Arc::clone(&self.may_tell));
        async move {
            let started = started.await;
            may_tell.acquire().await.expect("it is open").forget();
            started
        }
        .boxed()
    }

    fn read(&self, run: RunKey, from: u64, limit: usize) -> BoxFuture<'_, Result<Vec<Stored>, StoreError>> {
        self.store.read(run, from, limit)
    }

    fn header(&self, id: &str) -> BoxFuture<'_, Result<Option<RunHeader>, StoreError>> {
        self.store.header(id)
    }

    fn list(&self, query: RunQuery) -> BoxFuture<'_, Result<Vec<RunHeader>, StoreError>> {
        self.store.list(query)
    }

    fn count(&self, query: RunQuery) -> BoxFuture<'_, Result<u64, StoreError>> {
        self.store.count(query)
    }

    fn overview(&self, query: RunQuery) -> BoxFuture<'_, Result<Vec<RunOverview>, StoreError>> {
        self.store.overview(query)
    }

    fn open_questions(&self, query: QuestionQuery) -> BoxFuture<'_, Result<Vec<AskedQuestion>, StoreError>> {
        self.store.open_questions(query)
    }

    fn delete(&self, delete: Delete) -> BoxFuture<'_, Result<Vec<RunKey>, StoreError>> {
        self.store.delete(delete)
    }

    fn keeps_snapshots(&self) -> bool {
        self.store.keeps_snapshots()
    }

    fn put_snapshot(&self, run: RunKey, snapshot: Snapshot) -> BoxFuture<'_, Result<(), StoreError>> {
        self.store.put_snapshot(run, snapshot)
    }

    fn snapshot(&self, run: RunKey) -> BoxFuture<'_, Result<Option<Snapshot>, StoreError>> {
        self.store.snapshot(run)
    }

    fn reserve_task(&self, task: ReserveTask) -> BoxFuture<'_, Result<bool, StoreError>> {
        self.store.reserve_task(task)
    }

    fn claim(&self, claim: Claim) -> BoxFuture<'_, Result<Claimed, StoreError>> {
        self.store.claim(claim)
    }

    fn is_alive(&self, owner: Owner) -> BoxFuture<'_, Result<bool, StoreError>> {
        self.store.is_alive(owner)
    }

    fn is_served(&self, workflow: &str) -> BoxFuture<'_, Result<bool, StoreError>> {
        self.store.is_served(workflow)
    }

    fn feed(&self, query: FeedQuery) -> BoxFuture<'_, Result<FeedPage, StoreError>> {
        self.store.feed(query)
    }

    fn feed_end(&self) -> BoxFuture<'_, Result<FeedPlace, StoreError>> {
        self.store.feed_end()
    }

    fn graph(&self, hash: u64) -> BoxFuture<'_, Result<Option<Value>, StoreError>> {
        self.store.graph(hash)
    }

    fn logs(&self) -> Option<Arc<dyn LogStore>> {
        self.store.logs()
    }
}

fn record(kind: EventKind) -> Record {
    Record { path: "flow/a".to_owned(), kind }
}

fn said() -> EventKind {
    EventKind::Message { text: "a".to_owned() }
}

fn answered() -> Record {
    record(EventKind::Answered { answer: json!(1), by: None, comment: None, unchecked: false })
}

/// A run of its own in a store, and its owner.
async fn journal(store: &MemoryStore, through: Arc<dyn Store>) -> (Arc<Journal>, Owner) {
    let owner = store.join(Vec::new()).await.expect("it joins");
    let new = NewRun {
        id: "x".to_owned(),
        workflow: "flow".to_owned(),
        owner: Some(owner),
        graph: Arc::new((1, json!(1))),
        forked_from: None,
        previous: None,
        started_by: None,
        tags: Default::default(),
        wake_at: None,
        time: SystemTime::now(),
        records: vec![record(said())],
    };
    let Ok(Created::New(header)) = store.create(new).await else { panic!("it is new") };
    (Arc::new(Journal::new(&header, owner, through, Clock::default(), Arc::default())), owner)
}

/// As another process does that answers a question.
async fn add_from_elsewhere(store: &MemoryStore, record: Record) {
    let header = header(store).await;
    let append = Append {
        run: header.key,
        at: header.records,
        time: SystemTime::now(),
        records: vec![record].into(),
        header: HeaderChange { nudge: true, ..HeaderChange::default() },
    };
    assert_eq!(store.append(append).await, Ok(Appended::Done));
}

async fn header(store: &MemoryStore) -> RunHeader {
    store.header("x").await.expect("it can be read").expect("it is there")
}

#[tokio::test]
async fn what_is_being_appended_is_not_taken_for_news() {
    let (store, may_tell) = (MemoryStore::new(), Arc::new(Semaphore::new(0)));
    let slow = Arc::new(Slow { store: store.clone(), may_tell: Arc::clone(&may_tell) });
    let (journal, _) = journal(&store, slow).await;
    journal.push("flow/a".to_owned(), said());
    let catching_up = async {
        add_from_elsewhere(&store, answered()).await;
        let caught_up = journal.catch_up();
        let later = async {
            tokio::task::yield_now().await;
            may_tell.add_permits(2);
        };
        futures_util::join!(caught_up, later);
    };
    let (flushed, ()) = futures_util::join!(journal.flush(), catching_up);
    flushed.expect("it is recorded");
    journal.push("flow/a".to_owned(), said());
    assert_eq!(journal.flush().await, Ok(()));
    assert_eq!(header(&store).await.records, 4);
}

#[tokio::test]
async fn a_run_that_is_answered_before_it_says_that_it_rests_does_not_rest() {
    let store = MemoryStore::new();
    let (journal, _) = journal(&store, Arc::new(store.clone())).await;
    add_from_elsewhere(&store, answered()).await;
    assert!(journal.rest(None, || true));
    journal.flush().await.expect("it is recorded");
    assert_eq!(header(&store).await.status, RunStatus::Running);
}

#[tokio::test]
async fn a_run_whose_answer_is_on_its_way_does_not_leave() {
    let store = MemoryStore::new();
    let (journal, owner) = journal(&store, Arc::new(store.clone())).await;
    assert!(journal.rest(None, || true));
    journal.push("flow/a".to_owned(), answered().kind);
    assert!(!journal.rest(None, || true), "nobody would wake it for that answer");
    journal.flush().await.expect("it is recorded");
    let header = header(&store).await;
    assert_eq!((header.status, header.owner), (RunStatus::Running, Some(owner)));
    assert!(journal.rest(None, || true), "the answer has come");
}

#[tokio::test]
async fn a_run_that_was_answered_while_it_rested_says_that_it_runs_with_its_next_record() {
    let store = MemoryStore::new();
    let (journal, _) = journal(&store, Arc::new(store.clone())).await;
    assert!(journal.rest(None, || true));
    journal.flush().await.expect("it is recorded");
    add_from_elsewhere(&store, answered()).await;
    assert!(header(&store).await.wake_at.is_some(), "whoever finds its owner dead goes on with it");
    journal.catch_up().await;
    journal.push("flow/a".to_owned(), said());
    journal.flush().await.expect("it is recorded");
    assert_eq!(header(&store).await.status, RunStatus::Running);
}

/// Or its header would say that nothing moves before an answer comes, behind the answer, and nobody would go on with it.
#[tokio::test]
async fn a_run_whose_answer_is_on_its_way_into_the_journal_does_not_rest() {
    let store = MemoryStore::new();
    let (journal, _) = journal(&store, Arc::new(store.clone())).await;
    journal.push("flow/a/ask".to_owned(), answered().kind);
    assert!(!journal.rest(None, || true));
    journal.flush().await.expect("it is recorded");
    let header = header(&store).await;
    assert_eq!((header.status, header.owner.is_some()), (RunStatus::Running, true));
}

/// Or it would be unloaded before its driver has heard of that, and nobody would load it again.
#[tokio::test]
async fn a_run_that_was_asked_to_end_does_not_rest() {
    let store = MemoryStore::new();
    let (journal, _) = journal(&store, Arc::new(store.clone())).await;
    journal.push_cancel();
    journal.flush().await.expect("it is recorded");
    assert!(!journal.rest(None, || true));
    journal.flush().await.expect("nothing is to be recorded");
    assert_eq!(header(&store).await.status, RunStatus::Running);
}

#[tokio::test]
async fn a_run_that_has_begun_to_move_does_not_rest() {
    let store = MemoryStore::new();
    let (journal, _) = journal(&store, Arc::new(store.clone())).await;
    assert!(!journal.rest(None, || false));
    journal.flush().await.expect("nothing is to be recorded");
    assert_eq!(header(&store).await.status, RunStatus::Running);
}

/// Takes the run over from its owner.
async fn take_over(store: &MemoryStore, owner: Owner) -> Owner {
    store.leave(owner).await;
    let other = store.join(Vec::new()).await.expect("it joins");
    let claim = Claim::new(other, vec!["flow".to_owned()], SystemTime::now());
    store.claim(claim).await.expect("it claims");
    other
}

#[tokio::test]
async fn a_run_that_was_taken_over_does_not_rest_here() {
    let store = MemoryStore::new();
    let (journal, owner) = journal(&store, Arc::new(store.clone())).await;
    let other = take_over(&store, owner).await;
    assert!(journal.rest(None, || true));
    assert_eq!(journal.flush().await, Err(Halt::Fenced));
    let header = header(&store).await;
    assert_eq!((header.status, header.owner), (RunStatus::Running, Some(other)));
}

/// As when its process is stopped for so long that it is believed dead.
#[tokio::test]
async fn a_run_that_was_taken_over_before_its_journal_hears_that_it_has_recorded_does_not_move_here() {
    let (store, may_tell) = (MemoryStore::new(), Arc::new(Semaphore::new(0)));
    let slow = Arc::new(Slow { store: store.clone(), may_tell: Arc::clone(&may_tell) });
    let (journal, owner) = journal(&store, slow).await;
    journal.push("flow/a".to_owned(), said());
    let meanwhile = async {
        tokio::time::sleep(LATE).await;
        take_over(&store, owner).await;
        may_tell.add_permits(1);
    };
    let (flushed, ()) = futures_util::join!(journal.flush(), meanwhile);
    assert_eq!(flushed, Err(Halt::Fenced));
    assert_eq!(kinds(&store, "x").await, ["message", "message", "run_resumed"]);
}

#[tokio::test]
async fn a_run_whose_journal_hears_late_that_it_has_recorded_moves_if_it_was_not_taken_over() {
    let (store, may_tell) = (MemoryStore::new(), Arc::new(Semaphore::new(0)));
    let slow = Arc::new(Slow { store: store.clone(), may_tell: Arc::clone(&may_tell) });
    let (journal, _) = journal(&store, slow).await;
    journal.push("flow/a".to_owned(), said());
    let meanwhile = async {
        tokio::time::sleep(LATE).await;
        add_from_elsewhere(&store, answered()).await;
        may_tell.add_permits(1);
    };
    let (flushed, ()) = futures_util::join!(journal.flush(), meanwhile);
    assert_eq!(flushed, Ok(()));
}

/// The run that is to follow.
fn next_run(owner: Owner) -> NewRun {
    NewRun {
        owner: Some(owner),
        previous: Some("x".to_owned()),
        records: vec![record(said())],
        ..NewRun::new("x~1", "flow", Arc::new((1, json!(1))), SystemTime::now())
    }
}

fn signal(id: &str) -> Record {
    let (name, id) = ("paid".to_owned(), Some(id.to_owned()));
    record(EventKind::SignalReceived { name, payload: json!(1), at: UNIX_EPOCH, id, by: None, plain: false })
}

/// The signals that go over to the next run, by its first records.
fn gone_over(records: &[Record]) -> Vec<EventKind> {
    records[1..].iter().map(|record| record.kind.clone()).collect()
}

async fn kinds(store: &MemoryStore, id: &str) -> Vec<&'static str> {
    let header = store.header(id).await.expect("it can be read").expect("it is there");
    let stored = store.read(header.key, 0, usize::MAX).await.expect("it can be read");
    stored.iter().map(|stored| stored.record.kind.name()).collect()
}

#[tokio::test]
async fn the_end_of_a_run_that_starts_over_is_recorded_with_the_next_run() {
    let store = MemoryStore::new();
    let (journal, owner) = journal(&store, Arc::new(store.clone())).await;
    assert_eq!((journal.next_id(), journal.next()), ("x~1".to_owned(), None));
    journal.push("flow/a".to_owned(), said());
    // On its way in the same batch.
    journal.push("flow".to_owned(), signal("1").kind);

    let Ok(Over::Begun(next, records)) = journal.start_over(Box::new(next_run(owner))).await else {
        panic!("it has begun")
    };

    assert_eq!((next.id.as_str(), gone_over(&records)), ("x~1", vec![signal("1").kind]));
    assert_eq!(kinds(&store, "x").await, ["message", "message", "signal_received", "run_started_over"]);
    assert_eq!(kinds(&store, "x~1").await, ["message", "signal_received"]);
    let before = header(&store).await;
    assert_eq!((before.status, before.next.as_deref()), (RunStatus::StartedOver, Some("x~1")));
    assert_eq!(journal.next().as_deref(), Some("x~1"));
    // Nothing is added behind the end.
    journal.push("flow/a".to_owned(), said());
    assert_eq!((journal.flush().await, header(&store).await.records), (Ok(()), 4));
}

#[tokio::test]
async fn a_signal_of_another_process_that_comes_first_is_carried_too() {
    let store = MemoryStore::new();
    let (journal, owner) = journal(&store, Arc::new(store.clone())).await;
    journal.push("flow".to_owned(), signal("1").kind);
    journal.push("flow".to_owned(), signal("2").kind);
    add_from_elsewhere(&store, signal("2")).await;
    add_from_elsewhere(&store, signal("3")).await;

    let Ok(Over::Begun(_, records)) = journal.start_over(Box::new(next_run(owner))).await else {
        panic!("it has begun")
    };

    assert_eq!(gone_over(&records), [signal("2").kind, signal("3").kind, signal("1").kind]);
}

#[tokio::test]
async fn a_run_that_another_process_cancels_first_does_not_start_over() {
    for is_known in [false, true] {
        let store = MemoryStore::new();
        let (journal, owner) = journal(&store, Arc::new(store.clone())).await;
        journal.push("flow/a".to_owned(), said());
        add_from_elsewhere(&store, record(EventKind::CancelRequested)).await;
        if is_known {
            journal.catch_up().await;
        }

        assert!(matches!(journal.start_over(Box::new(next_run(owner))).await, Ok(Over::Cancelled)));

        let expected = ["message", "cancel_requested", "message", "run_cancelled"];
        assert_eq!(kinds(&store, "x").await, expected);
        let header = header(&store).await;
        assert_eq!((header.status, header.next, header.owner), (RunStatus::Cancelled, None, None));
        assert_eq!(store.header("x~1").await, Ok(None));
        assert_eq!(journal.next(), None);
    }
}

#[tokio::test]
async fn a_run_whose_next_id_is_taken_fails() {
    let store = MemoryStore::new();
    let (journal, owner) = journal(&store, Arc::new(store.clone())).await;
    store.create(NewRun { previous: None, ..next_run(owner) }).await.expect("it is created");
    add_from_elsewhere(&store, signal("1")).await;

    let Ok(Over::Failed(failure)) = journal.start_over(Box::new(next_run(owner))).await else { panic!("it fails") };

    assert!(failure.to_string().contains("`x~1`"), "{failure}");
    assert_eq!(kinds(&store, "x").await, ["message", "signal_received", "run_failed"]);
    let header = header(&store).await;
    assert_eq!((header.status, header.next), (RunStatus::Failed, None));
}

#[tokio::test]
async fn a_run_that_was_taken_over_does_not_start_over_here() {
    let store = MemoryStore::new();
    let (journal, owner) = journal(&store, Arc::new(store.clone())).await;
    add_from_elsewhere(&store, record(EventKind::RunResumed { owner: owner.get() + 1 })).await;

    assert!(matches!(journal.start_over(Box::new(next_run(owner))).await, Err(Halt::Fenced)));

    assert_eq!(kinds(&store, "x").await, ["message", "run_resumed"]);
    assert_eq!(store.header("x~1").await, Ok(None));
}

/// Only the caller that has begun an append polls it at first.
#[tokio::test]
async fn a_store_that_panics_in_an_append_halts_the_journal_for_all_callers() {
    let (store, may_tell) = (MemoryStore::new(), Arc::new(Semaphore::new(0)));
    may_tell.close();
    let slow = Arc::new(Slow { store: store.clone(), may_tell });
    let (journal, _) = journal(&store, slow).await;
    journal.push("flow/a".to_owned(), said());
    assert!(std::panic::AssertUnwindSafe(journal.flush()).catch_unwind().await.is_err());
    let Err(Halt::Store(StoreError::Other { message })) = journal.flush().await else { panic!("it has halted") };
    assert!(message.contains("the store has panicked"), "{message}");
    journal.until_acknowledged().await;
}

/// The one that has begun the append need not be the one that sees its end.
#[tokio::test]
async fn an_append_that_its_first_caller_has_left_is_over_for_the_others() {
    let (store, may_tell) = (MemoryStore::new(), Arc::new(Semaphore::new(0)));
    let slow = Arc::new(Slow { store: store.clone(), may_tell: Arc::clone(&may_tell) });
    let (journal, _) = journal(&store, slow).await;
    journal.push("flow/a".to_owned(), said());
    assert!(journal.flush().now_or_never().is_none());
    let both = async { futures_util::join!(journal.flush(), journal.until_acknowledged()) };
    let later = async {
        tokio::task::yield_now().await;
        may_tell.add_permits(1);
    };
    let ((flushed, ()), ()) = futures_util::join!(both, later);
    assert_eq!(flushed, Ok(()));
    assert_eq!(header(&store).await.records, 2);
}
