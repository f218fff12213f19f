//! Guards that are counted while they live: clones of a context, and steps.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::Requests;

/// A clone of the context that is alive.
pub(crate) struct ClonedContext(Arc<Requests>);

impl ClonedContext {
    pub(crate) fn of(requests: &Arc<Requests>) -> Self {
        let requests = Arc::clone(requests);
        requests.clones.fetch_add(1, Ordering::AcqRel);
        ClonedContext(requests)
    }

    /// Whether the attempt has ended, or is about to be dropped.
    pub(crate) fn has_ended(&self) -> bool {
        self.0.inner().is_over
    }

    /// Resolves when the attempt has ended.
    pub(crate) async fn ended(&self) {
        let ended = {
            let mut inner = self.0.inner();
            if inner.is_over {
                return;
            }
            inner.ended.get_or_insert_default().clone()
        };
        ended.cancelled().await;
    }
}

impl Drop for ClonedContext {
    fn drop(&mut self) {
        if self.0.clones.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.0.waker.look_again();
        }
    }
}

/// A step is executed as a part of the body while this lives.
pub(crate) struct StepUnderWay<'a>(&'a Requests);

impl Drop for StepUnderWay<'_> {
    fn drop(&mut self) {
        let mut inner = self.0.inner();
        inner.steps -= 1;
        let is_polled = inner.is_polled;
        drop(inner);
        if !is_polled {
            self.0.waker.look_again();
        }
    }
}

impl Requests {
    pub(crate) fn step_begins(&self) -> StepUnderWay<'_> {
        self.inner().steps += 1;
        StepUnderWay(self)
    }
}
