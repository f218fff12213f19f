//! What an attempt has asked its context for and still holds, and the order in which results reach it.
//!
//! A body that runs again, after a crash or since its run had left the memory, has to decide as it did before. What it
//! sees of its requests is therefore a function of the record:
//!
//! 1. A request is never ready in the poll that asks for it. What is ready is settled between two polls of the body.
//! 2. Of the requests that the body holds and whose results are recorded, the one with the lowest record number becomes
//!    ready; the next one after the body has returned `Pending` again.
//! 3. A request that is dropped before its result was taken is withdrawn. That is recorded in the same commit as what the
//!    poll asks for, and before it. A body that asks for it again when it runs again waits.
//! 4. When a body is at rest (nothing is ready, nothing of its own can wake it), what is open and not held is withdrawn,
//!    and what is held and was withdrawn is reopened.
//!
//! A body that drops a request and asks for it again without having been started anew has gone on since. In the same poll,
//! that is as if it had not dropped it; in a later one it is reopened at once, whether the body rests or not: a question
//! under a timer of the body's own would never be open again.
//!
//! `Running` (`driver/attempt.rs`) polls the body and calls [`Requests::settle`], [`Attempt::push_batch`] and
//! [`Requests::rest`] between two polls.

mod body_waker;
mod held;
mod task;

use std::collections::BTreeSet;
use std::future::poll_fn;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Poll, Waker};

use foldhash::{HashMap, HashSet};

pub(crate) use body_waker::BodyWaker;
pub(crate) use held::Held;
pub(crate) use task::RequestTask;

use crate::attempt::Attempt;
use crate::driver::{Shared, WaitingAttempts};
use crate::event::EventKind;
use crate::store::Record;

/// The requests of one attempt.
pub(crate) struct Requests {
    pub(crate) waker: Arc<BodyWaker>,
    /// The same as a waker.
    own: Waker,
    inner: Mutex<Inner>,
}

#[derive(Default)]
struct Inner {
    /// By path: the requests that are held, and those whose result was taken.
    held: HashMap<Arc<str>, HeldState>,
    /// How many of them the body waits for.
    open_count: usize,
    /// Recorded results that are not ready yet, in the order of their record numbers.
    results: BTreeSet<(u64, Arc<str>)>,
    /// What this run of the body has dropped without having taken its result.
    dropped: HashSet<Arc<str>>,
    /// How many of those that are held are withdrawn.
    withdrawn_count: usize,
    /// Whether the body is being polled.
    is_polled: bool,
    /// Whether the body has ended, or is being dropped.
    is_over: bool,
    has_rested: bool,
    /// What this poll has withdrawn, and what it records after that.
    withdrawals: Vec<Record>,
    batch: Vec<Record>,
    tasks: Vec<RequestTask>,
    /// Steps whose closures are being executed, as parts of the body.
    steps: usize,
    /// How often something was pushed that is to be recorded soon, and how many of those are.
    flushes: u64,
    flushed: u64,
    /// Who waits until something is recorded.
    recording: Vec<(u64, Option<Waker>)>,
}

struct HeldState {
    recorded: IsRecorded,
    /// The record number of its result.
    result: Option<u64>,
    is_ready: bool,
    is_withdrawn: bool,
    /// Of a combinator around the request, where that polls it with a waker of its own.
    waker: Option<Waker>,
}

impl HeldState {
    fn is_open(&self) -> bool {
        !self.is_ready && !self.is_withdrawn
    }
}

impl Inner {
    fn change<T>(&mut self, path: &str, change: impl FnOnce(&mut HeldState) -> T) -> Option<T> {
        let held = self.held.get_mut(path)?;
        let (was_open, was_withdrawn) = (held.is_open(), held.is_withdrawn);
        let changed = change(held);
        self.open_count = self.open_count + usize::from(held.is_open()) - usize::from(was_open);
        self.withdrawn_count = self.withdrawn_count + usize::from(held.is_withdrawn) - usize::from(was_withdrawn);
        Some(changed)
    }

