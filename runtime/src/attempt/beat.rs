//! Attempts that are under way.

use std::sync::Arc;

use super::Attempt;

/// An attempt is under way while this lives. It counts as working, unless its body [waits](crate::requests::BodyWaker).
pub(crate) struct Beat(Arc<Attempt>);

impl Beat {
    /// `None` if nothing of the run is recorded.
    pub(crate) fn of(attempt: &Arc<Attempt>) -> Option<Beat> {
        attempt.run.journal.as_ref()?;
        if attempt.once_only {
            attempt.run.pulse.once_only(true);
        }
        attempt.run.pulse.enter();
        Some(Beat(Arc::clone(attempt)))
    }
}

impl Drop for Beat {
    fn drop(&mut self) {
        if self.0.once_only {
            self.0.run.pulse.once_only(false);
        }
        if let Some(requests) = self.0.requests.get() {
            requests.waker.over();
        }
        self.0.run.pulse.leave();
    }
}
