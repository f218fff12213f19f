//! Timers of a run: one sleep for all of them.

use std::collections::{BTreeMap, HashMap};
use std::future::Future;
use std::pin::Pin;
use std::task::{Context as Waker, Poll};
use std::time::{Duration, SystemTime};

use tokio::time::{Instant, Sleep};

use crate::clock::Clock;
use crate::core::TaskId;

/// The purpose of a timer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Timer {
    /// The delay before another attempt.
    Delay(TaskId),
    /// The time limit of the graphs inside a node.
    Limit(TaskId),
    /// The time limit of the run.
    Run,
    /// The grace period of a cancelled attempt.
    Grace(TaskId),
}

impl Timer {
    fn is_limit(self) -> bool {
        matches!(self, Timer::Limit(_) | Timer::Run)
    }
}

#[derive(Default)]
pub(super) struct Timers {
    /// By time, and among equals in the order in which they were set.
    due: BTreeMap<(Instant, u64), Timer>,
    by_timer: HashMap<Timer, (Instant, u64)>,
    count: u64,
    /// How many of them are not time limits.
    others: usize,
    sleep: Option<Pin<Box<Sleep>>>,
}

impl Timers {
    /// Sets a timer. A time that is too far off for the clock is never.
    pub(super) fn set(&mut self, timer: Timer, after: Duration) {
        let Some(at) = Instant::now().checked_add(after) else { return };
        self.unset(timer);
        self.count += 1;
        self.due.insert((at, self.count), timer);
        self.by_timer.insert(timer, (at, self.count));
        self.others += usize::from(!timer.is_limit());
    }

    /// Sets a timer by wall-clock time, which fires at once if that time has passed. `None` unsets it.
    #[inline]
    pub(super) fn want(&mut self, timer: Timer, at: Option<SystemTime>, clock: &Clock) {
        match at {
            Some(at) => self.set(timer, clock.until(at)),
            None => self.unset(timer),
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.due.is_empty()
    }

    /// Whether all of them are time limits.
    pub(super) fn are_limits(&self) -> bool {
        self.others == 0
    }

    #[inline]
    pub(super) fn unset(&mut self, timer: Timer) {
        if self.by_timer.is_empty() {
            return;
        }
        if let Some(at) = self.by_timer.remove(&timer) {
            self.due.remove(&at);
            self.others -= usize::from(!timer.is_limit());
        }
    }

    pub(super) fn poll_next(&mut self, waker: &mut Waker<'_>) -> Poll<Timer> {
        let Some((&(at, count), &timer)) = self.due.first_key_value() else { return Poll::Pending };
        let sleep = self.sleep.get_or_insert_with(|| Box::pin(tokio::time::sleep_until(at)));
        if sleep.deadline() != at {
            sleep.as_mut().reset(at);
        }
        // A sleep ends with the next millisecond of tokio's clock, also one whose time has passed when it begins.
        if sleep.as_mut().poll(waker).is_pending() && at > Instant::now() {
            return Poll::Pending;
        }
        self.due.remove(&(at, count));
        self.by_timer.remove(&timer);
        self.others -= usize::from(!timer.is_limit());
        Poll::Ready(timer)
    }
}
