//! Stores of runs: for each a *header* and a *journal*, its recorded events in order.
//!
//! The engine needs few operations of a store, and one of them prevents two processes from executing the same run:
//! [`Store::append`] adds records *at a number*, and rejects them if the journal has another length. Taking over a run
//! appends [`EventKind::RunResumed`](crate::EventKind::RunResumed) first; later appends by the previous owner conflict and are rejected (fencing),
//! whatever the clocks say.
//!
//! [`MemoryStore`] keeps runs until the process ends; [`SqliteStore`] keeps them in a file. Another store implements [`Store`], and
//! `graphweft::store_conformance!` tests it, with the feature `test-util`.

mod append;
mod asked_question;
mod claim;
#[cfg(any(test, feature = "test-util"))]
#[doc(hidden)]
#[path = "conformance/mod.rs"]
#[allow(missing_docs, clippy::missing_panics_doc, reason = "they are tests, and their names say what they assert")]
pub mod conformance_cases;
mod error;
mod feed;
mod header;
mod ids;
mod logs;
mod memory;
mod open_question;
mod overview;
mod query;
mod record;
mod records;
mod snapshot;
#[cfg(feature = "sqlite")]
mod sqlite;
mod status;
#[cfg(test)]
mod tests;
mod transaction;
mod upkeep;

use std::any::Any;
use std::sync::Arc;

use futures_util::FutureExt;
#[doc(no_inline)]
pub use futures_util::future::BoxFuture;
use serde_json::Value;

pub use append::{Append, Appended, HeaderChange};
pub use asked_question::{AskedQuestion, QuestionPlace, QuestionQuery};
pub use claim::{Claim, Claimed, Damaged};
pub use error::StoreError;
pub use feed::{FeedPage, FeedPlace, FeedQuery, FeedRecord};
pub use header::{Created, NewRun, RunHeader, StartedOver};
pub use ids::{Owner, RunKey};
pub use logs::{LogAppended, LogEntry, LogStore, LogTrim, NewLogEntry};
pub use memory::MemoryStore;
pub use open_question::{OpenQuestion, QuestionChange};
pub use overview::RunOverview;
pub use query::RunQuery;
pub(crate) use record::to_the_millisecond;
pub use record::{Record, Stored};
pub use records::Records;
pub(crate) use records::{Compact, Part};
#[cfg(feature = "sqlite")]
pub use rusqlite;
pub use snapshot::Snapshot;
#[cfg(feature = "sqlite")]
pub use sqlite::{Durability, SqliteStore, SqliteStoreBuilder};
pub use status::RunStatus;
pub use transaction::{CommitOutcome, InTransaction, StoreTransaction, Transactional};
pub(crate) use transaction::{PATIENCE, transactional};
pub use upkeep::{Delete, ReserveTask};

pub use crate::event::{OnClose, StartedBy, Tags};

