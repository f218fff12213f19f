//! What the body of an attempt is woken by.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Wake, Waker};

use futures::task::AtomicWaker;

use crate::driver::{Shared, WaitingAttempts};

/// What the body of an attempt is woken by, and whether it waits.
///
/// A body waits if it has returned `Pending`, holds an open request, and everything that it has asked for is recorded. From
/// when it is woken it does not.
pub(crate) struct BodyWaker {
    run: Arc<Shared>,
    /// Wakes the task that polls the body.
    task: AtomicWaker,
    waiting: Option<Arc<WaitingAttempts>>,
    activity: Mutex<Activity>,
}

#[derive(Default)]
struct Activity {
    is_woken: bool,
    waits: bool,
    is_over: bool,
}

impl Wake for BodyWaker {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        let mut activity = self.activity();
        if !activity.is_over {
            activity.is_woken = true;
            self.set_waits(&mut activity, false);
        }
        drop(activity);
        self.task.wake();
    }
}

impl BodyWaker {
    pub(super) fn new(run: &Arc<Shared>, waiting: Option<Arc<WaitingAttempts>>) -> Self {
        BodyWaker { run: Arc::clone(run), task: AtomicWaker::new(), waiting, activity: Mutex::default() }
    }

    fn activity(&self) -> MutexGuard<'_, Activity> {
        self.activity.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The only place where an attempt begins or ceases to wait.
    fn set_waits(&self, activity: &mut Activity, waits: bool) {
        if activity.waits == waits {
            return;
        }
        activity.waits = waits;
        if let Some(waiting) = &self.waiting {
            waiting.changes(waits);
        }
        if self.run.records() {
            match waits {
                true => self.run.pulse.leave(),
                false => self.run.pulse.enter(),
            }
        }
    }

    pub(crate) fn register(&self, task: &Waker) {
        self.task.register(task);
    }

    /// Has the task that polls the body look at its requests.
    pub(super) fn wake_task(&self) {
        self.task.wake();
    }

    /// Whether the body is to be polled.
    pub(crate) fn take_woken(&self) -> bool {
        std::mem::take(&mut self.activity().is_woken)
    }

    /// It has to be polled still.
    pub(crate) fn keep_woken(&self) {
        self.activity().is_woken = true;
    }

    /// The body waits, unless it was woken.
    pub(crate) fn waits(&self) -> bool {
        let mut activity = self.activity();
        if activity.is_woken {
            return false;
        }
        if !activity.is_over {
            self.set_waits(&mut activity, true);
        }
        true
    }

    /// The body does not wait for a request any more.
    pub(crate) fn works(&self) {
        let mut activity = self.activity();
        self.set_waits(&mut activity, false);
    }

    /// The attempt is over. It counts as working until its driver has seen that.
    pub(crate) fn over(&self) {
        let mut activity = self.activity();
        self.set_waits(&mut activity, false);
        activity.is_over = true;
    }
}
