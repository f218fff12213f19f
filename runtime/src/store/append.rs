//! What is added to a run.

use std::sync::Arc;
use std::time::SystemTime;

use serde_json::Value;

use super::ids::{Owner, RunKey};
use super::open_question::QuestionChange;
use super::records::Records;
use super::status::RunStatus;

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
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Appended {
    /// It is recorded.
    Done,
    /// Nothing is recorded: the journal is longer (or shorter) than the caller believes. Read the new records and
    /// append again.
    Conflict,
}
