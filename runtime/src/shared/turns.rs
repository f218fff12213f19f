//! The turns of transactions in a journal.

use std::sync::Arc;

use futures::future::{BoxFuture, Shared};

use super::journal::Journal;
use super::transaction::{Held, Turn};

impl Journal {
    /// Waits for the turn of a transaction. If it is exclusive, no append of the run is under way then, and none begins before
    /// that of the transaction, or before the turn is dropped.
    pub(crate) async fn turn(self: &Arc<Self>, is_exclusive: bool) -> Turn {
        let turn = Arc::clone(&self.turns.turn).lock_owned().await;
        let held = Arc::downgrade(self) as _;
        let turn = Turn { held: is_exclusive.then_some(held), turn };
        while is_exclusive && let Some(in_flight) = self.hold() {
            in_flight.await;
        }
        turn
    }

    /// Whether appends wait for that of a transaction, which has not come yet.
    pub(crate) fn is_held(&self) -> bool {
        self.inner().is_held()
    }

    /// Has appends wait for a transaction, unless one is under way: that comes first.
    fn hold(&self) -> Option<Shared<BoxFuture<'static, ()>>> {
        let mut inner = self.inner();
        inner.held_for_transaction |= inner.in_flight.is_none();
        inner.in_flight.clone()
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
