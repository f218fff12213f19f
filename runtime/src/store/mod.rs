//! Stores of runs: for each a *header* and a *journal*, its recorded events in order.
//!
//! The engine needs few operations of a store, and one of them prevents two processes from executing the same run:
//! [`Store::append`] adds records *at a number*, and rejects them if the journal has another length. Taking over a run
//! appends [`EventKind::RunResumed`] first; later appends by the previous owner conflict and are rejected (fencing),
//! whatever the clocks say.
//!
//! [`MemoryStore`] keeps runs until the process ends; [`SqliteStore`] keeps them in a file.

#[cfg(any(test, feature = "test-util"))]
#[doc(hidden)]
#[path = "conformance/mod.rs"]
#[allow(missing_docs, clippy::missing_panics_doc, reason = "they are tests, and their names say what they assert")]
pub mod conformance_cases;
mod error;
mod feed;
mod logs;
mod memory;
mod records;
#[cfg(feature = "sqlite")]
mod sqlite;
#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::time::SystemTime;

use futures::FutureExt;
#[doc(no_inline)]
pub use futures::future::BoxFuture;
use serde_json::Value;

pub use error::StoreError;
pub use feed::{FeedPage, FeedPlace, FeedQuery, FeedRecord};
pub use logs::{LogAppended, LogEntry, LogStore, NewLogEntry};
pub use memory::MemoryStore;
pub(crate) use records::Compact;
pub use records::Records;
#[cfg(feature = "sqlite")]
pub use sqlite::{Durability, SqliteStore, SqliteStoreBuilder};

use crate::asked::Question;
use crate::event::{Event, EventKind};
pub use crate::event::{OnClose, StartedBy, Tags};

