//! Attempts that are polled by other tasks than the driver's.

use std::sync::Arc;

use crate::attempt::{Attempt, Beat};
use crate::core::TaskId;

pub(super) struct Spawned {
    pub(super) task: TaskId,
    pub(super) attempt: Arc<Attempt>,
    #[expect(dead_code, reason = "held, not read")]
    pub(super) beat: Option<Beat>,
    /// Whether this driver has dropped it. If it is gone without that, the tokio runtime is being shut down.
    pub(super) is_dropped: bool,
}

/// Spawned attempts, by the slot of their node's task in the core.
#[derive(Default)]
pub(super) struct SpawnedTasks {
    places: Vec<Option<Spawned>>,
    count: usize,
}

impl SpawnedTasks {
    pub(super) fn insert(&mut self, spawned: Spawned) {
        let at = spawned.task.slot();
        if self.places.len() <= at {
            self.places.resize_with(at + 1, || None);
        }
        self.places[at] = Some(spawned);
        self.count += 1;
    }

    pub(super) fn is_empty(&self) -> bool {
        self.count == 0
    }

    pub(super) fn attempts(&self) -> impl Iterator<Item = &Attempt> {
        self.places.iter().flatten().map(|spawned| &*spawned.attempt)
    }

    pub(super) fn get(&self, task: TaskId) -> Option<&Spawned> {
        self.places.get(task.slot())?.as_ref().filter(|spawned| spawned.task == task)
    }

    pub(super) fn get_mut(&mut self, task: TaskId) -> Option<&mut Spawned> {
        self.places.get_mut(task.slot())?.as_mut().filter(|spawned| spawned.task == task)
    }

    pub(super) fn remove(&mut self, task: TaskId) -> Option<Spawned> {
        let removed = self.places.get_mut(task.slot())?.take_if(|spawned| spawned.task == task);
        self.count -= usize::from(removed.is_some());
        removed
    }
}
