//! The requests that an attempt has made through its context and still holds, and the order in which it gets results.
//!
//! A body that runs again, after a crash or because its run had left the memory, must make the same decisions as
//! before. So everything that it observes of its requests is a function of the records:
//!
//! 1. A request is never ready in the poll that makes it. Results become ready only between two polls of the body.
//! 2. Of the requests that the body holds and whose results are recorded, the one with the lowest record number becomes
//!    ready; the next one after the body has returned `Pending` again.
//! 3. A request that is dropped before its result was taken is withdrawn. The withdrawal is recorded in the same commit
//!    as the new requests of the poll, and before them. A body that runs again and makes the request again waits.
//! 4. When a body has returned `Pending` and has seen all recorded results, the withdrawn requests that it holds are
//!    reopened, and the questions that it holds and had asked with another text or type are asked again. Open requests
//!    that it has not held are withdrawn once nothing but requests can wake the body.
//! 5. Where the result of a request is read from the store by what is recorded of it, as the state of a user up to a position is,
//!    no other becomes ready until the body has seen it (`following.rs`).
//!
//! A request that is dropped and made again in one poll counts as never dropped. A body that runs again repeats its
//! drops. Until it has seen all recorded results, a drop that is recorded already is not recorded again: the next
//! request under the same path has the result that it had then.
//!
//! `Running` (`driver/attempt.rs`) polls the body and calls [`Requests::settle`], and `push_batch`, `reopen` and
//! `withdraw_left` (`push.rs`), between two polls. Tasks that the node has spawned hold and drop
//! requests at any time. The set of held requests and the records pushed of them change together, under one lock.

mod body_waker;
mod elsewhere;
mod following;
mod guards;
mod held;
mod push;
mod task;

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Waker;

use foldhash::HashMap;
use tokio_util::sync::CancellationToken;

pub(crate) use body_waker::BodyWaker;
use body_waker::OwnWaker;
pub(crate) use elsewhere::Elsewhere;
pub(crate) use guards::ClonedContext;
pub(crate) use held::Held;
pub use held::UNIQUE_KEY;
pub(crate) use task::RequestTask;

use crate::event::EventKind;
use crate::fault::Fault;
use crate::shared::{OpenTransaction, Receiver, Shared, WaitingAttempts};
use crate::store::Record;

/// The requests of one attempt.
pub(crate) struct Requests {
    pub(crate) waker: Arc<BodyWaker>,
    own: Mutex<OwnWaker>,
    inner: Mutex<Inner>,
    /// Requests that have got a result since this was last taken. Filled under the lock of the journal, which is taken
    /// under that of `inner`.
    delivered: Mutex<Vec<Delivered>>,
    /// How many clones of the context are alive.
    clones: AtomicUsize,
}

/// Why there is no result for a body that has ended.
fn had_ended(path: &str) -> Fault {
    Fault::Context { message: format!("`{path}` was asked for when its node had ended") }
}

/// The attempt whose requests these are.
pub(crate) trait Asker: Send + Sync {
    fn requests(&self) -> &Arc<Requests>;

    /// Whether it was cancelled.
    fn is_stopped(&self) -> bool;

    /// Drops the output of a child that the body has dropped without taking it.
    fn forget_finished(&self, child: &str);
}

/// A request that has got a result.
struct Delivered {
    path: String,
    /// Whether the result is recorded: a cancelled one leaves none.
    is_recorded: bool,
}