/// A store of runs. Called from many tasks at once. If a future is dropped, its operation may or may not have happened.
pub trait Store: Send + Sync + 'static {
    /// Registers the caller as an owner of runs, and as one that can resume runs of these workflows. It owns its runs
    /// until it [leaves](Self::leave), or until the store detects that it is dead.
    fn join(&self, workflows: Vec<String>) -> BoxFuture<'_, Result<Owner, StoreError>>;

    /// Releases all runs of an owner. The call starts it; the future resolves when it is done, and may be dropped. It
    /// cannot fail: if it does not happen, the owner is detected as dead later.
    fn leave(&self, owner: Owner) -> BoxFuture<'static, ()>;

    /// Adds a run with its first records, in one transaction. If a run with this id exists, returns it unchanged; if
    /// one was [deleted](Self::delete) and its id is still kept, returns [`Created::Deleted`].
    fn create(&self, run: NewRun) -> BoxFuture<'_, Result<Created, StoreError>>;

    /// Adds records to a run and changes its header, in one transaction: everything, or nothing. The future resolves
    /// when the change is as durable as the store makes it.
    fn append(&self, batch: Append) -> BoxFuture<'static, Result<Appended, StoreError>>;

    /// Adds records that end a run, and the run that follows it, in one transaction: both, or neither. As
    /// [`append`](Self::append) and [`create`](Self::create) in one: the records of the old run come first in the
    /// [feed](Self::feed). The change of its header has the id of the new run as [`next`](HeaderChange::next).
    ///
    /// A conflict of the records comes before a refusal of the id.
    fn start_over(&self, end: Append, next: NewRun) -> BoxFuture<'static, Result<StartedOver, StoreError>>;

    /// The records of a run from number `from` on, at most `limit` of them, in order.
    fn read(&self, run: RunKey, from: u64, limit: usize) -> BoxFuture<'_, Result<Vec<Stored>, StoreError>>;

    /// The header of a run by its id.
    fn header(&self, id: &str) -> BoxFuture<'_, Result<Option<RunHeader>, StoreError>>;

    /// Headers, in the order in which the runs were started, newest first unless the query says otherwise.
    fn list(&self, query: RunQuery) -> BoxFuture<'_, Result<Vec<RunHeader>, StoreError>>;

    /// How many runs the query is about, whatever its limit.
    fn count(&self, query: RunQuery) -> BoxFuture<'_, Result<u64, StoreError>>;

    /// The same runs as [`list`](Self::list), in the same order, each with its last records and its open questions.
    fn overview(&self, query: RunQuery) -> BoxFuture<'_, Result<Vec<RunOverview>, StoreError>>;

    /// Open questions of all runs, as the last appends have [reported](HeaderChange::questions) them: the one that has
    /// been open for the longest time first, and of those that were asked at the same time, in the order of their runs
    /// and of their ids.
    fn open_questions(&self, query: QuestionQuery) -> BoxFuture<'_, Result<Vec<AskedQuestion>, StoreError>>;

    /// Deletes runs that are over, in one transaction, and returns those that it has deleted. Their records may be removed
    /// later, and are not read any more. Runs
    /// that are not over, and runs that do not exist, are left out. Numbers of deleted runs are not given again.
    ///
    /// Until [`Delete::ids_until`] a new run cannot have the id of a deleted one.
    fn delete(&self, delete: Delete) -> BoxFuture<'_, Result<Vec<RunKey>, StoreError>>;

    /// Reserves a periodic task for an owner. Returns whether the task is its own now: no other owner has it, or
    /// the one that has it has not renewed it in time, has left or is dead.
    fn reserve_task(&self, task: ReserveTask) -> BoxFuture<'_, Result<bool, StoreError>>;

    /// Takes over runs that are ready and have no live owner, and ready runs of the caller, and adds
    /// [`EventKind::RunResumed`] to each, in one transaction.
    ///
    /// A run is ready if it is [`Running`](RunStatus::Running), or [suspended](RunStatus::is_suspended) with a
    /// `wake_at` that has passed. It is ready as well if it has a `wake_at` and was suspended
    /// ([`updated`](RunHeader::updated)) after `now`: the clock was set back, and a `wake_at` by the old clock is too
    /// late. The engine computes how much time is left.
    fn claim(&self, claim: Claim) -> BoxFuture<'_, Result<Claimed, StoreError>>;

    /// Whether an owner is alive: it has joined and not left, and the store has not detected that it is dead. Changes
    /// nothing.
    fn is_alive(&self, owner: Owner) -> BoxFuture<'_, Result<bool, StoreError>>;

    /// Whether an owner that is alive has joined with this workflow. Changes nothing.
    fn is_served(&self, workflow: &str) -> BoxFuture<'_, Result<bool, StoreError>>;

    /// Whether other processes may use it at the same time.
    fn is_shared(&self) -> bool {
        true
    }

    /// Whether records are lost when the process dies, and an [`append`](Self::append) is done when its future is
    /// polled for the first time. Then a node begins before its start is recorded. The record is made before the run
    /// waits for anything, before its events are watched or read, and when the run is dropped.
    fn is_volatile(&self) -> bool {
        false
    }

    /// Records of all runs, in the order in which they were committed: those of [`create`](Self::create),
    /// [`append`](Self::append) and [`claim`](Self::claim), each batch as a whole, those of one run in the order of their
    /// numbers.
    ///
    /// Following the feed page by page, by [`FeedPage::place`], returns every record once, with none left out: a record
    /// never becomes visible at a place that a page was behind before. That is so whatever processes add records
    /// meanwhile, and after a restart. Records of runs that were deleted are not in the feed any more.
    fn feed(&self, query: FeedQuery) -> BoxFuture<'_, Result<FeedPage, StoreError>>;

    /// The place behind all records that are committed now.
    fn feed_end(&self) -> BoxFuture<'_, Result<FeedPlace, StoreError>>;

    /// The graph with this hash, from [`NewRun::graph`].
    fn graph(&self, hash: u64) -> BoxFuture<'_, Result<Option<Value>, StoreError>>;

    /// Whether it keeps [snapshots](Self::put_snapshot). If it does, the engine makes one of a run from time to time, so
    /// that a run with very many records is resumed without reading them all. A store that keeps none leaves this and the
    /// two methods below out.
    fn keeps_snapshots(&self) -> bool {
        false
    }

    /// Keeps a snapshot of a run, in the place of the one that it had. Nothing changes, and that is no error, if the one that
    /// it had covers more records, if the run has fewer records than the snapshot covers, and if there is no such
    /// run.
    ///
    /// Any engine may call this at any time, also one that has lost the run: a snapshot is a function of the records that
    /// it covers, and those never change. The snapshot of a run goes when the run is [deleted](Self::delete).
    fn put_snapshot(&self, run: RunKey, snapshot: Snapshot) -> BoxFuture<'_, Result<(), StoreError>> {
        drop((run, snapshot));
        std::future::ready(Ok(())).boxed()
    }

    /// The snapshot of a run that was kept last. `None` is always right, since a snapshot is a cache and no source of anything; and
    /// what is returned must be what was kept: a store on a disk detects damage and reports it. The engine ignores an
    /// error here, and reads all records.
    fn snapshot(&self, run: RunKey) -> BoxFuture<'_, Result<Option<Snapshot>, StoreError>> {
        let _none_is_kept = run;
        std::future::ready(Ok(None)).boxed()
    }

    /// The logs beside the runs. A store that keeps none leaves this out; then
    /// [`Engine::logs`](crate::Engine::logs) is an error that says so.
    fn logs(&self) -> Option<Arc<dyn LogStore>> {
        None
    }
}

