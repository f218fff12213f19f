//! Waits for the next occurrence in a run that is driven here.

use std::future::Future;
use std::task::{Context as Waker, Poll};

use super::attempt::Advanced;
use super::lanes::Ended;
use super::run::{Driver, Occurrence, UnderWay};
use super::spawned::Spawned;
use crate::catch::caught;
use crate::core::TaskId;

impl Driver {
    pub(super) fn poll_next(&mut self, waker: &mut Waker<'_>) -> Poll<Occurrence> {
        if self.is_whole && self.shared.records() {
            self.shared.pulse.waker.register(waker.waker());
            let journal = self.shared.journal.as_ref();
            let has_to_look = journal.is_some_and(|journal| {
                journal.driver.register(waker.waker());
                journal.is_stopped() || journal.take_needs_driver()
            });
            let has_moved = self.says_that_it_waits && self.still_at != Some(self.shared.pulse.generation());
            if has_to_look || has_moved || self.shared.pulse.take_said() {
                return Poll::Ready(Occurrence::Said);
            }
            if !self.was_cancelled && journal.is_some_and(|journal| journal.is_to_be_cancelled()) {
                self.was_cancelled = true;
                self.wake_up();
                return Poll::Ready(Occurrence::Cancel);
            }
        }
        if let Some(cancel) = &mut self.cancel
            && cancel.as_mut().poll(waker).is_ready()
        {
            self.cancel = None;
            self.wake_up();
            return Poll::Ready(Occurrence::Cancel);
        }
        if std::mem::take(&mut self.clock_first)
            && let Poll::Ready(timer) = self.poll_timers(waker)
        {
            // Others may be due as well.
            self.clock_first = true;
            return Poll::Ready(timer);
        }
        if let Poll::Ready(ended) = self.poll_alone(waker) {
            return Poll::Ready(ended);
        }
        if let Poll::Ready(ended) = self.poll_ended(waker) {
            return Poll::Ready(ended);
        }
        if let Some((task, item)) = self.waiting_item(waker.waker()) {
            return Poll::Ready(Occurrence::WaitingItem(task, item));
        }
        // Attempts that wait make room for others to begin.
        if self.waiting.as_ref().is_some_and(|waiting| waiting.take_more(waker.waker())) {
            return Poll::Ready(Occurrence::Said);
        }
        let timer = self.poll_timers(waker);
        if timer.is_pending() && self.lag == 0 {
            self.rest();
            if let Some(generation) = self.has_come_to_rest() {
                return Poll::Ready(Occurrence::Still(generation));
            }
        }
        timer
    }

    fn poll_alone(&mut self, waker: &mut Waker<'_>) -> Poll<Occurrence> {
        let Some(alone) = &mut self.alone else { return Poll::Pending };
        let Poll::Ready(finished) = alone.running.poll(Some(&alone.attempt), waker) else { return Poll::Pending };
        let finished = match self.advance_in_place(finished, waker) {
            // All that was pushed is recorded before anything is waited for.
            Advanced::Pending if self.lag > 0 => return Poll::Ready(Occurrence::Said),
            Advanced::Pending => return Poll::Pending,
            Advanced::Later => return Poll::Ready(Occurrence::Said),
            Advanced::Ended(finished) => finished,
        };
        self.wake_up();
        match self.alone.take() {
            Some(UnderWay { task, attempt, .. }) => Poll::Ready(Occurrence::Ended(task, attempt, finished)),
            None => Poll::Pending,
        }
    }

    /// The next attempt that was polled by another task and has ended.
    pub(super) fn poll_ended(&mut self, waker: &mut Waker<'_>) -> Poll<Occurrence> {
        if self.ended.as_slice().is_empty()
            && let Some(lanes) = self.lanes.as_ref().filter(|_| !self.spawned.is_empty() || self.batch.is_some())
        {
            self.ended = lanes.ends.take(waker.waker()).into_iter();
        }
        while let Some(mut ended) = self.ended.next() {
            self.wake_up();
            let (task, finished) = match &mut ended {
                Ended::Attempt(task, finished) => (task, finished),
                Ended::Batch => return Poll::Ready(Occurrence::Batch),
                Ended::Lost => return Poll::Ready(Occurrence::ShutDown),
            };
            let Some(Spawned { attempt, is_dropped, .. }) = self.spawned.remove(*task) else { continue };
            // Before the attempt is dropped.
            self.continue_span();
            return Poll::Ready(match finished.take() {
                Some(finished) => Occurrence::Ended(*task, attempt, finished),
                None if is_dropped => {
                    attempt.end_noticed();
                    Occurrence::Stopped(*task)
                }
                None => Occurrence::ShutDown,
            });
        }
        Poll::Pending
    }

    /// The next item of which every remaining attempt waits, while an item behind it has failed.
    fn waiting_item(&mut self, waker: &std::task::Waker) -> Option<(TaskId, usize)> {
        if !self.run.has_failed_items() {
            return None;
        }
        let pulse = &self.shared.pulse;
        pulse.watch_waits(waker);
        let is_still = self.shared.records() && pulse.still().is_some();
        self.run.waiting_item(|task| self.attempt_under_way(task).is_some_and(|attempt| attempt.only_waits(is_still)))
    }

    fn poll_timers(&mut self, waker: &mut Waker<'_>) -> Poll<Occurrence> {
        match caught(|| self.timers.poll_next(waker)) {
            Ok(timer) => timer.map(Occurrence::Timer),
            Err(fault) => Poll::Ready(Occurrence::Broken(fault)),
        }
    }
}
