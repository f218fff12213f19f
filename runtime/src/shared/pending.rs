//! What is pushed to a journal and not recorded yet.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::SystemTime;

use futures::future::{BoxFuture, Shared};
use tokio::sync::mpsc;

use crate::event::{Event, EventKind};
use crate::halt::Halt;
use crate::store::{HeaderChange, Record, RunStatus};

pub(super) struct Inner {
    pub(super) pending: Vec<Record>,
    /// What follows from pending records and is not recorded, each with how many of them come before it.
    pub(super) derived: Vec<Derived>,
    pub(super) header: HeaderChange,
    /// How many records the journal has.
    pub(super) length: u64,
    /// How many pushes there were, and how many of them are durable.
    pub(super) pushed: u64,
    pub(super) durable: u64,
    pub(super) in_flight: Option<Shared<BoxFuture<'static, ()>>>,
    pub(super) halted: Option<Halt>,
    pub(super) watchers: Vec<mpsc::UnboundedSender<Arc<Event>>>,
    pub(super) ended: bool,
    /// What the header says of a run that rests, and when it wants to go on.
    pub(super) rests: Option<Option<SystemTime>>,
    /// Whether it is on record that the run is to end.
    pub(super) cancelled: bool,
    /// Questions for which an answer of this process came after that of another.
    pub(super) late_answers: HashSet<String>,
}

/// From so many records on a batch has room for [`MANY`] more: those of the attempts that may begin before they are recorded.
const FEW: usize = 8;
const MANY: usize = 120;

/// Something that follows from the record before it, so many records into a batch.
#[derive(Clone)]
pub(super) struct Derived {
    pub(super) behind: usize,
    pub(super) record: Record,
}

impl Inner {
    /// Adds a record. Whether the run was at rest before it.
    pub(super) fn push(&mut self, record: Record) -> bool {
        if self.ended {
            return false;
        }
        let kind = &record.kind;
        let status = match kind {
            EventKind::RunCompleted { .. } => Some(RunStatus::Completed),
            EventKind::RunFailed { .. } => Some(RunStatus::Failed),
            EventKind::RunCancelled => Some(RunStatus::Cancelled),
            _ => None,
        };
        self.cancelled |= matches!(kind, EventKind::CancelRequested);
        let rested = self.leave_rest();
        if let Some(status) = status {
            self.header = HeaderChange { status: Some((status, None)), owner: Some(None), ..HeaderChange::default() };
            self.ended = true;
        }
        self.pushed += 1;
        // Records are large, and a batch of more than a few is one of many: its vector is not to grow step by step.
        if self.pending.len() == self.pending.capacity() && self.pending.len() >= FEW {
            self.pending.reserve(MANY);
        }
        self.pending.push(record);
        rested
    }

    /// From here on the run is not at rest. Whether it was.
    pub(super) fn leave_rest(&mut self) -> bool {
        let rested = self.rests.take().is_some();
        if rested {
            self.header.status = Some((RunStatus::Running, None));
        }
        rested
    }
}

/// Keeps some of the records; what follows from them stays behind them.
pub(super) fn retain(records: &mut Vec<Record>, derived: &mut [Derived], is_kept: impl Fn(&Record) -> bool) {
    for at in (0..records.len()).rev() {
        if !is_kept(&records[at]) {
            records.remove(at);
            for derived in derived.iter_mut().filter(|derived| derived.behind > at) {
                derived.behind -= 1;
            }
        }
    }
}