/// What the first records of a run come to, so that they need not be read when the run is resumed.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Snapshot {
    /// How many records it covers.
    pub at: u64,
    /// What they come to, in a form that only the engine knows and that changes with its version.
    pub state: Vec<u8>,
}

impl Snapshot {
    /// What the first `at` records come to.
    pub fn new(at: u64, state: Vec<u8>) -> Self {
        Snapshot { at, state }
    }
}

/// The number that a store has given to a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
pub struct RunKey(pub(crate) u64);

impl RunKey {
    /// The run with this number.
    pub const fn new(number: u64) -> Self {
        RunKey(number)
    }

    /// The number.
    pub const fn get(self) -> u64 {
        self.0
    }
}

/// The number that a store has given to an engine. Each is greater than all before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
pub struct Owner(pub(crate) u64);

impl Owner {
    /// The engine with this number.
    pub const fn new(number: u64) -> Self {
        Owner(number)
    }

    /// The number.
    pub const fn get(self) -> u64 {
        self.0
    }
}

/// A record to be added.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Record {
    /// The node, or the workflow for events of the whole run.
    pub path: String,
    /// What happened.
    pub kind: EventKind,
}

impl Record {
    /// What happened at a path.
    pub fn new(path: impl Into<String>, kind: EventKind) -> Self {
        Record { path: path.into(), kind }
    }
}

/// A record as it is in the journal.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Stored {
    /// Its number, from 0, without gaps.
    pub seq: u64,
    /// When it was added; exact to the millisecond.
    pub time: SystemTime,
    /// The record.
    pub record: Record,
}

impl Stored {
    /// The record with this number.
    pub fn new(seq: u64, time: SystemTime, record: Record) -> Self {
        Stored { seq, time, record }
    }

    /// The event of a run that it is.
    pub(crate) fn into_event(self, run_id: String) -> Event {
        let Stored { seq, time, record: Record { path, kind } } = self;
        Event { version: Event::VERSION, run_id, seq, time, path, derived: false, kind }
    }
}

/// The status of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum RunStatus {
    /// Nodes are running, or were when their process died.
    Running,
    /// It cannot make progress until a question is answered or a signal comes (or a timer fires).
    Waiting,
    /// It cannot make progress until a timer fires; no question is open, and no signal is awaited.
    Sleeping,
    /// It has completed, with its output.
    Completed,
    /// A node failed, and its error was not routed.
    Failed,
    /// It was cancelled.
    Cancelled,
    /// It has started over: another run follows.
    StartedOver,
}