#[derive(Default)]
struct Inner {
    /// By path: the requests that are held, and those whose result was taken.
    held: HashMap<Arc<str>, HeldState>,
    counts: Counts,
    /// Recorded results that are not ready yet, in the order of their record numbers.
    results: BTreeSet<(u64, Arc<str>)>,
    /// Whether the body is being polled.
    is_polled: bool,
    /// The waker with which it is being polled.
    own: Option<Waker>,
    /// Whether the body has ended, or is being dropped: it records nothing more.
    is_over: bool,
    /// Whether it is about to be dropped, and may be in the middle of a poll: its new requests stay pending.
    is_silent: bool,
    /// Cancelled when it has ended, for clones of the context that wait for that.
    ended: Option<CancellationToken>,
    /// Whether requests left from an earlier run of the body were withdrawn.
    has_withdrawn_left: bool,
    /// By path, for requests that this run of the body has held: how many recorded withdrawals it has not repeated yet.
    withdrawn_before: HashMap<Arc<str>, u32>,
    /// The withdrawals that this poll has repeated.
    repeated: Vec<Arc<str>>,
    /// Whether the body has seen all results recorded by its earlier run.
    has_caught_up: bool,
    /// The withdrawals of this poll, and below its other records, which come after them.
    withdrawals: Vec<Record>,
    batch: Vec<Record>,
    /// What the step has written whose result is in the batch.
    transaction: Option<OpenTransaction>,
    tasks: Vec<RequestTask>,
    /// By the name of the signal: how often the body has called `ctx.wait`.
    waits: HashMap<&'static str, u32>,
    /// Steps whose closures are being executed, as parts of the body.
    steps: usize,
    /// Work elsewhere that the body waits for.
    elsewhere: usize,
    /// Reads behind results that the body has taken.
    following: usize,
    /// Whether one has ended since the body was polled.
    has_followed: bool,
    /// How many pushes have to be recorded soon, and how many of those are recorded.
    flushes: u64,
    flushed: u64,
    /// The tasks that wait until a push is recorded.
    recording: Vec<(u64, Option<Waker>)>,
}

struct HeldState {
    recorded: IsRecorded,
    /// The record number of its result.
    result: Option<u64>,
    is_ready: bool,
    is_withdrawn: bool,
    /// The waker of a combinator around the request, if that polls it with its own.
    waker: Option<Waker>,
    /// Why its result is not recorded, if what that was to be committed with is undone.
    undone: Option<String>,
    /// The question as it is asked now, if another was recorded: it is recorded next.
    asks_again: Option<Box<EventKind>>,
}

impl HeldState {
    fn is_open(&self) -> bool {
        !self.is_ready && !self.is_withdrawn
    }

    fn is_to_be_asked_again(&self) -> bool {
        self.asks_again.is_some() && !self.is_ready
    }
}

/// How many of the requests that are held are in a certain state.
#[derive(Default)]
struct Counts {
    /// Requests that the body waits for.
    open: usize,
    withdrawn: usize,
    /// Questions that differ from the recorded ones.
    to_be_asked_again: usize,
    /// Requests that have just been made, with no record pushed yet.
    unrecorded: usize,
}

impl Counts {
    fn add(&mut self, held: &HeldState) {
        self.each(held, |count| *count += 1);
    }

    fn subtract(&mut self, held: &HeldState) {
        self.each(held, |count| *count -= 1);
    }

    fn each(&mut self, held: &HeldState, change: impl Fn(&mut usize)) {
        if held.is_open() {
            change(&mut self.open);
        }
        if held.is_open() && held.recorded == IsRecorded::No {
            change(&mut self.unrecorded);
        }
        if held.is_withdrawn {
            change(&mut self.withdrawn);
        }
        if held.is_to_be_asked_again() {
            change(&mut self.to_be_asked_again);
        }
    }
}

impl Inner {
    fn is_own(&self, waker: &Waker) -> bool {
        self.own.as_ref().is_some_and(|own| own.will_wake(waker))
    }

    fn change<T>(&mut self, path: &str, change: impl FnOnce(&mut HeldState) -> T) -> Option<T> {
        let held = self.held.get_mut(path)?;
        self.counts.subtract(held);
        let changed = change(held);
        self.counts.add(held);
        Some(changed)
    }

    /// Keeps the waker that polls the request, if it is not that of the body.
    fn waits_with(&mut self, path: &str, waker: &Waker) {
        let is_own = self.is_own(waker);
        if let Some(held) = self.held.get_mut(path) {
            held.waker = (!is_own).then(|| waker.clone());
        }
    }

