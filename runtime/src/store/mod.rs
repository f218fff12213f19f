//! Where runs are kept: for each a *header* and a *journal*, the records of what has happened, in order.
//!
//! The engine needs very little of a store, and all that keeps a run from being executed twice rests on one operation:
//! [`Store::append`] adds records *at a number*, and refuses where the journal is not as long as the caller believes.
//! Whoever takes a run over appends a record of that ([`EventKind::RunResumed`]) first, so what its former owner still
//! tries to append is refused, whatever its clock says.
//!
//! [`MemoryStore`] keeps runs for the life of the process; [`SqliteStore`] keeps them in a file.

mod error;
mod memory;
#[cfg(feature = "sqlite")]
mod sqlite;
#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::time::SystemTime;

use futures::future::BoxFuture;
use serde_json::Value;

pub use error::StoreError;
pub use memory::MemoryStore;
#[cfg(feature = "sqlite")]
pub use sqlite::{Durability, SqliteStore, SqliteStoreBuilder};

use crate::event::EventKind;

/// What keeps runs. Cheap to call from many tasks at once; a future that is dropped may or may not have been carried out.
pub trait Store: Send + Sync + 'static {
    /// Makes the caller known as one that executes runs. Its runs are its own until it [leaves](Self::leave), or until
    /// the store knows that it is no longer alive.
    fn join(&self) -> BoxFuture<'_, Result<Owner, StoreError>>;

    /// Gives up all that an owner has. It is begun by the call; the future says when it is done, and may be dropped. It
    /// cannot fail: where it is not carried out, the owner is found dead later.
    fn leave(&self, owner: Owner) -> BoxFuture<'static, ()>;

    /// Adds a run, with its first records, in one transaction. Where there is one of this id, that is given, unchanged.
    fn create(&self, run: NewRun) -> BoxFuture<'_, Result<Created, StoreError>>;

    /// Adds records to a run and changes its header, in one transaction: everything, or nothing. Done when it is as safe
    /// as the store makes anything.
    fn append(&self, batch: Append) -> BoxFuture<'static, Result<Appended, StoreError>>;

    /// The records of a run from number `from` on, at most `limit` of them, in order.
    fn read(&self, run: RunKey, from: u64, limit: usize) -> BoxFuture<'_, Result<Vec<Stored>, StoreError>>;

    /// The header of a run by its id.
    fn header(&self, id: &str) -> BoxFuture<'_, Result<Option<RunHeader>, StoreError>>;

    /// Headers, newest run first.
    fn list(&self, query: RunQuery) -> BoxFuture<'_, Result<Vec<RunHeader>, StoreError>>;

    /// Takes over runs that can go on and that nobody alive executes, and adds [`EventKind::RunResumed`] to each, in one
    /// transaction.
    ///
    /// A run can go on where it is [`Running`](RunStatus::Running), or [`Waiting`](RunStatus::Waiting) with a
    /// `wake_at` that has come.
    fn claim(&self, claim: Claim) -> BoxFuture<'_, Result<Claimed, StoreError>>;

    /// Whether other processes may read and write it at the same time.
    fn is_shared(&self) -> bool {
        true
    }

    /// What was given as [`NewRun::graph`] under this hash.
    fn graph(&self, hash: u64) -> BoxFuture<'_, Result<Option<Value>, StoreError>>;
}

/// The number that a store has given to a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RunKey(pub u64);

/// The number that a store has given to an engine. Never given twice, and greater than all before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Owner(pub u64);

/// A record that is to be added.
#[derive(Clone, Debug, PartialEq)]
pub struct Record {
    /// The node, or the workflow for what concerns the whole run.
    pub path: String,
    /// What happened.
    pub kind: EventKind,
}

/// A record as it is in the journal.
#[derive(Clone, Debug, PartialEq)]
pub struct Stored {
    /// Its number, from 0, without gaps.
    pub seq: u64,
    /// When it was added; exact to the millisecond.
    pub time: SystemTime,
    /// The record.
    pub record: Record,
}

/// How far a run is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum RunStatus {
    /// Nodes are under way, or would be if their process had not died.
    Running,
    /// Nothing can move before an answer or a timer comes.
    Waiting,
    /// It has its output.
    Completed,
    /// A node has failed, and nothing routed that.
    Failed,
    /// It was cancelled.
    Cancelled,
}

impl RunStatus {
    /// Whether nothing follows by itself.
    pub fn is_over(self) -> bool {
        matches!(self, RunStatus::Completed | RunStatus::Failed | RunStatus::Cancelled)
    }
}

