//! The turns of transactions in a journal.

use std::sync::Arc;

use super::journal::Journal;
use super::transaction::{Held, Turn};

impl Journal {
    /// Waits for the turn of a transaction. If it is exclusive, it is to [hold](Self::hold) appends in its turn, until that is dropped.
    pub(crate) async fn turn(self: &Arc<Self>, is_exclusive: bool) -> Turn {
        let turn = Arc::clone(&self.turns.turn).lock_owned().await;
        let held = Arc::downgrade(self) as _;
        Turn { held: is_exclusive.then_some(held), turn }
    }

    /// Whether appends wait for that of a transaction, which has not come yet.
    pub(crate) fn is_held(&self) -> bool {
        self.inner().is_held()
    }

    /// Has appends wait for that of a transaction, unless one is under way: that comes first. To be called when the step is
    /// polled: a driver that polls it is not in the middle of a flush then.
    pub(crate) fn hold(&self) -> Option<impl Future<Output = ()> + use<'_>> {
        let mut inner = self.inner();
        inner.held_for_transaction |= inner.in_flight.is_none();
        inner.in_flight.as_ref().map(|in_flight| self.wait_for(in_flight))
    }
}

impl Held for Journal {
    fn release(&self) {
        let was_held = std::mem::take(&mut self.inner().held_for_transaction);
        if was_held {
            self.turns.released.notify_waiters();
            self.wake_driver();
        }
    }
}