    fn remove(&mut self, path: &str) {
        if let Some(held) = self.held.remove(path) {
            self.counts.subtract(&held);
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
        let own = Mutex::new(OwnWaker::new(&waker));
        let inner = Mutex::new(Inner { is_polled: true, ..Inner::default() });
        Requests { waker, own, inner, delivered: Mutex::default(), clones: AtomicUsize::new(0) }
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn own(&self) -> MutexGuard<'_, OwnWaker> {
        self.own.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether this is the waker with which the body is being polled.
    pub(crate) fn is_own(&self, waker: &Waker) -> bool {
        self.inner().is_own(waker)
    }

    /// Whether nothing but its requests can wake the body: no socket, timer or channel of the user's has its waker, and
    /// no task has its context.
    pub(crate) fn is_idle(&self) -> bool {
        self.clones.load(Ordering::Acquire) == 0 && self.own().is_unused()
    }

    /// Begins a poll of the body. Returns its own waker, if it is to be polled with that.
    pub(crate) fn begin_poll(&self, has_own_waker: bool) -> Option<Waker> {
        let own = has_own_waker.then(|| self.own().begin(&self.waker));
        let mut inner = self.inner();
        inner.is_polled = true;
        inner.own.clone_from(&own);
        own
    }

    /// Ends a poll with its own waker.
    pub(crate) fn end_with_own(&self, own: Waker) {
        let in_poll = self.inner().own.take();
        drop((own, in_poll));
        self.own().end();
    }

    /// Whether the body waits, and nothing but a result can wake it.
    pub(crate) fn only_waits(&self) -> bool {
        self.waker.waits() && self.is_idle()
    }

    /// The number of the next wait for a signal of this name, from 1.
    pub(crate) fn next_wait(&self, signal: &'static str) -> u32 {
        let mut inner = self.inner();
        let number = inner.waits.entry(signal).or_default();
        *number += 1;
        *number
    }

    /// Has work done beside the body. If that has ended, it is dropped.
    fn add_task(&self, task: RequestTask) {
        let is_polled = {
            let mut inner = self.inner();
            if inner.is_over {
                drop(inner);
                return task.abort();
            }
            inner.tasks.push(task);
            inner.is_polled
        };
        if !is_polled {
            self.waker.look_again();
        }
    }

    pub(crate) fn take_tasks(&self) -> Vec<RequestTask> {
        std::mem::take(&mut self.inner().tasks)
    }

    /// Silences the body: it is about to be dropped, and may be in the middle of a poll on another thread. It records
    /// nothing more, and its new requests stay pending.
    pub(crate) fn silence(&self) {
        let (tasks, ended) = {
            let mut inner = self.inner();
            (inner.is_silent, inner.is_over) = (!inner.is_over, true);
            (std::mem::take(&mut inner.tasks), inner.ended.take())
        };
        ended.inspect(CancellationToken::cancel);
        tasks.iter().for_each(RequestTask::abort);
    }

    pub(crate) fn is_silent(&self) -> bool {
        self.inner().is_silent
    }

    /// The body has ended, or is dropped now: requests that are dropped from here on are not withdrawn.
    pub(crate) fn over(&self) {
        self.waker.over();
        let (tasks, wakers, ended, undone) = {
            let mut inner = self.inner();
            // The signals that the last poll has taken count as taken. Others that were delivered go to the next wait.
            let mut taken = if inner.is_over { Vec::new() } else { std::mem::take(&mut inner.batch) };
            taken.retain(|record| record.kind == EventKind::SignalTaken);
            self.push_now(taken, None);
            (inner.is_silent, inner.is_over) = (false, true);
            inner.own = None;
            inner.withdrawals.clear();
            inner.batch.clear();
            let recording = std::mem::take(&mut inner.recording).into_iter().filter_map(|(_, waker)| waker);
            let wakers: Vec<Waker> =
                recording.chain(inner.held.values_mut().filter_map(|held| held.waker.take())).collect();
            (std::mem::take(&mut inner.tasks), wakers, inner.ended.take(), inner.transaction.take())
        };
        drop(undone);
        ended.inspect(CancellationToken::cancel);
        tasks.iter().for_each(RequestTask::abort);
        // Tasks that the node has spawned.
        wakers.into_iter().for_each(Waker::wake);
    }

    /// Makes the next result ready, or lets the body see what was read behind the last one. Returns whether the body is to
    /// be polled.
    pub(crate) fn settle(&self) -> bool {
        let mut inner = self.inner();
        self.take_delivered(&mut inner);
        if inner.following > 0 {
            return false;
        }
        if std::mem::take(&mut inner.has_followed) {
            drop(inner);
            self.waker.wake_body();
            return true;
        }
        while let Some((number, path)) = inner.results.pop_first() {
            let ready = |held: &mut HeldState| {
                // The request may have been dropped meanwhile, and be held again.
                let is_ready = held.result == Some(number) && !held.is_withdrawn;
                held.is_ready |= is_ready;
                is_ready.then(|| held.waker.take())
            };
            let Some(Some(waker)) = inner.change(&path, ready) else { continue };
            drop(inner);
            if let Some(waker) = waker {
                waker.wake();
            }
            // Also if a spawned task takes it: the next result becomes ready after the next poll of the body.
            self.waker.wake_body();
            return true;
        }
        false
    }

    fn deliver(&self, path: &str, is_recorded: bool) {
        let delivered = Delivered { path: path.to_owned(), is_recorded };
        self.delivered.lock().unwrap_or_else(PoisonError::into_inner).push(delivered);
        self.waker.wake_body();
    }

    fn take_delivered(&self, inner: &mut Inner) {
        let delivered = std::mem::take(&mut *self.delivered.lock().unwrap_or_else(PoisonError::into_inner));
        for Delivered { path, is_recorded } in delivered {
            let Some((path, held)) = inner.held.get_key_value(path.as_str()) else { continue };
            if held.is_withdrawn || held.is_ready {
                continue;
            }
            let number = if is_recorded { self.waker.desk().result(path) } else { Some(u64::MAX) };
            let Some(number) = number else { continue };
            let path = Arc::clone(path);
            inner.change(&path, |held| held.result = Some(number));
            inner.results.insert((number, path));
        }
    }

    /// The number of the last push that has to be recorded soon, if it is not recorded yet.
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
            self.wake(waker);
        }
    }

