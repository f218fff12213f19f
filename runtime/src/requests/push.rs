//! Turns the requests and withdrawals of an attempt into records.

use std::future::poll_fn;
use std::sync::{Arc, MutexGuard};
use std::task::Poll;

use super::{HeldState, Inner, IsRecorded, Requests};
use crate::event::EventKind;
use crate::shared::OpenTransaction;
use crate::store::Record;

impl Requests {
    /// Pushes a record of a request: together with the other records of the present poll of the body, or at once if the
    /// body is not being polled.
    pub(crate) fn push(&self, path: &str, kind: EventKind) {
        self.push_in(path, kind, None);
    }

    /// The same for the result of a step that has written in a transaction. If it is not recorded, that is undone.
    pub(crate) fn push_in(&self, path: &str, kind: EventKind, transaction: Option<OpenTransaction>) {
        let mut inner = self.inner();
        if inner.is_over {
            drop(inner);
            return;
        }
        let record = Record { path: path.to_owned(), kind };
        if let Some(transaction) = transaction {
            inner.transaction = Some(transaction.of_step(path));
        }
        if !inner.is_polled {
            inner.change(path, |held| held.recorded = IsRecorded::Yes);
            return self.push_all(inner, vec![record]);
        }
        inner.change(path, |held| {
            if held.recorded == IsRecorded::No {
                held.recorded = IsRecorded::InThisPoll;
            }
        });
        inner.flushes += u64::from(is_urgent(&record.kind));
        inner.batch.push(record);
    }

    /// Pushes the requests and withdrawals of a poll of the body that returned `Pending`.
    pub(crate) fn push_batch(&self) {
        let mut inner = self.inner();
        inner.is_polled = false;
        inner.repeated.clear();
        let mut records = std::mem::take(&mut inner.withdrawals);
        records.append(&mut inner.batch);
        for record in &records {
            inner.change(&record.path, |held| held.recorded = IsRecorded::Yes);
        }
        self.push_all(inner, records);
    }

    /// Called under the lock, so that the held requests and their records always agree.
    fn push_all(&self, mut inner: MutexGuard<'_, Inner>, records: Vec<Record>) {
        if records.is_empty() || inner.is_over {
            return;
        }
        let is_urgent = records.iter().any(|record| is_urgent(&record.kind));
        self.push_now(records, inner.transaction.take());
        inner.flushes += u64::from(is_urgent);
        drop(inner);
        if is_urgent {
            self.waker.look_again();
        }
    }

    pub(super) fn push_now(&self, records: Vec<Record>, transaction: Option<OpenTransaction>) {
        match &self.waker.run.journal {
            _ if records.is_empty() => {}
            Some(journal) => journal.push_requests(records, transaction),
            None => self.waker.run.desk().keep(&records),
        }
    }

    /// Reopens held requests that were withdrawn, and asks questions again that differ from the recorded ones. To be
    /// called when the body has returned `Pending` and has seen every result: before that, a body that runs again still
    /// makes the requests of its earlier run. Returns whether there were any.
    pub(crate) fn reopen(&self) -> bool {
        let mut inner = self.inner();
        inner.has_caught_up = true;
        inner.withdrawn_before.clear();
        if inner.counts.withdrawn == 0 && inner.counts.to_be_asked_again == 0 {
            return false;
        }
        let is_meant = |held: &HeldState| held.is_withdrawn || held.is_to_be_asked_again();
        let meant = inner.held.iter().filter(|(_, held)| is_meant(held));
        let mut paths: Vec<Arc<str>> = meant.map(|(path, _)| Arc::clone(path)).collect();
        paths.sort_unstable();
        let (mut records, mut wakers) = (Vec::new(), Vec::new());
        for path in paths {
            let mut record = |kind| records.push(Record { path: path.to_string(), kind });
            inner.change(&path, |held| {
                if std::mem::take(&mut held.is_withdrawn) {
                    wakers.push(held.waker.take());
                    record(EventKind::RequestReopened);
                }
                if let Some(question) = held.asks_again.take() {
                    record(*question);
                }
            });
        }
        self.push_all(inner, records);
        wakers.into_iter().for_each(|waker| self.wake(waker));
        true
    }

    /// Withdraws open requests of an earlier run of the body of `node` that this run does not hold. To be called when
    /// nothing but its requests can wake the body. Returns whether there were any.
    pub(crate) fn withdraw_left(&self, node: impl FnOnce() -> String) -> bool {
        let mut inner = self.inner();
        if std::mem::replace(&mut inner.has_withdrawn_left, true) {
            return false;
        }
        let open = self.waker.run.desk().open_requests(&node());
        let left = open.into_iter().filter(|path| !inner.held.contains_key(path.as_str()));
        let records: Vec<Record> = left.map(|path| Record { path, kind: EventKind::RequestWithdrawn }).collect();
        let is_any = !records.is_empty();
        self.push_all(inner, records);
        is_any
    }

    /// Ends the request of a task that records no result, since the attempt is being stopped.
    pub(crate) fn end_without_result(&self, path: &str) {
        self.deliver(path, false);
    }

    /// Resolves when everything pushed before is recorded. Never resolves if the attempt ends before that.
    pub(crate) async fn recorded(&self) {
        let (up_to, is_polled) = {
            let mut inner = self.inner();
            inner.flushes += 1;
            (inner.flushes, inner.is_polled)
        };
        if !is_polled {
            self.waker.look_again();
        }
        poll_fn(move |waker| {
            let mut inner = self.inner();
            if inner.flushed >= up_to {
                return Poll::Ready(());
            }
            let waker = (!inner.is_own(waker.waker())).then(|| waker.waker().clone());
            inner.recording.push((up_to, waker));
            Poll::Pending
        })
        .await;
    }
}

/// Whether a record of a request has to be appended soon, and cannot wait for the next commit.
fn is_urgent(kind: &EventKind) -> bool {
    !matches!(kind, EventKind::NodeStarted { .. })
}