impl RunStatus {
    /// Whether the run has ended.
    pub fn is_over(self) -> bool {
        matches!(self, RunStatus::Completed | RunStatus::Failed | RunStatus::Cancelled | RunStatus::StartedOver)
    }

    /// Whether the run is suspended: it waits for an answer or a timer.
    pub fn is_suspended(self) -> bool {
        matches!(self, RunStatus::Waiting | RunStatus::Sleeping)
    }
}

/// A run to be added.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct NewRun {
    /// Its id, unique in the store.
    pub id: String,
    /// The name of its workflow.
    pub workflow: String,
    /// Its owner; `None` if it has none yet.
    pub owner: Option<Owner>,
    /// The graph that its records belong to, with its hash. Stored once for all runs.
    pub graph: Arc<(u64, Value)>,
    /// The run that it was forked from, and the number of the first record that was not copied.
    pub forked_from: Option<(String, u64)>,
    /// The run that it follows, if that has started over.
    pub previous: Option<String>,
    /// The node of another run that has started it.
    pub started_by: Option<StartedBy>,
    /// Labels to find it by.
    pub tags: Tags,
    /// When it is to begin, if not at once: then it is [`Sleeping`](RunStatus::Sleeping) until this time.
    pub wake_at: Option<SystemTime>,
    /// When.
    pub time: SystemTime,
    /// Its first records.
    pub records: Vec<Record>,
}

impl NewRun {
    /// A run without an owner, a tag, a record, or anything else that need not be.
    pub fn new(id: impl Into<String>, workflow: impl Into<String>, graph: Arc<(u64, Value)>, time: SystemTime) -> Self {
        NewRun {
            id: id.into(),
            workflow: workflow.into(),
            owner: None,
            graph,
            forked_from: None,
            previous: None,
            started_by: None,
            tags: Tags::new(),
            wake_at: None,
            time,
            records: Vec::new(),
        }
    }

    /// The header of the run, to which a store has given this number. All stores begin with it.
    pub fn header(&self, key: RunKey) -> RunHeader {
        RunHeader {
            key,
            id: self.id.clone(),
            workflow: self.workflow.clone(),
            status: if self.wake_at.is_some() { RunStatus::Sleeping } else { RunStatus::Running },
            created: self.time,
            updated: self.time,
            records: self.records.len() as u64,
            owner: self.owner,
            wake_at: self.wake_at,
            graph: self.graph.0,
            forked_from: self.forked_from.clone(),
            previous: self.previous.clone(),
            next: None,
            started_by: self.started_by.clone(),
            tags: self.tags.clone(),
        }
    }
}

/// The result of [`Store::create`].
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Created {
    /// A new run.
    New(RunHeader),
    /// A run with this id exists.
    Existing(RunHeader),
    /// A run with this id was deleted, and the id is kept until this time.
    Deleted {
        /// When the id is free again.
        until: SystemTime,
    },
}

/// A run, without its records. A store that keeps it in columns of its own keeps its JSON as well, so that later versions may
/// add fields; times in it are exact to the millisecond.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
#[non_exhaustive]
pub struct RunHeader {
    /// The number of the run in the store.
    pub key: RunKey,
    /// Its id.
    pub id: String,
    /// The name of its workflow.
    pub workflow: String,
    /// Its status.
    pub status: RunStatus,
    /// When it was started.
    #[serde(with = "crate::event::millis")]
    pub created: SystemTime,
    /// When its status changed last.
    #[serde(with = "crate::event::millis")]
    pub updated: SystemTime,
    /// How many records it has.
    pub records: u64,
    /// Its owner, if it has one.
    pub owner: Option<Owner>,
    /// When its next timer fires, if it waits for one.
    #[serde(default, with = "crate::event::optional_millis")]
    pub wake_at: Option<SystemTime>,
    /// The hash of the graph that its last records were made under.
    pub graph: u64,
    /// The run that it was forked from, and the number of the first record that was not copied.
    pub forked_from: Option<(String, u64)>,
    /// The run that it follows, which has started over.
    #[serde(default)]
    pub previous: Option<String>,
    /// The run that follows it, if it has started over.
    #[serde(default)]
    pub next: Option<String>,
    /// The node of another run that has started it.
    #[serde(default)]
    pub started_by: Option<StartedBy>,
    /// Labels to find it by.
    #[serde(default)]
    pub tags: Tags,
}

