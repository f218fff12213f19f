//! A request as its future holds it.

use std::collections::hash_map::Entry;
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;

use futures_util::future::BoxFuture;

use super::task::RequestTask;
use super::{Asker, HeldState, Inner, IsRecorded, had_ended};
use crate::event::EventKind;
use crate::fault::Fault;
use crate::shared::{Desk, Fits, Item, Receiver};
use crate::store::Record;

/// What to do about two requests of one path, at the end of their error. A crate above, whose calls have no key, writes its own advice there.
pub const UNIQUE_KEY: &str = "give each call a unique `.key(..)`";

/// A request that is held by the body, or by a task that has its context. Dropped without [`take`](Held::take), it is
/// withdrawn.
pub(crate) struct Held {
    asker: Arc<dyn Asker>,
    path: Arc<str>,
    task: Option<RequestTask>,
    /// Whether its result was already recorded when the request was made.
    is_settled: bool,
    is_taken: bool,
}

impl Held {
    /// Holds a request, as [`new`](Self::new). Pending if the body is about to be dropped.
    pub(crate) async fn ask(
        asker: &Arc<impl Asker + 'static>,
        path: String,
        fits: Option<Fits>,
    ) -> Result<(Held, Option<Box<Item>>), Fault> {
        if asker.requests().is_silent() {
            std::future::pending::<()>().await;
        }
        Held::new(asker, path, fits)
    }

    /// Holds a request. Returns its recorded state.
    ///
    /// # Errors
    /// If the body holds one with the same identity, or has taken the result of one, or has ended.
    pub(crate) fn new(
        asker: &Arc<impl Asker + 'static>,
        path: String,
        fits: Option<Fits>,
    ) -> Result<(Held, Option<Box<Item>>), Fault> {
        let requests = asker.requests();
        let mut inner = requests.inner();
        let path: Arc<str> = path.into();
        if inner.is_over {
            return Err(had_ended(&path));
        }
        let is_polled = inner.is_polled;
        let Inner { held, counts, withdrawals, batch, results, withdrawn_before, repeated, has_caught_up, .. } =
            &mut *inner;
        let Entry::Vacant(place) = held.entry(Arc::clone(&path)) else {
            let message = format!("duplicate request `{path}` in one node; {UNIQUE_KEY}");
            return Err(Fault::Context { message });
        };
        // A request that is dropped and made again in one poll counts as never dropped.
        let is_other = |record: &Record| *record.path != *path || record.kind != EventKind::RequestWithdrawn;
        withdrawals.retain(is_other);
        batch.retain(is_other);
        if let Some(at) = repeated.iter().position(|repeated| *repeated == path) {
            repeated.swap_remove(at);
            *withdrawn_before.entry(Arc::clone(&path)).or_default() += 1;
        }
        // Under the lock, so that every result recorded from here on is delivered.
        let mut item = requests.waker.desk().hold(&path, Arc::clone(requests) as Arc<dyn Receiver>, fits);
        // A step that has ended in this poll, and whose result is not pushed yet.
        if batch.iter().any(|record| *record.path == *path && record.kind.is_result()) {
            item = requests.waker.desk().item_behind(&path, batch.iter());
        }
        let is_withdrawn = item.as_ref().is_some_and(|item| item.withdrawn);
        if !*has_caught_up && let Some(item) = item.as_ref().filter(|item| item.withdrawals > 0) {
            withdrawn_before.entry(Arc::clone(&path)).or_insert(item.withdrawals);
        }
        let is_recorded = item.as_ref().is_some_and(|item| item.is_recorded());
        let result = item.as_ref().and_then(|item| item.result).filter(|_| !is_withdrawn);
        let held = place.insert(HeldState {
            recorded: if is_recorded { IsRecorded::Yes } else { IsRecorded::No },
            result,
            is_ready: false,
            is_withdrawn,
            waker: None,
            undone: None,
            asks_again: None,
        });
        counts.add(held);
        if let Some(number) = result {
            results.insert((number, Arc::clone(&path)));
        }
        drop(inner);
        if !is_polled {
            requests.waker.look_again();
        }
        let is_settled = result.is_some();
        Ok((Held { asker: Arc::clone(asker) as Arc<dyn Asker>, path, task: None, is_settled, is_taken: false }, item))
    }

    pub(crate) fn path(&self) -> &str {
        &self.path
    }

    fn desk(&self) -> &Desk {
        self.asker.requests().waker.desk()
    }

    /// Its recorded state now.
    pub(crate) fn item(&self) -> Option<Box<Item>> {
        self.desk().item(&self.path)
    }

    /// Resolves when the recorded result is ready.
    pub(crate) async fn result(&self) {
        self.until(|held| held.is_ready).await;
    }

