//! The turn of a step that writes in a transaction. It ends if the node does not poll the step, so that others get it.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context as Waking, Poll, Wake, Waker, ready};

use futures_util::FutureExt;
use futures_util::future::{BoxFuture, Either, select};
use tokio::sync::Notify;
use tokio::time::{Instant, timeout_at};

use super::step::NotWritten;
use crate::shared::{Journal, OpenTransaction, Turn};
use crate::store::{PATIENCE, StoreTransaction};

/// The turn of a step, which a task gets for it and takes back when the step could go on for [`PATIENCE`] and was not polled.
/// The turn ends at once when this is dropped.
pub(super) struct Lease(Arc<Shared>);

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    /// Wakes the task.
    changed: Notify,
}

#[derive(Default)]
struct State {
    // Undone before the next transaction of the run may begin.
    transaction: Option<Arc<dyn StoreTransaction>>,
    turn: Option<Turn>,
    /// Polls the step.
    step: Option<Waker>,
    /// When the step was woken that was not polled since.
    woken: Option<Instant>,
    /// Whether the step is done with it, or has lost it.
    is_over: bool,
}

impl Lease {
    pub(super) fn of(journal: &Arc<Journal>, is_exclusive: bool) -> Self {
        let shared = Arc::new(Shared::default());
        tokio::spawn(Arc::clone(&shared).watch(Arc::clone(journal), is_exclusive).boxed());
        Lease(shared)
    }

    /// Polls a part of the step.
    ///
    /// # Errors
    /// If the turn was taken back.
    pub(super) async fn during<T>(&self, work: impl Future<Output = T>) -> Result<T, NotWritten> {
        let mut work = pin!(work);
        let own = Waker::from(Arc::clone(&self.0));
        poll_fn(move |waker| {
            {
                let mut state = self.0.state();
                if state.is_over {
                    return Poll::Ready(Err(lost()));
                }
                state.woken = None;
                state.step = Some(waker.waker().clone());
            }
            work.as_mut().poll(&mut Waking::from_waker(&own)).map(Ok)
        })
        .await
    }

    /// Resolves in the turn, polled [during](Self::during) the lease. `held`: the journal whose appends wait from then on.
    pub(super) async fn turn(&self, held: Option<&Journal>) {
        let mut before: Option<BoxFuture<'_, ()>> = None;
        poll_fn(|waker| {
            loop {
                if let Some(append) = &mut before {
                    ready!(append.as_mut().poll(waker));
                }
                // Under the lock: what is held is released with the turn.
                let state = self.0.state();
                if state.turn.is_none() {
                    return Poll::Pending;
                }
                before = held.and_then(Journal::hold).map(FutureExt::boxed);
                if before.is_none() {
                    return Poll::Ready(());
                }
            }
        })
        .await;
    }

    /// What is undone when the turn is taken back.
    pub(super) fn keep(&self, transaction: Arc<dyn StoreTransaction>) {
        self.0.state().transaction = Some(transaction);
    }

    /// What was written, to be appended in the turn.
    ///
    /// # Errors
    /// If the turn was taken back.
    pub(super) fn take(self) -> Result<OpenTransaction, NotWritten> {
        let (transaction, turn) = {
            let mut state = self.0.state();
            (state.transaction.take(), state.turn.take())
        };
        match (transaction, turn) {
            (Some(transaction), Some(turn)) => Ok(OpenTransaction::new(transaction, turn)),
            _ => Err(lost()),
        }
    }
}

fn lost() -> NotWritten {
    NotWritten::Undone(format!(
        "a transaction was undone, since its node has not polled the step for {} s; let the node await it, or poll it with what it \
         awaits beside it",
        PATIENCE.as_secs()
    ))
}

impl Drop for Lease {
    fn drop(&mut self) {
        self.0.end(|_| true);
        self.0.changed.notify_one();
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Ends it if it is so. Returns whether it is over.
    fn end(&self, is_so: impl FnOnce(&State) -> bool) -> bool {
        let (is_over, left) = {
            let mut state = self.state();
            let ends = !state.is_over && is_so(&state);
            let left = ends.then(|| std::mem::take(&mut *state));
            state.is_over |= ends;
            (state.is_over, left)
        };
        drop(left);
        is_over
    }

    async fn watch(self: Arc<Self>, journal: Arc<Journal>, is_exclusive: bool) {
        let turn = {
            let (turn, over) = (pin!(journal.turn(is_exclusive)), pin!(self.over()));
            match select(turn, over).await {
                Either::Left((turn, _)) => turn,
                Either::Right(_) => return,
            }
        };
        let late = {
            let mut state = self.state();
            if state.is_over {
                Some(turn)
            } else {
                state.turn = Some(turn);
                None
            }
        };
        drop(late);
        Arc::clone(&self).wake();
        loop {
            let changed = self.changed.notified();
            let woken = {
                let state = self.state();
                if state.is_over {
                    return;
                }
                state.woken
            };
            let Some(since) = woken else {
                changed.await;
                continue;
            };
            let is_late = timeout_at(since + PATIENCE, changed).await.is_err();
            if is_late && self.end(|state| state.woken == Some(since)) {
                tracing::warn!(
                    run_id = journal.run_id,
                    "a transaction is undone, since its step is held and not polled; it is executed again"
                );
                return;
            }
        }
    }

    async fn over(&self) {
        loop {
            let changed = self.changed.notified();
            if self.state().is_over {
                return;
            }
            changed.await;
        }
    }
}

/// Wakes the step, and notes when.
impl Wake for Shared {
    fn wake(self: Arc<Self>) {
        let step = {
            let mut state = self.state();
            if !state.is_over {
                state.woken.get_or_insert_with(Instant::now);
            }
            state.step.clone()
        };
        self.changed.notify_one();
        if let Some(step) = step {
            step.wake();
        }
    }
}
