//! The task of an attempt.

use std::sync::{Mutex, PoisonError};

use tokio::task::AbortHandle;

/// The task that polls an attempt and nothing else. Another thread may just be spawning it when the attempt is dropped.
#[derive(Default)]
pub(crate) struct OwnTask(Mutex<OwnTaskState>);

#[derive(Default)]
enum OwnTaskState {
    #[default]
    None,
    Has(AbortHandle),
    Dropped,
}

impl OwnTask {
    /// Sets the task of the attempt.
    pub(crate) fn set(&self, handle: AbortHandle) {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match &*state {
            OwnTaskState::Dropped => handle.abort(),
            OwnTaskState::None | OwnTaskState::Has(_) => *state = OwnTaskState::Has(handle),
        }
    }

    /// Drops the attempt at its `.await`, or before it is polled.
    pub(crate) fn abort(&self) {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let OwnTaskState::Has(handle) = std::mem::replace(&mut *state, OwnTaskState::Dropped) {
            handle.abort();
        }
    }

    pub(crate) fn is_dropped(&self) -> bool {
        matches!(*self.0.lock().unwrap_or_else(PoisonError::into_inner), OwnTaskState::Dropped)
    }
}
