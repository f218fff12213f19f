//! Transactions in which steps of a run write: one at a time, and what commits it is the append with the record of its step.

use std::sync::{Arc, Weak};

use futures_util::future::BoxFuture;
use tokio::sync::{Mutex, Notify, OwnedMutexGuard};

use crate::store::{Append, CommitOutcome, StoreError, StoreTransaction};

/// Whose turn it is.
#[derive(Default)]
pub(super) struct Turns {
    pub(super) turn: Arc<Mutex<()>>,
    /// Appends may begin again.
    pub(super) released: Notify,
}

/// What keeps appends waiting for a transaction.
pub(super) trait Held: Send + Sync {
    /// Lets them begin.
    fn release(&self);
}

/// The only step of the run whose transaction may be appended to.
pub(crate) struct Turn {
    /// If it keeps appends waiting.
    pub(super) held: Option<Weak<dyn Held>>,
    #[allow(dead_code, reason = "held, not read")]
    pub(super) turn: OwnedMutexGuard<()>,
}

/// What a step has written, with the turn in which it is appended. Dropped, it is undone.
pub(crate) struct OpenTransaction {
    // Undone before the next transaction of the run may begin.
    transaction: Arc<dyn StoreTransaction>,
    /// The path of the step, once its result is to be recorded.
    pub(super) step: String,
    #[allow(dead_code, reason = "held, not read")]
    turn: Turn,
}

impl OpenTransaction {
    pub(crate) fn new(transaction: Arc<dyn StoreTransaction>, turn: Turn) -> Self {
        OpenTransaction { transaction, step: String::new(), turn }
    }

    /// The same, for the result of the step at this path.
    pub(crate) fn of_step(self, path: &str) -> Self {
        OpenTransaction { step: path.to_owned(), ..self }
    }

    pub(super) fn append(&self, batch: Append) -> BoxFuture<'static, Result<CommitOutcome, StoreError>> {
        Arc::clone(&self.transaction).append(batch)
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        if let Some(held) = self.held.as_ref().and_then(Weak::upgrade) {
            held.release();
        }
    }
}
