//! Records that are pushed to a journal and not appended yet.

use std::time::SystemTime;

use futures_util::future::{BoxFuture, Shared};
use tokio::sync::mpsc;

use super::question_index::QuestionIndex;
use super::recent_progress::RecentProgress;
use super::sent::{Derived, Sent};
use super::steps::{Step, Steps};
use super::succession::Over;
use super::transaction::OpenTransaction;
use crate::core::Place;
use crate::event::EventKind;
use crate::halt::Halt;
use crate::sorted::SortedSet;
use crate::store::{Compact, HeaderChange, NewRun, Record, Records, RunStatus, to_the_millisecond};

/// Records, some of them compact.
#[derive(Default)]
pub(super) struct Pending {
    plain: Vec<Record>,
    steps: Steps,
}

/// An append that is under way. Most are over when they were polled once, and no other caller has waited for them: only others are shared.
#[derive(Clone)]
pub(super) enum InFlight {
    /// The caller that has begun it polls it for the first time.
    Begins,
    /// It waits for the store, and all callers that need it poll it.
    Waits(Shared<BoxFuture<'static, ()>>),
}

pub(super) struct Inner {
    pub(super) pending: Pending,
    /// Consequences of pending records, which are not recorded, each with the number of pending records before it.
    pub(super) derived: Vec<Derived>,
    pub(super) header: HeaderChange,
    /// How many records the journal has.
    pub(super) length: u64,
    /// How many pushes there were, and how many of them are durable.
    pub(super) pushed: u64,
    pub(super) durable: u64,
    pub(super) in_flight: Option<InFlight>,
    pub(super) halted: Option<Box<Halt>>,
    pub(super) watchers: Vec<mpsc::UnboundedSender<Sent>>,
    /// For watchers to come.
    pub(super) recent: RecentProgress,
    pub(super) ended: bool,
    /// Whether the header shows the run at rest, and the time at which it is to be resumed.
    pub(super) rests: Option<Option<SystemTime>>,
    /// Whether a cancellation of the run is recorded.
    pub(super) cancelled: bool,
    /// Questions for which an answer of this process came after one of another process.
    pub(super) late_answers: SortedSet<String>,
    /// The names and ids of signals that this process has pushed and that are not recorded yet.
    pub(super) sent: SortedSet<(String, String)>,
    /// Those of them that came after one of another process.
    pub(super) late_signals: SortedSet<(String, String)>,
    /// The open questions as the store has them.
    pub(super) questions: QuestionIndex,
    /// The run that begins with the last of the pending records, which says that this one has started over.
    pub(super) next: Option<Box<NewRun>>,
    /// How this run ended, if it was to start over.
    pub(super) over: Option<Box<Over>>,
    /// The transaction in which the pending records are to be appended.
    pub(super) transaction: Option<Box<OpenTransaction>>,
    /// Whether nothing is appended before that of a transaction which is under way.
    pub(super) held_for_transaction: bool,
    /// How many records there are when the next snapshot is due.
    pub(super) next_snapshot: u64,
    /// The hashes of the graphs of children that were stored with its records.
    pub(super) child_graphs: SortedSet<u64>,
}

/// The number of records from which on a batch reserves room for [`MANY`] more: for the attempts that may begin before
/// their records are appended.
const FEW: usize = 8;
const MANY: usize = 120;

impl Pending {
    pub(super) fn len(&self) -> usize {
        self.plain.len() + self.steps.records()
    }

    fn push(&mut self, record: Record, begins: bool) {
        // Records are large. A batch may be one of many that stay in memory, and one of more than a few has many: its
        // vector is not to grow step by step. The first two say that the run and that its first node have started,
        // most others that a node is completed and that the next one has started.
        if self.plain.len() == self.plain.capacity() {
            match self.plain.len() {
                0 => self.plain = Vec::with_capacity(if begins { 1 } else { 2 }),
                FEW.. => self.plain.reserve(MANY),
                _ => {}
            }
        }
        self.plain.push(record);
    }

    /// Leaves out when children and steps began, where that is the time of their records.
    pub(super) fn begin_at(&mut self, time: SystemTime) {
        for record in &mut self.plain {
            if let EventKind::NodeStarted { began, .. } = &mut record.kind
                && began.is_some_and(|began| to_the_millisecond(began) >= to_the_millisecond(time))
            {
                *began = None;
            }
        }
    }

    /// All but those that are compact, which only say that nodes are completed and have started.
    pub(super) fn plain(&self) -> &[Record] {
        &self.plain
    }

    /// All of them, as a vector that may be changed.
    pub(super) fn whole(&mut self) -> &mut Vec<Record> {
        if !self.steps.is_empty() {
            let steps = std::mem::take(&mut self.steps);
            self.plain = steps.among(&self.plain);
        }
        &mut self.plain
    }
}

impl From<Pending> for Records {
    fn from(Pending { plain, steps }: Pending) -> Self {
        if steps.is_empty() { Records::from(plain) } else { Records::compact(plain, Box::new(steps)) }
    }
}

impl Inner {
    /// The number of the last record that watchers have got.
    pub(super) fn last_seq(&self) -> u64 {
        self.length.saturating_sub(1)
    }

    /// Adds a record. Returns whether the run was at rest before it.
    pub(super) fn push(&mut self, record: Record) -> bool {
        if self.ended {
            return false;
        }
        let kind = &record.kind;
        let status = match kind {
            EventKind::RunCompleted { .. } => Some(RunStatus::Completed),
            EventKind::RunFailed { .. } => Some(RunStatus::Failed),
            EventKind::RunCancelled => Some(RunStatus::Cancelled),
            EventKind::RunStartedOver { .. } => Some(RunStatus::StartedOver),
            _ => None,
        };
        self.cancelled |= matches!(kind, EventKind::CancelRequested);
        if !self.recent.is_empty() && kind.ends_attempt() {
            self.recent.forget(&record.path);
        }
        let rested = self.leave_rest();
        if let Some(status) = status {
            if let EventKind::RunStartedOver { next } = kind {
                self.header.next = Some(next.clone());
            }
            // Its graph may be new, if it ends with the records with which it was resumed.
            (self.header.status, self.header.owner) = (Some((status, None)), Some(None));
            self.ended = true;
        }
        self.pushed += 1;
        self.pending.push(record, self.length < 2);
        rested
    }

    /// Adds the two records of a step from a node to the next one. Returns whether the run was at rest before it.
    pub(super) fn push_step(&mut self, step: Step, begins: bool, origin: &Place) -> bool {
        if self.ended {
            return false;
        }
        let rested = self.leave_rest();
        self.pushed += 2;
        // Nothing else is under way then.
        self.recent.clear();
        self.pending.steps.push(self.pending.plain.len(), step, begins, origin);
        rested
    }

    /// Whether appends wait for that of a transaction.
    pub(super) fn is_held(&self) -> bool {
        self.held_for_transaction && self.transaction.is_none()
    }

    /// Marks the run as not at rest. Returns whether it was.
    pub(super) fn leave_rest(&mut self) -> bool {
        let rested = self.rests.take().is_some();
        if rested {
            self.header.status = Some((RunStatus::Running, None));
        }
        rested
    }
}

/// Retains some of the records; the consequences of each stay behind it.
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
