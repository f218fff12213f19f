//! What is added to a run.

use std::sync::Arc;
use std::time::SystemTime;

use serde_json::Value;

use super::ids::{Owner, RunKey};
use super::open_question::QuestionChange;
use super::records::Records;
use super::status::RunStatus;

/// Records and changes for one run.
///
/// A store that gets one adds all of its records, or none:
///
/// ```
/// use std::time::SystemTime;
/// use graphweft::EventKind;
/// use graphweft::json;
/// use graphweft::store::{Append, Appended, MemoryStore, NewRun, Record, Store};
///
/// # graphweft::block_on(async {
/// let (store, now) = (MemoryStore::new(), SystemTime::now());
/// store.create(NewRun::new("order-7", "pay", (1, json!({})).into(), now)).await?;
/// let run = store.header("order-7").await?.expect("it was created").key;
/// let records = vec![Record::new("pay/charge", EventKind::NodeCancelled), Record::new("pay", EventKind::RunCancelled)];
/// let batch = Append::new(run, 0, now, records);
/// assert_eq!(store.append(batch.clone()).await?, Appended::Done);
/// assert_eq!(store.append(batch).await?, Appended::Conflict); // records 0 and 1 are there already
/// # Ok::<(), graphweft::store::StoreError>(()) }).unwrap();
/// ```
#[derive(Clone, Debug, PartialEq)]
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
///
/// ```
/// use std::time::SystemTime;
/// use graphweft::json;
/// use graphweft::store::{HeaderChange, NewRun, RunKey, RunStatus};
///
/// let now = SystemTime::now();
/// let mut header = NewRun::new("order-7", "pay", (1, json!({})).into(), now).header(RunKey::new(1));
/// let mut change = HeaderChange::default();
/// change.status = Some((RunStatus::Completed, None));
/// header.apply(&change, 4, now); // what a store does behind the 4 records of an append
/// assert_eq!((header.status, header.records), (RunStatus::Completed, 4));
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct HeaderChange {
    /// The new status, and when the next timer of the run fires.
    pub status: Option<(RunStatus, Option<SystemTime>)>,
    /// The new graph, with its hash.
    pub graph: Option<Arc<(u64, Value)>>,
    /// Graphs of child workflows that the records name, with their hashes. They are stored as that of the run, and change
    /// nothing in its header.
    pub child_graphs: Vec<Arc<(u64, Value)>>,
    /// The new owner.
    pub owner: Option<Option<Owner>>,
    /// Records were added by an engine other than the owner. The owner's next [`Store::claim`](super::Store::claim) lists the run as nudged,
    /// and a [suspended](RunStatus::is_suspended) run is ready at once.
    pub nudge: bool,
    /// What changes in the open questions of the run.
    pub questions: QuestionChange,
    /// The run that follows it, with the end of the run: see [`Store::start_over`](super::Store::start_over).
    pub next: Option<String>,
}

impl HeaderChange {
    /// All graphs that are to be stored with it.
    pub fn graphs(&self) -> impl Iterator<Item = &Arc<(u64, Value)>> {
        self.graph.iter().chain(&self.child_graphs)
    }
}

/// The result of [`Store::append`](super::Store::append).
///
/// Two writers of one journal: the one that comes second looks at what the first has recorded, and decides anew.
///
/// ```
/// use std::time::SystemTime;
/// use graphweft::store::{Append, Appended, Record, RunHeader, Store, StoreError};
/// # use graphweft::{EventKind, json, store::{MemoryStore, NewRun}};
///
/// async fn add(store: &impl Store, run: &RunHeader, record: Record) -> Result<u64, StoreError> {
///     let mut at = run.records;
///     loop {
///         match store.append(Append::new(run.key, at, SystemTime::now(), vec![record.clone()])).await? {
///             Appended::Done => return Ok(at),
///             _ => at += store.read(run.key, at, 100).await?.len() as u64,
///         }
///     }
/// }
///
/// # graphweft::block_on(async {
/// # let store = MemoryStore::new();
/// # store.create(NewRun::new("order-7", "pay", (1, json!({})).into(), SystemTime::now())).await?;
/// # let header = store.header("order-7").await?.expect("it was created");
/// let cancel = Record::new("pay", EventKind::CancelRequested);
/// assert_eq!(add(&store, &header, cancel.clone()).await?, 0);
/// assert_eq!(add(&store, &header, cancel).await?, 1); // the header is that of before
/// # Ok::<(), StoreError>(()) }).unwrap();
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Appended {
    /// It is recorded.
    Done,
    /// Nothing is recorded: the journal is longer (or shorter) than the caller believes. Read the new records and
    /// append again.
    Conflict,
}
