//! Attempts that are under way.

use std::sync::Arc;

use super::Attempt;

/// An attempt is under way while this lives. It counts as working, unless its body [waits](crate::requests::BodyWaker).
pub(crate) struct Beat {
    attempt: Arc<Attempt>,
    /// Whether its run has to stay in memory, since it cannot begin again.
    stays: bool,
}

impl Beat {
    /// `None` if nothing of the run is recorded. `is_kept`: it is executed elsewhere, and continues without this process.
    pub(crate) fn of(attempt: &Arc<Attempt>, is_kept: bool) -> Option<Beat> {
        attempt.run.journal.as_ref()?;
        let stays = attempt.once_only && !is_kept;
        if stays {
            attempt.run.pulse.once_only(true);
        }
        attempt.run.pulse.enter();
        Some(Beat { attempt: Arc::clone(attempt), stays })
    }
}

impl Drop for Beat {
    fn drop(&mut self) {
        let Beat { attempt, stays } = self;
        if *stays {
            attempt.run.pulse.once_only(false);
        }
        if let Some(requests) = attempt.requests.get() {
            requests.waker.over();
        }
        attempt.run.pulse.leave();
    }
}
