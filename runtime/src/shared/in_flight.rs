//! The append that is under way, for those who wait for it.

use std::future::poll_fn;
use std::sync::Arc;
use std::task::Poll;

use futures_util::FutureExt;
use futures_util::future::{BoxFuture, Either, Shared};

use super::journal::Journal;
use super::pending::{InFlight, Inner};
use crate::halt::Halt;
use crate::store::StoreError;

/// Until the append was polled once.
struct Beginning<'j>(Option<&'j Arc<Journal>>);

impl Journal {
    /// Polls an append for the first time, which has just begun, and then waits until it is over.
    pub(super) async fn drive_append(self: &Arc<Self>, mut append: BoxFuture<'static, ()>) {
        let beginning = Beginning(Some(self));
        let is_over = poll_fn(|waker| Poll::Ready(append.poll_unpin(waker).is_ready())).await;
        if let Some(append) = beginning.was_polled(is_over, append) {
            append.await;
        }
    }

    /// Waits until the append is over, or until more is known of it. To be called under the lock: then it hears of that also if it
    /// happens before it is polled.
    pub(super) fn wait_for(&self, in_flight: &InFlight) -> impl Future<Output = ()> + use<'_> {
        match in_flight {
            InFlight::Begins => Either::Left(self.turns.released.notified()),
            InFlight::Waits(append) => Either::Right(append.clone()),
        }
    }

    /// Waits for the append under way, if there is one: others may have read its records in the store already, and act on
    /// them.
    pub(crate) async fn until_acknowledged(&self) {
        loop {
            let (before, is_last) = {
                let inner = self.inner();
                let Some(in_flight) = &inner.in_flight else { return };
                (self.wait_for(in_flight), matches!(in_flight, InFlight::Waits(_)))
            };
            before.await;
            if is_last {
                return;
            }
        }
    }
}

impl Inner {
    /// Whether an append is under way that is polled for the first time.
    fn begins(&self) -> bool {
        matches!(self.in_flight, Some(InFlight::Begins))
    }
}

impl Beginning<'_> {
    /// Ends the beginning. Returns the append as it is shared from now on, if it is not over.
    fn was_polled(mut self, is_over: bool, append: BoxFuture<'static, ()>) -> Option<Shared<BoxFuture<'static, ()>>> {
        let journal = self.0.take()?;
        let shared = (!is_over).then(|| append.shared());
        if let Some(shared) = &shared {
            let mut inner = journal.inner();
            // Otherwise the journal has halted.
            if inner.begins() {
                inner.in_flight = Some(InFlight::Waits(shared.clone()));
            }
        }
        journal.turns.released.notify_waiters();
        shared
    }
}

/// Only if the store has panicked: no other caller polls the append.
impl Drop for Beginning<'_> {
    fn drop(&mut self) {
        if let Some(journal) = self.0.take() {
            let message = "the store has panicked while it appended records".to_owned();
            journal.halt(Halt::Store(StoreError::Other { message }));
        }
    }
}
