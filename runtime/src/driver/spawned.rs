//! Attempts that have a task of their own.

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::Arc;
use std::time::Instant;

use tokio::task::{AbortHandle, Id};

use super::attempt::Running;
use crate::attempt::{Attempt, Beat};
use crate::core::TaskId;
use crate::pace::Pace;
use crate::table::Finished;

pub(super) struct Spawned {
    pub(super) task: TaskId,
    pub(super) handle: AbortHandle,
    pub(super) attempt: Arc<Attempt>,
    #[expect(dead_code, reason = "held, not read")]
    pub(super) beat: Option<Beat>,
    /// Whether this driver has dropped it. Where it is gone without that, the tokio runtime is being shut down.
    pub(super) is_dropped: bool,
}

/// Attempts with a task of their own, by the place of their node's task in the core.
#[derive(Default)]
pub(super) struct SpawnedTasks {
    places: Vec<Option<Spawned>>,
    count: usize,
}

impl SpawnedTasks {
    pub(super) fn insert(&mut self, spawned: Spawned) {
        let at = spawned.task.place();
        if self.places.len() <= at {
            self.places.resize_with(at + 1, || None);
        }
        self.places[at] = Some(spawned);
        self.count += 1;
    }

    pub(super) fn is_empty(&self) -> bool {
        self.count == 0
    }

    pub(super) fn get(&self, task: TaskId) -> Option<&Spawned> {
        self.places.get(task.place())?.as_ref().filter(|spawned| spawned.task == task)
    }

    pub(super) fn get_mut(&mut self, task: TaskId) -> Option<&mut Spawned> {
        self.places.get_mut(task.place())?.as_mut().filter(|spawned| spawned.task == task)
    }

    pub(super) fn remove(&mut self, task: TaskId) -> Option<Spawned> {
        let removed = self.places.get_mut(task.place())?.take_if(|spawned| spawned.task == task);
        self.count -= usize::from(removed.is_some());
        removed
    }

    /// Looks at all of them: for tasks that did not come to their end.
    pub(super) fn of(&self, id: Id) -> Option<TaskId> {
        self.places.iter().flatten().find(|spawned| spawned.handle.id() == id).map(|spawned| spawned.task)
    }
}

/// An attempt, with a note of how soon its node is done, where there is a place to write it.
pub(super) fn timed(
    mut running: Running<'static, Finished>,
    mut pace: Option<Arc<Pace>>,
) -> impl Future<Output = Finished> + Send {
    poll_fn(move |waker| {
        let timed = pace.take().map(|pace| (pace, Instant::now()));
        let polled = Pin::new(&mut running).poll(waker);
        if let Some((pace, begun)) = timed {
            pace.note(polled.is_ready(), begun.elapsed());
        }
        polled
    })
}