/// A store of runs. Called from many tasks at once. If a future is dropped, its operation may or may not have happened.
///
/// A future may not be polled for as long as another operation takes: while a run appends, its driver does not poll the node that is alone in it.
/// So an operation that keeps something which others wait for, such as a connection of a pool or a lock, is a task of its own.
///
/// An export reads the records of a run, a part at a time. An engine uses the same store, in this process or in another one:
///
/// ```
/// use graphweft::prelude::*;
/// use graphweft::store::{MemoryStore, Store, StoreError};
///
/// async fn export(store: &impl Store, run: &str) -> Result<Vec<String>, StoreError> {
///     let mut lines = Vec::new();
///     let Some(header) = store.header(run).await? else { return Ok(lines) };
///     while let part = store.read(header.key, lines.len() as u64, 100).await?
///         && !part.is_empty()
///     {
///         lines.extend(part.into_iter().map(|stored| format!("{} {}", stored.seq, stored.record.kind.name())));
///     }
///     Ok(lines)
/// }
///
/// # #[node] async fn charge(cents: u32) -> u32 { cents }
/// # workflow! { pub pay(u32) -> u32 { START => charge; } }
/// # graphweft::block_on(async {
/// let store = MemoryStore::new();
/// let engine = Engine::builder().store(store.clone()).register::<pay>().build()?;
/// engine.start::<pay>(40).id("order-7").await?.result().await?;
/// let lines = export(&store, "order-7").await?;
/// assert_eq!(lines, ["0 run_started", "1 node_started", "2 node_completed", "3 run_completed"]);
/// # Ok::<(), Box<dyn std::error::Error>>(()) }).unwrap();
/// ```
pub trait Store: Send + Sync + 'static {
    /// Registers the caller as an owner of runs, and as one that can resume runs of these workflows. It owns its runs
    /// until it [leaves](Self::leave), or until the store detects that it is dead. No method says that it still lives: a store
    /// that goes by time renews its leases itself, by a thread rather than by a task, which waits for tasks that compute.
    fn join(&self, workflows: Vec<String>) -> BoxFuture<'_, Result<Owner, StoreError>>;

    /// Releases all runs of an owner. The call starts it; the future resolves when it is done, and may be dropped. It
    /// cannot fail: if it does not happen, the owner is detected as dead later.
    fn leave(&self, owner: Owner) -> BoxFuture<'static, ()>;

    /// Adds a run with its first records, in one transaction. If a run with this id exists, returns it unchanged; if
    /// one was [deleted](Self::delete) and its id is still kept, returns [`Created::Deleted`].
    fn create(&self, run: NewRun) -> BoxFuture<'_, Result<Created, StoreError>>;

    /// Adds records to a run and changes its header, in one transaction: everything, or nothing. The future resolves
    /// when the change is as durable as the store makes it. [`Appended::Conflict`] if the run has another number of records, or is
    /// not there.
    fn append(&self, batch: Append) -> BoxFuture<'static, Result<Appended, StoreError>>;

    /// Adds records that end a run, and the run that follows it, in one transaction: both, or neither. As
    /// [`append`](Self::append) and [`create`](Self::create) in one: the records of the old run come first in the
    /// [feed](Self::feed). The change of its header has the id of the new run as [`next`](HeaderChange::next).
    ///
    /// A conflict of the records comes before a refusal of the id.
    fn start_over(&self, end: Append, next: NewRun) -> BoxFuture<'static, Result<StartedOver, StoreError>>;

    /// The records of a run from number `from` on, in order: `limit` of them, and fewer only where they end. None if the run is not
    /// there.
    fn read(&self, run: RunKey, from: u64, limit: usize) -> BoxFuture<'_, Result<Vec<Stored>, StoreError>>;

    /// The header of a run by its id.
    fn header(&self, id: &str) -> BoxFuture<'_, Result<Option<RunHeader>, StoreError>>;

    /// Headers, in the order in which the runs were started, newest first unless the query says otherwise.
    fn list(&self, query: RunQuery) -> BoxFuture<'_, Result<Vec<RunHeader>, StoreError>>;

    /// How many runs the query is about, whatever its limit.
    fn count(&self, query: RunQuery) -> BoxFuture<'_, Result<u64, StoreError>>;

    /// The same runs as [`list`](Self::list), in the same order, each with its last records and its open questions,
    /// by [`RunOverview::new`].
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
    /// [`EventKind::RunResumed`](crate::EventKind::RunResumed) to each, in one transaction, of the time
    /// [`resumed_at`](Claim::resumed_at).
    ///
    /// A run is ready if it is [`Running`](RunStatus::Running), or [suspended](RunStatus::is_suspended) with a
    /// `wake_at` that has passed. It is ready as well if it has a `wake_at` and was suspended
    /// ([`updated`](RunHeader::updated)) after `now`: the clock was set back, and a `wake_at` by the old clock is too
    /// late. The engine computes how much time is left.
    fn claim(&self, claim: Claim) -> BoxFuture<'_, Result<Claimed, StoreError>>;

    /// Whether an owner is alive: it has joined and not left, and the store has not detected that it is dead. Changes
    /// nothing.
    ///
    /// A store waits for more than a second after the last call of an owner before it takes one for dead whose process
    /// still exists: an engine that gets a reply within a second relies on having its runs.
    fn is_alive(&self, owner: Owner) -> BoxFuture<'_, Result<bool, StoreError>>;

    /// Whether an owner that is alive has joined with this workflow. Changes nothing.
    fn is_served(&self, workflow: &str) -> BoxFuture<'_, Result<bool, StoreError>>;

    /// Resolves when another engine may have changed something since this call that an engine has to look at: a run has been
    /// nudged or released, or was added without an owner. `None` if the store does not tell: then an engine
    /// [claims](Self::claim) every 250 ms, and otherwise when this resolves, and every second, since a store does not tell of
    /// engines that have died. It may resolve for nothing, and it may not resolve: it is a hint. An engine asks for it from its first
    /// claim on, which it makes 250 ms after its first run.
    fn changed(&self) -> Option<BoxFuture<'static, ()>> {
        None
    }

    /// The store whose transactions can take what a program writes beside the records, a [`Transactional`] one: itself, or that
    /// inside, if it passes everything on to another one. `None` if it has no such transactions.
    fn transactional(&self) -> Option<&(dyn Any + Send + Sync)> {
        None
    }

    /// Whether other processes, or other engines of this one, may use it at the same time.
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

    /// The graph with this hash, from [`NewRun::graph`], [`HeaderChange::graph`] or [`HeaderChange::child_graphs`].
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
