//! The writes of an attempt, until it ends.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::core::{NextRun, WriteSet};
use crate::fault::Fault;
use crate::state_write::StateWrite;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    Shared,
    Local,
}

/// State writes and faults that an attempt leaves to its driver.
#[derive(Debug, Default)]
pub(crate) struct Draft {
    pub(crate) writes: Option<Box<WriteSet>>,
    /// The ranges of shared writes that children have made, with the path of each child.
    pub(crate) adopted: Vec<(Range<usize>, String)>,
    /// The writes of completed children whose outputs the body has not received yet.
    pub(crate) finished: Vec<(String, Vec<StateWrite>)>,
    /// A write that could not be made.
    pub(crate) broken: Option<Fault>,
    /// The fault with which the attempt has to end.
    pub(crate) fault: Option<Fault>,
    /// The run that follows this one, if the attempt ends with [`fault`](Self::fault) because it has started over.
    pub(crate) next_run: Option<Box<NextRun>>,
    /// Whether no other attempt may follow.
    pub(crate) is_last: bool,
}

/// A draft that an attempt and all clones of its context share.
#[derive(Debug, Default)]
pub(crate) struct SharedDraft {
    draft: Mutex<Draft>,
    /// Whether it was ever locked: most never are, and this check takes no lock.
    was_locked: AtomicBool,
}

impl SharedDraft {
    pub(crate) fn lock(&self) -> MutexGuard<'_, Draft> {
        self.was_locked.store(true, Ordering::Relaxed);
        self.draft.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether it was ever locked. Certain only while no other thread uses it.
    pub(crate) fn was_locked(&self) -> bool {
        self.was_locked.load(Ordering::Relaxed)
    }

    /// Whether nothing was written to it.
    pub(crate) fn is_unused(&mut self) -> bool {
        !*self.was_locked.get_mut() || self.draft.get_mut().unwrap_or_else(PoisonError::into_inner).is_unused()
    }
}

impl Draft {
    pub(crate) fn writes(&self, part: Part) -> &[StateWrite] {
        match (&self.writes, part) {
            (None, _) => &[],
            (Some(set), Part::Shared) => &set.shared,
            (Some(set), Part::Local) => &set.local,
        }
    }

    /// Whether nothing was written to it.
    pub(crate) fn is_unused(&self) -> bool {
        let has_ending = self.broken.is_some() || self.fault.is_some() || self.is_last;
        self.writes.is_none() && !has_ending && self.adopted.is_empty()
    }

    pub(crate) fn adopt(&mut self, child: &str, writes: &[StateWrite]) {
        if !writes.is_empty() {
            let from = self.writes(Part::Shared).len();
            self.adopted.push((from..from + writes.len(), child.to_owned()));
            for write in writes {
                self.write(Part::Shared, write.clone());
            }
        }
    }

    pub(crate) fn write(&mut self, part: Part, write: StateWrite) {
        let set = self.writes.get_or_insert_default();
        match part {
            Part::Shared => set.shared.push(write),
            Part::Local => set.local.push(write),
        }
    }
}
