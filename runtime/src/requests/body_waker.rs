//! The waker of an attempt's body.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::task::{Wake, Waker};

use futures_util::task::AtomicWaker;

use crate::shared::{Desk, Shared, WaitingAttempts};

/// The waker of an attempt's body, which also tracks whether the body waits.
///
/// A body waits if it has returned `Pending`, holds an open request, and all its requests are recorded. As soon as it
/// is woken it does not wait any more.
pub(crate) struct BodyWaker {
    pub(super) run: Arc<Shared>,
    /// Wakes the task that polls the body.
    task: AtomicWaker,
    waiting: Option<Arc<WaitingAttempts>>,
    activity: Mutex<Activity>,
}

#[derive(Default)]
struct Activity {
    is_woken: bool,
    is_waiting: bool,
    is_over: bool,
}

/// The body's waker, as held by futures.
pub(super) struct LentWaker(Arc<BodyWaker>);

impl Wake for LentWaker {
    fn wake(self: Arc<Self>) {
        self.0.wake_body();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.0.wake_body();
    }
}

/// The last future that held it is gone, on any thread: from here on only requests can wake the body.
impl Drop for LentWaker {
    fn drop(&mut self) {
        self.0.look_again();
    }
}

/// The waker with which the body is polled. While futures hold it, only a weak reference is kept between polls, so that
/// the drop of the last future's waker is noticed.
pub(super) enum OwnWaker {
    Kept(Arc<LentWaker>, Waker),
    Lent(Weak<LentWaker>),
}

impl OwnWaker {
    pub(super) fn new(body: &Arc<BodyWaker>) -> Self {
        let lent = Arc::new(LentWaker(Arc::clone(body)));
        OwnWaker::Kept(Arc::clone(&lent), Waker::from(lent))
    }

    /// For a poll of the body.
    pub(super) fn begin(&mut self, body: &Arc<BodyWaker>) -> Waker {
        let lent = match self {
            OwnWaker::Kept(_, waker) => return waker.clone(),
            OwnWaker::Lent(lent) => lent.upgrade().unwrap_or_else(|| Arc::new(LentWaker(Arc::clone(body)))),
        };
        let waker = Waker::from(Arc::clone(&lent));
        *self = OwnWaker::Kept(lent, waker.clone());
        waker
    }

    /// After a poll of the body.
    pub(super) fn end(&mut self) {
        if self.is_unused() {
            return;
        }
        if let OwnWaker::Kept(lent, _) = self {
            *self = OwnWaker::Lent(Arc::downgrade(lent));
        }
    }

    /// Whether no future holds it.
    pub(super) fn is_unused(&self) -> bool {
        match self {
            OwnWaker::Kept(lent, _) => Arc::strong_count(lent) == 2,
            OwnWaker::Lent(lent) => lent.strong_count() == 0,
        }
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
        if activity.is_waiting == waits {
            return;
        }
        activity.is_waiting = waits;
        if let Some(waiting) = &self.waiting {
            waiting.changes(waits);
        }
        if waits {
            self.run.pulse.begins_to_wait();
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

    pub(super) fn desk(&self) -> &Desk {
        self.run.desk()
    }

    /// Has the body polled.
    pub(crate) fn wake_body(&self) {
        let mut activity = self.activity();
        if !activity.is_over {
            activity.is_woken = true;
            self.set_waits(&mut activity, false);
        }
        drop(activity);
        self.task.wake();
    }

    /// Has the task that polls the body look at its requests again, since they have changed outside of a poll of the
    /// body. Until it has, the body does not count as waiting.
    pub(super) fn look_again(&self) {
        self.end_waiting();
        self.task.wake();
    }

    /// Whether the body was woken, and has to be polled.
    pub(crate) fn take_woken(&self) -> bool {
        std::mem::take(&mut self.activity().is_woken)
    }

    /// Marks it as woken again: it has still to be polled.
    pub(crate) fn keep_woken(&self) {
        self.activity().is_woken = true;
    }

    /// Begins to wait, unless the body was woken. Returns whether it waits.
    pub(crate) fn begin_waiting(&self) -> bool {
        let mut activity = self.activity();
        if activity.is_woken {
            return false;
        }
        if !activity.is_over {
            self.set_waits(&mut activity, true);
        }
        true
    }

    /// Whether the body waits.
    pub(crate) fn waits(&self) -> bool {
        self.activity().is_waiting
    }

    /// The body does not wait for a request any more.
    pub(crate) fn end_waiting(&self) {
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
