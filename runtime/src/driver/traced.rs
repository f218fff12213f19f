//! The spans of a run, and of the graph of a child, which are open while something in it works.
//!
//! Attempts have pieces of their own, which keep that of the run open, also after their ends until the driver has noticed them. So the
//! driver holds it only while it works itself, until it waits for the next occurrence.

use std::sync::Arc;
use std::task::{Context as Waker, Poll};

use super::ending::Ending;
use super::run::{Driver, Occurrence};
use crate::around::CallKind;
use crate::attempt::Attempt;
use crate::trace::{self, SpanOutcome, Traced, Work};

impl Driver {
    /// Whether the spans are those of what it drives. A workflow that a node runs by itself has none.
    fn owns_work(&self) -> bool {
        self.is_whole || self.within.is_some()
    }

    fn own_work(&self) -> Option<&Arc<Work>> {
        self.work.as_ref().filter(|_| self.owns_work())
    }

    pub(super) fn begin_span(&self) {
        if let Some(work) = self.own_work() {
            work.hold();
        }
    }

    /// The spans of an attempt that begins.
    pub(super) fn traced(&self, attempt: &Attempt) -> Option<Box<Traced>> {
        if self.work.is_none() && !trace::is_wanted() {
            return None;
        }
        self.begin_span();
        let work = Work::attempt(self.work.as_ref(), CallKind::Node, attempt.path(), attempt.number);
        let work = attempt.work.get_or_init(|| work);
        Some(Traced::new(Arc::clone(work), true))
    }

    /// Waits for the next occurrence.
    pub(super) fn poll_waiting(&mut self, waker: &mut Waker<'_>) -> Poll<Occurrence> {
        let polled = self.poll_next(waker);
        if polled.is_pending() {
            self.release_span();
        }
        polled
    }

    pub(super) fn release_span(&self) {
        if let Some(work) = self.own_work() {
            work.release();
        }
    }

    /// Something has happened in it: what was open for that remains open.
    pub(super) fn continue_span(&self) {
        if let Some(work) = self.own_work() {
            work.hold_open();
        }
    }

    /// The span of a child ends with its attempt.
    pub(super) fn end_span(&self, ending: &Ending) {
        let Some(work) = self.work.as_ref().filter(|_| self.is_whole) else { return };
        let outcome = match ending {
            Ending::Completed(_) => SpanOutcome::Completed,
            Ending::Failed(failure) => SpanOutcome::Failed(failure.to_string()),
            Ending::Cancelled => SpanOutcome::Cancelled,
            Ending::StartsOver(_) | Ending::StartedOver(_) => SpanOutcome::StartedOver,
            Ending::Halted(_) => return work.end(Some(SpanOutcome::Stopped)),
        };
        // It may have waited for the runs that it has started.
        let _open = work.piece();
        work.end(Some(outcome));
    }

    pub(super) fn drop_span(&self) {
        if let Some(work) = self.work.as_ref().filter(|_| self.is_whole) {
            work.end(Some(SpanOutcome::Dropped));
        }
    }
}