impl RunHeader {
    /// Changes the header after the records of an append. All stores do this.
    ///
    /// A run that is over has no owner and no open questions, and a time at which it wakes only while it is suspended.
    /// Its time of change is that of the append where the status becomes another.
    pub fn apply(&mut self, change: &HeaderChange, records: u64, time: SystemTime) {
        self.records += records;
        if let Some((status, wake_at)) = change.status {
            if self.status != status {
                self.updated = time;
            }
            self.status = status;
            self.wake_at = wake_at.filter(|_| status.is_suspended());
            self.owner = self.owner.filter(|_| !status.is_over());
        }
        if let Some(graph) = &change.graph {
            self.graph = graph.0;
        }
        if let Some(next) = &change.next {
            self.next = Some(next.clone());
        }
        if let Some(owner) = change.owner {
            self.owner = owner;
        }
        if change.nudge && self.status.is_suspended() {
            self.wake_at = Some(time);
        }
    }
}

/// A run with what a list of runs shows of it.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct RunOverview {
    /// Its header.
    pub header: RunHeader,
    /// Its last records, in order: [`RunOverview::RECORDS`] of them, or all if it has fewer. An error if they are damaged:
    /// that of one run does not hide the others.
    pub last: Result<Vec<Stored>, StoreError>,
    /// How many of its questions are open.
    pub open: u64,
    /// The one that has been open for the longest time.
    pub question: Option<OpenQuestion>,
}

impl RunOverview {
    /// A run with its last records, and the number and the first of its open questions.
    pub fn new(
        header: RunHeader,
        last: Result<Vec<Stored>, StoreError>,
        open: u64,
        question: Option<OpenQuestion>,
    ) -> Self {
        RunOverview { header, last, open, question }
    }

    /// How many of the last records of a run are shown.
    pub const RECORDS: u64 = 8;
}

/// A question that waits for an answer.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
#[non_exhaustive]
pub struct OpenQuestion {
    /// The question.
    pub question: Question,
    /// When it was asked; exact to the millisecond.
    #[serde(with = "crate::event::millis")]
    pub asked: SystemTime,
}

impl OpenQuestion {
    /// A question, and when it was asked.
    pub fn new(question: Question, asked: SystemTime) -> Self {
        OpenQuestion { question, asked }
    }
}

/// An open question, with the run that asks it.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct AskedQuestion {
    /// The number of the run.
    pub run: RunKey,
    /// Its id.
    pub id: String,
    /// The name of its workflow.
    pub workflow: String,
    /// Its labels.
    pub tags: Tags,
    /// The question.
    pub question: OpenQuestion,
}

impl AskedQuestion {
    /// A question of the run with this header.
    pub fn new(header: &RunHeader, question: OpenQuestion) -> Self {
        let RunHeader { key, id, workflow, tags, .. } = header;
        AskedQuestion { run: *key, id: id.clone(), workflow: workflow.clone(), tags: tags.clone(), question }
    }

    /// Its place among all open questions, for [`QuestionQuery::after`].
    pub fn place(&self) -> QuestionPlace {
        QuestionPlace { asked: self.question.asked, run: self.run, question: self.question.question.id.clone() }
    }
}

/// The place of an open question among all of them.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
#[non_exhaustive]
pub struct QuestionPlace {
    /// When it was asked, to the millisecond.
    #[serde(with = "crate::event::millis")]
    pub asked: SystemTime,
    /// The number of its run.
    pub run: RunKey,
    /// Its id.
    pub question: String,
}