    fn remove(&mut self, path: &str) {
        if let Some(held) = self.held.remove(path) {
            self.open_count -= usize::from(held.is_open());
            self.withdrawn_count -= usize::from(held.is_withdrawn);
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum IsRecorded {
    No,
    /// By the present poll of the body.
    InThisPoll,
    Yes,
}

impl Requests {
    /// Made by the body while it is polled.
    pub(crate) fn new(run: &Arc<Shared>, waiting: Option<Arc<WaitingAttempts>>) -> Self {
        let waker = Arc::new(BodyWaker::new(run, waiting));
        let own = Waker::from(Arc::clone(&waker));
        Requests { waker, own, inner: Mutex::new(Inner { is_polled: true, ..Inner::default() }) }
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What the body is polled with.
    pub(crate) fn own_waker(&self) -> &Waker {
        &self.own
    }

    /// Whether nothing but what the body has asked for can wake it: no socket, timer or channel of the user's has its waker.
    pub(crate) fn is_idle(&self) -> bool {
        // The one in `waker` and the one in `own`.
        Arc::strong_count(&self.waker) == 2
    }

    pub(crate) fn begin_poll(&self) {
        self.inner().is_polled = true;
    }

    /// After a poll that returned `Pending`: what it is to record, withdrawals first. To be called until there is nothing:
    /// until then the poll is not over, so that nothing is recorded before it.
    fn end_poll(&self) -> Vec<Record> {
        let mut inner = self.inner();
        if inner.withdrawals.is_empty() && inner.batch.is_empty() {
            inner.is_polled = false;
            return Vec::new();
        }
        let mut records = std::mem::take(&mut inner.withdrawals);
        records.append(&mut inner.batch);
        for record in &records {
            if let Some(held) = inner.held.get_mut(record.path.as_str()) {
                held.recorded = IsRecorded::Yes;
            }
        }
        records
    }

    pub(crate) fn take_tasks(&self) -> Vec<RequestTask> {
        std::mem::take(&mut self.inner().tasks)
    }

    /// The body has ended, or is dropped now: what it drops from here on is not withdrawn.
    pub(crate) fn over(&self) {
        self.waker.over();
        let tasks = {
            let mut inner = self.inner();
            inner.is_over = true;
            inner.withdrawals.clear();
            inner.batch.clear();
            std::mem::take(&mut inner.tasks)
        };
        tasks.iter().for_each(RequestTask::abort);
    }

    /// Makes the next result ready. Whether there was one.
    pub(crate) fn settle(&self) -> bool {
        let mut inner = self.inner();
        while let Some((number, path)) = inner.results.pop_first() {
            let ready = |held: &mut HeldState| {
                // It may have been dropped meanwhile, and be held again.
                let is_ready = held.result == Some(number) && !held.is_withdrawn;
                held.is_ready |= is_ready;
                is_ready.then(|| held.waker.take())
            };
            let Some(Some(waker)) = inner.change(&path, ready) else { continue };
            drop(inner);
            if let Some(waker) = waker {
                waker.wake();
            }
            // Also where a spawned task takes it: the next one becomes ready after the next poll.
            self.own.wake_by_ref();
            return true;
        }
        false
    }

    /// A result was recorded.
    pub(crate) fn deliver(&self, path: &str, number: u64) {
        let mut inner = self.inner();
        let Some((path, held)) = inner.held.get_key_value(path) else { return };
        if held.is_withdrawn || held.is_ready {
            return;
        }
        let path = Arc::clone(path);
        inner.change(&path, |held| held.result = Some(number));
        inner.results.insert((number, path));
        drop(inner);
        self.own.wake_by_ref();
    }

    /// The number up to which something is to be recorded, where something is to be.
    pub(crate) fn wants_flush(&self) -> Option<u64> {
        let inner = self.inner();
        (inner.flushes > inner.flushed).then_some(inner.flushes)
    }

    /// All pushes up to this one are recorded.
    pub(crate) fn flushed(&self, up_to: u64) {
        let mut inner = self.inner();
        inner.flushed = up_to;
        let (done, waits): (Vec<_>, Vec<_>) =
            std::mem::take(&mut inner.recording).into_iter().partition(|(number, _)| *number <= up_to);
        inner.recording = waits;
        drop(inner);
        for (_, waker) in done {
            waker.as_ref().unwrap_or(&self.own).wake_by_ref();
        }
    }

    /// Where the body is at rest: what it does not hold is withdrawn, what it holds is reopened. `open` are the requests of
    /// the attempt that are recorded as open.
    pub(crate) fn rest(&self, open: impl FnOnce() -> Vec<String>) -> Vec<Record> {
        let mut inner = self.inner();
        let mut records = Vec::new();
        if !std::mem::replace(&mut inner.has_rested, true) {
            let is_left = |path: &String| !inner.held.contains_key(path.as_str());
            let left = open().into_iter().filter(is_left);
            records.extend(left.map(|path| Record { path, kind: EventKind::RequestWithdrawn }));
        }
        if inner.withdrawn_count > 0 {
            let withdrawn = inner.held.iter().filter(|(_, held)| held.is_withdrawn);
            let mut reopened: Vec<Arc<str>> = withdrawn.map(|(path, _)| Arc::clone(path)).collect();
            reopened.sort_unstable();
            let mut wakers = Vec::new();
            for path in reopened {
                wakers.extend(inner.change(&path, |held| {
                    held.is_withdrawn = false;
                    held.waker.take()
                }));
                records.push(Record { path: path.to_string(), kind: EventKind::RequestReopened });
            }
            drop(inner);
            for waker in wakers {
                waker.as_ref().unwrap_or(&self.own).wake_by_ref();
            }
        }
        records
    }

    /// Whether something is ready, recorded or executed that the body has not seen the end of.
    pub(crate) fn has_more(&self) -> bool {
        let inner = self.inner();
        !inner.results.is_empty() || inner.steps > 0 || inner.flushes > inner.flushed || !inner.tasks.is_empty()
    }

    pub(crate) fn holds_any(&self) -> bool {
        !self.inner().held.is_empty()
    }

    /// Whether the body waits for something that it has asked for.
    pub(crate) fn has_open(&self) -> bool {
        self.inner().open_count > 0
    }
}

/// A step is executed as a part of the body while this lives.
pub(crate) struct StepUnderWay<'a>(&'a Requests);

impl Drop for StepUnderWay<'_> {
    fn drop(&mut self) {
        let mut inner = self.0.inner();
        inner.steps -= 1;
        let is_polled = inner.is_polled;
        drop(inner);
        if !is_polled {
            self.0.waker.wake_task();
        }
    }
}

impl Attempt {
    pub(crate) fn step_begins(&self) -> StepUnderWay<'_> {
        let requests = self.requests();
        requests.inner().steps += 1;
        StepUnderWay(requests)
    }

    /// Records something of a request: with all that the present poll of the body records, or at once if the body is not
    /// being polled.
    pub(crate) fn push(self: &Arc<Self>, path: &str, kind: EventKind) {
        let record = Record { path: path.to_owned(), kind };
        let requests = self.requests();
        let mut inner = requests.inner();
        if inner.is_over {
            return;
        }
        if !inner.is_polled {
            drop(inner);
            return self.push_now(vec![record]);
        }
        if let Some(held) = inner.held.get_mut(path)
            && held.recorded == IsRecorded::No
        {
            held.recorded = IsRecorded::InThisPoll;
        }
        inner.flushes += u64::from(is_urgent(&record.kind));
        inner.batch.push(record);
    }

    /// Records something of its requests at once.
    pub(crate) fn push_now(self: &Arc<Self>, records: Vec<Record>) {
        if records.is_empty() {
            return;
        }
        let requests = self.requests();
        let is_urgent = records.iter().any(|record| is_urgent(&record.kind));
        {
            let mut inner = requests.inner();
            for record in &records {
                if let Some(held) = inner.held.get_mut(record.path.as_str()) {
                    held.recorded = IsRecorded::Yes;
                }
            }
        }
        match &self.run.journal {
            Some(journal) => journal.push_requests(records),
            None => self.run.desk().keep(&records),
        }
        if is_urgent {
            requests.inner().flushes += 1;
            requests.waker.wake_task();
        }
    }

    /// After a poll of the body that returned `Pending`: records what it has asked for and dropped.
    pub(crate) fn push_batch(self: &Arc<Self>) {
        let requests = self.requests();
        loop {
            let records = requests.end_poll();
            if records.is_empty() {
                return;
            }
            self.push_now(records);
        }
    }

    /// Ends the request of a task that records no result, since the attempt is being stopped.
    pub(crate) fn end_without_result(&self, path: &str) {
        self.requests().deliver(path, u64::MAX);
    }

    /// Resolves when what was pushed before is recorded.
    pub(crate) async fn recorded(self: &Arc<Self>) {
        let requests = self.requests();
        let up_to = {
            let mut inner = requests.inner();
            inner.flushes += 1;
            inner.flushes
        };
        if !requests.inner().is_polled {
            requests.waker.wake_task();
        }
        poll_fn(move |waker| {
            let mut inner = requests.inner();
            if inner.flushed >= up_to {
                return Poll::Ready(());
            }
            let waker = (!waker.waker().will_wake(&requests.own)).then(|| waker.waker().clone());
            inner.recording.push((up_to, waker));
            Poll::Pending
        })
        .await;
    }
}

/// Whether something of a request is to be recorded soon, and not with what is recorded next.
fn is_urgent(kind: &EventKind) -> bool {
    !matches!(kind, EventKind::NodeStarted { .. })
}
