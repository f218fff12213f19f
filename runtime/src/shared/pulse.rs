//! Counts the moving parts of a run.

use std::sync::atomic::Ordering;
use std::sync::{Mutex, PoisonError};
use std::task::Waker;

use crate::sync::{AtomicBool, AtomicU64, AtomicUsize, AtomicWaker};

/// Counts the moving parts of a run, so that the driver can detect when nothing moves.
#[derive(Default)]
pub(crate) struct Pulse {
    /// Attempts and steps that do not only wait for something that they asked their context for, and drivers of nested
    /// graphs that are at work.
    busy: AtomicUsize,
    /// How often something has begun to move.
    generation: AtomicU64,
    /// Attempts that may not run again, and so may not be dropped while they wait.
    once_only: AtomicUsize,
    /// Attempts that are executed elsewhere, and whose result would not wake their run outside of the memory.
    elsewhere: AtomicUsize,
    /// A message was pushed that the driver has to flush, since no other record follows soon.
    said: AtomicBool,
    /// The run is to leave the memory, if it is at rest.
    unload: AtomicBool,
    /// Whether the driver has reported that the run waits, so that it has to be woken when something moves.
    is_watching: AtomicBool,
    /// The driver of the run.
    pub(crate) waker: AtomicWaker,
    /// Drivers that are to be woken when an attempt begins to wait.
    watchers: Mutex<Vec<Waker>>,
    is_watched: AtomicBool,
}

impl Pulse {
    /// Something begins to move. It is counted before the generation changes: a reader of the new generation sees that
    /// something moves, or has moved.
    pub(crate) fn enter(&self) {
        let was_busy = self.busy.fetch_add(1, Ordering::AcqRel);
        self.generation.fetch_add(1, Ordering::SeqCst);
        if was_busy == 0 && self.is_watching.load(Ordering::SeqCst) && self.is_watching.swap(false, Ordering::SeqCst) {
            self.waker.wake();
        }
    }

    /// Whether nothing has begun to move since this generation. If so, the driver is woken when something does.
    pub(crate) fn is_still_since(&self, since: Option<u64>) -> bool {
        if since != Some(self.generation()) {
            return false;
        }
        self.is_watching.store(true, Ordering::SeqCst);
        since == Some(self.generation.load(Ordering::SeqCst))
    }

    /// Wakes a driver once, when the next attempt begins to wait. The driver must look at the attempts after this call,
    /// since one may have begun to wait before it.
    pub(crate) fn watch_waits(&self, driver: &Waker) {
        let mut watchers = self.watchers.lock().unwrap_or_else(PoisonError::into_inner);
        // A driver registers whenever it is polled.
        if !watchers.iter().any(|watcher| watcher.will_wake(driver)) {
            watchers.push(driver.clone());
        }
        drop(watchers);
        self.is_watched.store(true, Ordering::SeqCst);
    }

    /// An attempt has begun to wait.
    pub(crate) fn begins_to_wait(&self) {
        if self.is_watched.load(Ordering::SeqCst) && self.is_watched.swap(false, Ordering::SeqCst) {
            let watchers = std::mem::take(&mut *self.watchers.lock().unwrap_or_else(PoisonError::into_inner));
            watchers.into_iter().for_each(Waker::wake);
        }
    }

    pub(crate) fn generation(&self) -> u64 {
        self.generation.load(Ordering::Acquire)
    }

    pub(crate) fn once_only(&self, more: bool) {
        if more {
            self.once_only.fetch_add(1, Ordering::AcqRel);
        } else {
            self.once_only.fetch_sub(1, Ordering::AcqRel);
        }
    }

    pub(crate) fn elsewhere(&self, more: bool) {
        if more {
            self.elsewhere.fetch_add(1, Ordering::AcqRel);
        } else if self.elsewhere.fetch_sub(1, Ordering::AcqRel) == 1 {
            // The run may be at rest now.
            self.waker.wake();
        }
    }

    pub(crate) fn is_elsewhere(&self) -> bool {
        self.elsewhere.load(Ordering::Acquire) > 0
    }

    pub(crate) fn may_repeat_all(&self) -> bool {
        self.once_only.load(Ordering::Acquire) == 0
    }

    pub(crate) fn leave(&self) {
        if self.busy.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.waker.wake();
        }
    }

    /// The present generation, if nothing moves. As long as [`generation`](Self::generation) returns the same, nothing
    /// has begun to move since: a movement that begins during this call belongs to a later generation.
    pub(crate) fn still(&self) -> Option<u64> {
        let generation = self.generation();
        (self.busy.load(Ordering::Acquire) == 0).then_some(generation)
    }

    /// Has the driver record pushed messages.
    pub(crate) fn say(&self) {
        self.said.store(true, Ordering::Release);
        self.waker.wake();
    }

    pub(crate) fn take_said(&self) -> bool {
        self.said.load(Ordering::Relaxed) && self.said.swap(false, Ordering::AcqRel)
    }

    pub(crate) fn unload(&self) {
        self.unload.store(true, Ordering::Release);
        self.waker.wake();
    }

    pub(crate) fn is_unwanted(&self) -> bool {
        self.unload.load(Ordering::Acquire)
    }

    pub(crate) fn take_unwanted(&self) {
        self.unload.store(false, Ordering::Release);
    }
}

/// How many attempts of a driver wait for a request of theirs. They hold no permit, so that others may begin.
#[derive(Debug, Default)]
pub(crate) struct WaitingAttempts {
    count: AtomicUsize,
    has_more: AtomicBool,
    driver: AtomicWaker,
}

impl WaitingAttempts {
    /// An attempt begins to wait, or does not wait any more.
    pub(crate) fn changes(&self, waits: bool) {
        if waits {
            self.count.fetch_add(1, Ordering::AcqRel);
            self.has_more.store(true, Ordering::Release);
            self.driver.wake();
        } else {
            self.count.fetch_sub(1, Ordering::AcqRel);
        }
    }

    pub(crate) fn count(&self) -> usize {
        self.count.load(Ordering::Acquire)
    }

    /// Whether an attempt has begun to wait since the last call. The driver is woken for later ones.
    pub(crate) fn take_more(&self, driver: &Waker) -> bool {
        self.driver.register(driver);
        self.has_more.swap(false, Ordering::AcqRel)
    }
}