impl QuestionPlace {
    /// That of a question of a run.
    pub fn new(asked: SystemTime, run: RunKey, question: impl Into<String>) -> Self {
        QuestionPlace { asked, run, question: question.into() }
    }
}

/// Which open questions to list; the default is all.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct QuestionQuery {
    /// Of runs whose ids begin with this.
    pub id_prefix: String,
    /// Of runs of one of these workflows; empty: any.
    pub workflows: Vec<String>,
    /// Of runs with all of these labels.
    pub tags: Tags,
    /// With this name; without its key.
    pub name: Option<String>,
    /// Behind this one: for the next page.
    pub after: Option<QuestionPlace>,
    /// At most this many; 0: no limit.
    pub limit: usize,
}

/// Runs to be deleted.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Delete {
    /// Their numbers.
    pub runs: Vec<RunKey>,
    /// Until when no new run can have their ids; `None`: they are free at once.
    pub ids_until: Option<SystemTime>,
    /// The current time. Ids that were kept until now are free.
    pub now: SystemTime,
}

/// A periodic task to be reserved.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ReserveTask {
    /// Its name.
    pub task: String,
    /// Who wants it.
    pub owner: Owner,
    /// Until when, if it is not reserved again before.
    pub until: SystemTime,
    /// The current time.
    pub now: SystemTime,
}

/// Records and changes for one run.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Append {
    /// The run.
    pub run: RunKey,
    /// The number of the first record: how many records the caller believes the run has.
    pub at: u64,
    /// When.
    pub time: SystemTime,
    /// The records.
    pub records: Records,
    /// What changes in the header.
    pub header: HeaderChange,
}

impl Append {
    /// Records for a run, which do not change its header.
    pub fn new(run: RunKey, at: u64, time: SystemTime, records: impl Into<Records>) -> Self {
        Append { run, at, time, records: records.into(), header: HeaderChange::default() }
    }
}

/// What changes in a run's header; the default is nothing.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct HeaderChange {
    /// The new status, and when the next timer of the run fires.
    pub status: Option<(RunStatus, Option<SystemTime>)>,
    /// The new graph, with its hash.
    pub graph: Option<Arc<(u64, Value)>>,
    /// The new owner.
    pub owner: Option<Option<Owner>>,
    /// Records were added by an engine other than the owner. The owner's next [`Store::claim`] lists the run as nudged,
    /// and a [suspended](RunStatus::is_suspended) run is ready at once.
    pub nudge: bool,
    /// What changes in the open questions of the run.
    pub questions: QuestionChange,
    /// The run that follows it, with the end of the run: see [`Store::start_over`].
    pub next: Option<String>,
}

/// What changes in the open questions of a run; the default is nothing.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct QuestionChange {
    /// Whether [`open`](Self::open) has all open questions: others are not open any more.
    pub is_all: bool,
    /// Questions that are open from now on. If one is open already, this is what it asks now, and it keeps the time
    /// when it was asked.
    pub open: Vec<OpenQuestion>,
    /// Ids of questions that are not open any more.
    pub closed: Vec<String>,
}

impl QuestionChange {
    /// Whether nothing changes.
    pub fn is_empty(&self) -> bool {
        !self.is_all && self.open.is_empty() && self.closed.is_empty()
    }
}

/// The result of [`Store::append`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Appended {
    /// It is recorded.
    Done,
    /// Nothing is recorded: the journal is longer (or shorter) than the caller believes. Read the new records and
    /// append again.
    Conflict,
}

/// The result of [`Store::start_over`].
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum StartedOver {
    /// Both are recorded; this is the new run.
    Done(Box<RunHeader>),
    /// Nothing is recorded: the journal is longer (or shorter) than the caller believes, as
    /// [`Appended::Conflict`].
    Conflict,
    /// Nothing is recorded: a run with the id of the new one exists, as [`Created::Existing`].
    Existing,
    /// Nothing is recorded: a run with the id of the new one was deleted, as [`Created::Deleted`].
    Deleted {
        /// When the id is free again.
        until: SystemTime,
    },
}

