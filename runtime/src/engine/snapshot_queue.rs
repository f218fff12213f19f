//! The runs of which snapshots are due.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use crate::shared::Snapshots;
use crate::store::RunKey;

/// One snapshot is made at a time, so that they take little of the memory and of the processors, however many long runs
/// there are.
#[derive(Default)]
pub(super) struct SnapshotQueue {
    queued: Mutex<Queued>,
    /// What tells this engine that one is due; one for all runs.
    pub(super) due: OnceLock<Arc<dyn Snapshots>>,
}

#[derive(Default)]
struct Queued {
    runs: VecDeque<RunKey>,
    /// Whether a task makes them.
    is_worked: bool,
}

impl SnapshotQueue {
    fn queued(&self) -> MutexGuard<'_, Queued> {
        self.queued.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a run. Returns whether a task is to be made that works.
    pub(super) fn push(&self, run: RunKey) -> bool {
        let mut queued = self.queued();
        queued.runs.push_back(run);
        !std::mem::replace(&mut queued.is_worked, true)
    }

    /// The next run. If there is none, another task works for those that come: under the same lock, so that none is left
    /// out.
    pub(super) fn next(&self) -> Option<RunKey> {
        let mut queued = self.queued();
        let next = queued.runs.pop_front();
        queued.is_worked = next.is_some();
        next
    }

    /// The task is gone before there was none.
    pub(super) fn is_left(&self) {
        self.queued().is_worked = false;
    }
}
