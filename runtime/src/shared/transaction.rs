//! Transactions in which steps of a run write: one at a time, and what commits it is the append with the record of its step.

use std::sync::{Arc, Weak};

use futures::future::{BoxFuture, Shared};
use tokio::sync::{Mutex, Notify, OwnedMutexGuard};

use super::journal::Journal;
use crate::store::StoreTransaction;

/// Whose turn it is.
#[derive(Default)]
pub(super) struct Turns {
    turn: Arc<Mutex<()>>,
    /// Appends may begin again.
    pub(super) released: Notify,
}

/// The only step of the run whose transaction may be appended to.
pub(crate) struct Turn {
    journal: Weak<Journal>,
    /// Whether it may keep appends of the run waiting.
    is_exclusive: bool,
    #[allow(dead_code, reason = "held, not read")]
    turn: OwnedMutexGuard<()>,
}

/// What a step has written, with the turn in which it is appended. Dropped, it is undone.
pub(crate) struct OpenTransaction {
    // Undone before the next transaction of the run may begin.
    pub(super) transaction: Arc<dyn StoreTransaction>,
    #[allow(dead_code, reason = "held, not read")]
    turn: Turn,
}

impl OpenTransaction {
    pub(crate) fn new(transaction: Arc<dyn StoreTransaction>, turn: Turn) -> Self {
        OpenTransaction { transaction, turn }
    }
}

impl Journal {
    /// Waits for the turn of a transaction. If it is exclusive, no append of the run is under way then, and none begins before
    /// that of the transaction, or before the turn is dropped.
    pub(crate) async fn turn(self: &Arc<Self>, is_exclusive: bool) -> Turn {
        let turn = Arc::clone(&self.turns.turn).lock_owned().await;
        let turn = Turn { journal: Arc::downgrade(self), is_exclusive, turn };
        while let Some(in_flight) = self.hold(is_exclusive) {
            in_flight.await;
        }
        turn
    }

    /// Has appends wait for an exclusive transaction, unless one is under way: that comes first.
    fn hold(&self, is_exclusive: bool) -> Option<Shared<BoxFuture<'static, ()>>> {
        let mut inner = self.inner();
        if inner.in_flight.is_none() {
            inner.held_for_transaction |= is_exclusive;
        }
        inner.in_flight.clone().filter(|_| is_exclusive)
    }

    /// Lets appends begin that waited for a transaction.
    pub(super) fn release(&self) {
        let was_held = std::mem::take(&mut self.inner().held_for_transaction);
        if was_held {
            self.turns.released.notify_waiters();
            self.wake_driver();
        }
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        if self.is_exclusive
            && let Some(journal) = self.journal.upgrade()
        {
            journal.release();
        }
    }
}