/// Which runs to take over.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Claim {
    /// The new owner.
    pub owner: Owner,
    /// Runs of these workflows.
    pub workflows: Vec<String>,
    /// Only this run.
    pub only: Option<RunKey>,
    /// Not these runs, which it already executes, or cannot execute.
    pub except: Vec<RunKey>,
    /// Also its own runs that are running. Its own suspended runs are taken in any case: an engine keeps a run that it
    /// has unloaded.
    pub own: bool,
    /// Also runs whose owner is no longer alive.
    pub orphans: bool,
    /// The current time.
    pub now: SystemTime,
    /// At most this many runs.
    pub limit: usize,
}

impl Claim {
    /// The record that is added to a run which is taken over.
    pub fn record(&self, workflow: &str) -> Record {
        Record { path: workflow.to_owned(), kind: EventKind::RunResumed { owner: self.owner.0 } }
    }

    /// What changes in the header of a run which is taken over. All stores do this, with [`RunHeader::apply`].
    pub fn change(&self) -> HeaderChange {
        HeaderChange {
            status: Some((RunStatus::Running, None)),
            owner: Some(Some(self.owner)),
            ..HeaderChange::default()
        }
    }
}

/// The result of [`Store::claim`].
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Claimed {
    /// The runs that the caller now owns, including the new record.
    pub runs: Vec<RunHeader>,
    /// Runs that are ready, but whose headers cannot be read. They were not taken over and not changed.
    pub damaged: Vec<Damaged>,
    /// Runs of the caller to which other engines have added records since its last claim, and runs of
    /// [`Claim::except`] that other engines have taken over since, which believed the caller to be dead.
    pub nudged: Vec<RunKey>,
    /// When the next waiting run of these workflows will be ready.
    pub next_wake: Option<SystemTime>,
}

/// A damaged run, which cannot be taken over.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Damaged {
    /// Its number, for [`Claim::except`].
    pub key: RunKey,
    /// Its id if that can be read, or else its number.
    pub id: String,
    /// What is wrong with it.
    pub error: StoreError,
}

impl Damaged {
    /// A run that is damaged in this way.
    pub fn new(key: RunKey, id: impl Into<String>, error: StoreError) -> Self {
        Damaged { key, id: id.into(), error }
    }
}

/// Which runs to list or to count; the default is all.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct RunQuery {
    /// Whose ids begin with this.
    pub id_prefix: String,
    /// Of one of these workflows; empty: any.
    pub workflows: Vec<String>,
    /// Of none of these workflows.
    pub not_workflows: Vec<String>,
    /// Recorded last under another graph than the one with this hash.
    pub not_graph: Option<u64>,
    /// With one of these statuses; empty: any.
    pub status: Vec<RunStatus>,
    /// Forked from this run.
    pub forked_from: Option<String>,
    /// Started by a node of this run.
    pub started_by: Option<String>,
    /// With all of these labels.
    pub tags: Tags,
    /// Whose status has not changed since this time.
    pub unchanged_since: Option<SystemTime>,
    /// Started at this time or later.
    pub from: Option<SystemTime>,
    /// Started before this time.
    pub until: Option<SystemTime>,
    /// Started before this one: for the next page, newest first.
    pub before: Option<RunKey>,
    /// Started after this one: for the next page, oldest first.
    pub after: Option<RunKey>,
    /// Whether the oldest run comes first.
    pub oldest_first: bool,
    /// At most this many; 0: no limit.
    pub limit: usize,
}

/// A time as stores keep it.
pub(crate) fn to_the_millisecond(time: SystemTime) -> SystemTime {
    let since = time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    SystemTime::UNIX_EPOCH + std::time::Duration::from_millis(u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
}
