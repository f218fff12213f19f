//! What watchers of a run get.

use std::sync::Arc;
use std::time::SystemTime;

use crate::event::{Event, EventKind};
use crate::store::{Record, Records};

/// What a watcher gets.
#[derive(Clone)]
pub(crate) enum Sent {
    One(Arc<Event>),
    /// All of an append. A watcher makes the events, and not the run.
    Batch(Arc<Batch>),
}

/// A consequence of the record before it; `behind` is the number of records of the batch before it.
#[derive(Clone)]
pub(super) struct Derived {
    pub(super) behind: usize,
    pub(super) record: Record,
}

/// The records of an append, and what follows from them.
pub(crate) struct Batch {
    pub(super) run_id: String,
    /// The number of the first record.
    pub(super) at: u64,
    pub(super) time: SystemTime,
    pub(super) records: Records,
    pub(super) derived: Vec<Derived>,
}

impl Sent {
    /// The events, in order. Those that follow from a record come behind it.
    pub(crate) fn for_each(self, mut take: impl FnMut(Event)) {
        match self {
            Sent::One(event) => take(Arc::unwrap_or_clone(event)),
            Sent::Batch(batch) => batch.for_each(take),
        }
    }

    /// Whether the end of the run is in it, behind which nothing is sent.
    pub(super) fn has_end(&self) -> bool {
        match self {
            Sent::One(event) => event.is_terminal(),
            Sent::Batch(batch) => batch.records.plain().any(|(_, record)| record.kind.is_terminal()),
        }
    }
}

impl Batch {
    fn for_each(&self, mut take: impl FnMut(Event)) {
        let mut derived = self.derived.iter().peekable();
        for (at, record) in self.records.iter().enumerate() {
            while let Some(before) = derived.next_if(|derived| derived.behind <= at) {
                take(self.event(at, &before.record.path, &before.record.kind, true));
            }
            take(self.event(at + 1, &record.path, &record.kind, false));
        }
        for last in derived {
            take(self.event(self.records.len(), &last.record.path, &last.record.kind, true));
        }
    }

    /// An event behind so many records.
    fn event(&self, behind: usize, path: &str, kind: &EventKind, derived: bool) -> Event {
        Event {
            version: Event::VERSION,
            run_id: self.run_id.clone(),
            seq: (self.at + behind as u64).saturating_sub(1),
            time: self.time,
            path: path.to_owned(),
            derived,
            kind: kind.clone(),
        }
    }
}