    /// Resolves when the recorded result is ready.
    ///
    /// # Errors
    /// If the result is not recorded, since what it was to be committed with is undone: why.
    pub(crate) async fn committed(&self) -> Result<(), String> {
        poll_fn(|waker| {
            let mut inner = self.asker.requests().inner();
            let Some(held) = inner.held.get_mut(&self.path) else { return Poll::Pending };
            if let Some(why) = held.undone.take() {
                return Poll::Ready(Err(why));
            }
            if held.is_ready {
                return Poll::Ready(Ok(()));
            }
            inner.waits_with(&self.path, waker.waker());
            Poll::Pending
        })
        .await
    }

    /// Resolves once it is not withdrawn.
    pub(crate) async fn reopened(&self) {
        self.until(|held| !held.is_withdrawn).await;
    }

    fn until(&self, is_so: impl Fn(&HeldState) -> bool) -> impl Future<Output = ()> {
        poll_fn(move |waker| {
            let requests = self.asker.requests();
            let mut inner = requests.inner();
            let Some(held) = inner.held.get(&self.path) else { return Poll::Pending };
            if is_so(held) {
                return Poll::Ready(());
            }
            inner.waits_with(&self.path, waker.waker());
            Poll::Pending
        })
    }

    /// The question differs from the recorded one: it is asked again as soon as the body has seen all recorded results.
    pub(crate) fn asks_again(&self, question: EventKind) {
        let requests = self.asker.requests();
        requests.inner().change(&self.path, |held| held.asks_again = Some(Box::new(question)));
    }

    /// Rejects its result and waits for another.
    pub(crate) fn again(&mut self, fits: Option<Fits>) {
        self.is_settled = false;
        self.desk().watch(&self.path, Arc::clone(self.asker.requests()) as Arc<dyn Receiver>, fits);
        self.asker.requests().inner().change(&self.path, |held| (held.is_ready, held.asks_again) = (false, None));
    }

    /// Runs work for it outside of the body.
    pub(crate) fn spawn(&mut self, work: BoxFuture<'static, ()>) {
        let task = RequestTask::new(work);
        self.task = Some(task.clone());
        self.asker.requests().add_task(task);
    }

    /// Resolves to `None` if the attempt ends before this is done.
    pub(crate) async fn while_it_lasts<T>(&self, work: impl Future<Output = T>) -> Option<T> {
        let mut work = pin!(work);
        poll_fn(|waker| {
            if let Poll::Ready(done) = work.as_mut().poll(waker) {
                return Poll::Ready(Some(done));
            }
            let mut inner = self.asker.requests().inner();
            if inner.is_over && !inner.is_silent {
                return Poll::Ready(None);
            }
            inner.waits_with(&self.path, waker.waker());
            Poll::Pending
        })
        .await
    }

    /// Its result is taken.
    pub(crate) fn take(mut self) {
        self.is_taken = true;
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        if let Some(task) = &self.task {
            task.abort();
        }
        if !self.is_settled {
            self.desk().release(&self.path, Arc::as_ptr(self.asker.requests()).cast());
        }
        let requests = self.asker.requests();
        let mut inner = requests.inner();
        let is_taken = self.is_taken || inner.is_over;
        let taken = |held: &mut HeldState| {
            if is_taken {
                (held.is_ready, held.is_withdrawn) = (true, false);
            }
            (held.recorded, held.is_withdrawn)
        };
        let Some((recorded, is_withdrawn)) = inner.change(&self.path, taken) else { return };
        if is_taken {
            return;
        }
        inner.remove(&self.path);
        self.asker.forget_finished(&self.path);
        // The body runs again and drops the same request as before. That withdrawal is recorded already.
        if let Some(before) = inner.withdrawn_before.get_mut(&self.path).filter(|before| **before > 0) {
            *before -= 1;
            inner.repeated.push(Arc::clone(&self.path));
            return;
        }
        let record = Record { path: self.path.to_string(), kind: EventKind::RequestWithdrawn };
        // Records of this poll that begin it are removed, unless one of them ends it.
        let is_in_batch = inner.batch.iter().any(|other| *other.path == *self.path && other.kind.is_result());
        if !is_in_batch {
            inner.batch.retain(|other| *other.path != *self.path);
        }
        match recorded {
            _ if is_withdrawn => {}
            // The attempt is being stopped. If the run is retried, it resumes with all its requests.
            _ if self.asker.is_stopped() => {}
            IsRecorded::No => {}
            IsRecorded::InThisPoll if !is_in_batch => {}
            // Behind the other records of this poll for it.
            _ if is_in_batch => {
                inner.batch.push(record);
                inner.flushes += 1;
            }
            // A task that the node has spawned may make it again at once, as the body may in the same poll.
            _ => {
                inner.withdrawals.push(record);
                inner.flushes += 1;
                let is_polled = inner.is_polled;
                drop(inner);
                if !is_polled {
                    requests.waker.look_again();
                }
            }
        }
    }
}