    /// Wakes the poller of a request: a combinator with its own waker, or the body.
    fn wake(&self, waker: Option<Waker>) {
        match waker {
            Some(waker) => waker.wake(),
            None => self.waker.wake_body(),
        }
    }

    /// Whether a step is executed as a part of the body.
    pub(crate) fn is_in_step(&self) -> bool {
        self.inner().steps > 0
    }

    /// Whether there are results that the body has not seen, or records and work that may lead to one.
    pub(crate) fn has_more(&self) -> bool {
        let mut inner = self.inner();
        self.take_delivered(&mut inner);
        let is_pushing = inner.counts.unrecorded > 0 || inner.flushes > inner.flushed;
        let is_following = inner.following > 0 || inner.has_followed;
        !inner.results.is_empty() || is_pushing || is_following || !inner.tasks.is_empty()
    }

    /// Forgets the results that were taken below a step that is attempted again: they are asked for again.
    pub(crate) fn forget_held_below(&self, step: &str) {
        let mut inner = self.inner();
        let is_below = |path: &str| path.strip_prefix(step).is_some_and(|rest| rest.starts_with('/'));
        let below: Vec<Arc<str>> = inner.held.keys().filter(|path| is_below(path)).cloned().collect();
        below.iter().for_each(|path| inner.remove(path));
    }

    pub(crate) fn holds_any(&self) -> bool {
        let inner = self.inner();
        !inner.held.is_empty() || inner.elsewhere > 0
    }

    /// Whether the body holds an open request, or waits for work elsewhere.
    pub(crate) fn has_open(&self) -> bool {
        let inner = self.inner();
        inner.counts.open > 0 || inner.elsewhere > 0
    }
}

impl Receiver for Requests {
    fn only_waits(&self) -> bool {
        self.only_waits()
    }

    fn deliver(&self, path: &str, is_recorded: bool) {
        self.deliver(path, is_recorded);
    }

    fn undone(&self, path: &str, why: &str) {
        let undone = |held: &mut HeldState| {
            held.undone = Some(why.to_owned());
            held.waker.take()
        };
        let waker = self.inner().change(path, undone);
        if let Some(waker) = waker {
            self.wake(waker);
        }
    }

    fn is_idle(&self) -> bool {
        self.is_idle()
    }
}