/// A run that is to be added.
#[derive(Clone, Debug)]
pub struct NewRun {
    /// Its id, unique in the store.
    pub id: String,
    /// The name of its workflow.
    pub workflow: String,
    /// Who executes it; `None` where nobody does yet.
    pub owner: Option<Owner>,
    /// The graph that its records are made under: a hash, and what it is the hash of. Kept once for all runs.
    pub graph: Arc<(u64, Value)>,
    /// The run that it was forked from, and the number of the first record that was not taken over.
    pub forked_from: Option<(String, u64)>,
    /// When.
    pub time: SystemTime,
    /// Its first records.
    pub records: Vec<Record>,
}

/// What came of [`Store::create`].
#[derive(Clone, Debug)]
pub enum Created {
    /// A new run.
    New(RunHeader),
    /// There was one of this id.
    Existing(RunHeader),
}

/// What a store tells of a run besides its records.
#[derive(Clone, Debug, PartialEq)]
pub struct RunHeader {
    /// The number of the run in the store.
    pub key: RunKey,
    /// Its id.
    pub id: String,
    /// The name of its workflow.
    pub workflow: String,
    /// How far it is.
    pub status: RunStatus,
    /// When it was started.
    pub created: SystemTime,
    /// When its status changed last.
    pub updated: SystemTime,
    /// How many records it has.
    pub records: u64,
    /// Who executes it, where somebody does.
    pub owner: Option<Owner>,
    /// When it wants to go on by itself, where it waits for a timer.
    pub wake_at: Option<SystemTime>,
    /// The hash of the graph that its last records were made under.
    pub graph: u64,
    /// The run that it was forked from, and the number of the first record that was not taken over.
    pub forked_from: Option<(String, u64)>,
}

/// Records and changes for one run.
#[derive(Clone, Debug)]
pub struct Append {
    /// The run.
    pub run: RunKey,
    /// The number of the first record: how many the caller believes there are.
    pub at: u64,
    /// When.
    pub time: SystemTime,
    /// The records. Shared, since whoever appends them tells others of them afterwards.
    pub records: Arc<Vec<Record>>,
    /// What changes in the header.
    pub header: HeaderChange,
}

/// What changes in a run's header; the default is nothing.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct HeaderChange {
    /// How far the run is now, and when it wants to go on by itself.
    pub status: Option<(RunStatus, Option<SystemTime>)>,
    /// The hash of the graph, and what it is the hash of, from here on.
    pub graph: Option<Arc<(u64, Value)>>,
    /// Who executes it from here on.
    pub owner: Option<Option<Owner>>,
    /// Somebody else has added something. The owner is told: its next [`Store::claim`] lists the run as nudged. A run that
    /// is [`Waiting`](RunStatus::Waiting) when this is carried out can go on from now, whatever its owner does.
    pub nudge: bool,
}

/// What came of [`Store::append`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Appended {
    /// It is recorded.
    Done,
    /// Nothing is: the journal is longer (or shorter) than the caller believes. Who wants to add something has to read
    /// what is new first.
    Conflict,
}

/// Which runs somebody wants to take over.
#[derive(Clone, Debug)]
pub struct Claim {
    /// Who.
    pub owner: Owner,
    /// Runs of these workflows.
    pub workflows: Vec<String>,
    /// Only this run.
    pub only: Option<RunKey>,
    /// Runs that it is at already.
    pub except: Vec<RunKey>,
    /// Also runs that are its own, which it is not at any more.
    pub own: bool,
    /// Also runs whose owner is no longer alive.
    pub orphans: bool,
    /// What time it is.
    pub now: SystemTime,
    /// At most so many.
    pub limit: usize,
}

/// What came of [`Store::claim`].
#[derive(Clone, Debug, Default)]
pub struct Claimed {
    /// The runs that are now the caller's, as they are with the record of that.
    pub runs: Vec<RunHeader>,
    /// Runs that could go on and whose headers cannot be read: nobody takes them over, and nothing of them was changed.
    pub damaged: Vec<Damaged>,
    /// Runs of the caller that somebody else has added something to since it was last told.
    pub nudged: Vec<RunKey>,
    /// When the next waiting run of these workflows wants to go on.
    pub next_wake: Option<SystemTime>,
}

/// A run that cannot be taken over as it is.
#[derive(Clone, Debug)]
pub struct Damaged {
    /// Its number, for [`Claim::except`].
    pub key: RunKey,
    /// Its id as far as that can be read, or what is known instead.
    pub id: String,
    /// What is wrong with it.
    pub error: StoreError,
}

/// Which runs to list; the default is all.
#[derive(Clone, Debug, Default)]
pub struct RunQuery {
    /// Of this workflow.
    pub workflow: Option<String>,
    /// Of none of these workflows.
    pub not_workflows: Vec<String>,
    /// In one of these states; empty: in any.
    pub status: Vec<RunStatus>,
    /// Forked from this run.
    pub forked_from: Option<String>,
    /// Older than this one, for the next page.
    pub before: Option<RunKey>,
    /// At most so many; 0: no limit.
    pub limit: usize,
}
