//! Work for the writer, in the order in which it came.

use std::collections::VecDeque;
use std::sync::{Arc, PoisonError};
use std::time::Instant;

use rusqlite::Connection;
use tokio::sync::oneshot;

use super::kept_read;
use super::owners::{self, OwnerLock};
use super::runs::{self, EncodedAppend};
use super::trouble::Trouble;
use super::write_transaction::{Journals, WriteTransaction};
use crate::store::{Appended, Owner, StoreError};
use crate::sync::{Condvar, Mutex, MutexGuard};

/// A piece of work inside a transaction that is shared with others.
pub(super) trait Job: Send {
    /// Does the work. An error undoes the whole transaction; a refusal is an outcome and changes nothing.
    fn run(&mut self, transaction: &mut WriteTransaction<'_>) -> Result<(), Trouble>;

    /// Does the work as a transaction of its own, if one statement is enough. If it fails it has done nothing, and can
    /// be tried again.
    fn run_alone(&mut self, _connection: &Connection, _journals: &mut Journals) -> Option<Result<(), Trouble>> {
        None
    }

    /// Whether nothing else may be in its transaction. Only the thread executes it.
    fn is_alone(&self) -> bool {
        false
    }

    /// Whether nothing may come after it: then the log is copied back before it is answered.
    fn is_last(&self) -> bool {
        false
    }

    /// Sends the result to the caller, after the transaction.
    fn answer(self: Box<Self>, committed: Result<(), StoreError>);

    /// Sends the result to the caller, and has it send those of others if it can.
    fn answer_first(self: Box<Self>, committed: Result<(), StoreError>, others: Answers) {
        self.answer(committed);
        drop(others);
    }
}

/// Up to so many results are sent by the writer's thread.
const FEW: usize = 3;

/// Results of jobs that were committed together, which are yet to be sent to their callers: at the latest when this is
/// dropped.
///
/// To wake a task takes much less in a thread of its runtime than elsewhere, and the next commit waits for that: so the
/// writer's thread wakes the first caller, who wakes the others. It may come to that late, or never, and then the thread
/// does it after all: when it has made the next commit, before anything that takes longer, or when it had nothing to do for
/// a moment.
pub(super) struct Answers(Arc<Mutex<Option<Unsent>>>);

struct Unsent {
    jobs: Vec<Box<dyn Job>>,
    committed: Result<(), StoreError>,
}

impl Drop for Unsent {
    fn drop(&mut self) {
        for job in self.jobs.drain(..) {
            job.answer(self.committed.clone());
        }
    }
}

impl Answers {
    fn are_sent(&self) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).is_none()
    }
}

impl Drop for Answers {
    fn drop(&mut self) {
        // No caller is woken under the lock.
        let unsent = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        drop(unsent);
    }
}

/// Sends the results of jobs that were committed together, or has the first caller do so. Returns what that is to send.
pub(super) fn answer(mut jobs: Vec<Box<dyn Job>>, committed: Result<(), StoreError>) -> Option<Answers> {
    if jobs.len() <= FEW {
        jobs.into_iter().for_each(|job| job.answer(committed.clone()));
        return None;
    }
    let first = jobs.swap_remove(0);
    let others = Arc::new(Mutex::new(Some(Unsent { jobs, committed: committed.clone() })));
    first.answer_first(committed, Answers(Arc::clone(&others)));
    Some(Answers(others)).filter(|others| !others.are_sent())
}

/// A closure.
struct Task<W, T> {
    /// Taken when it is done.
    work: Option<W>,
    outcome: Option<T>,
    answer: oneshot::Sender<Result<T, StoreError>>,
}

impl<W, T> Job for Task<W, T>
where
    W: FnOnce(&mut WriteTransaction<'_>) -> Result<T, Trouble> + Send,
    T: Send,
{
    fn run(&mut self, transaction: &mut WriteTransaction<'_>) -> Result<(), Trouble> {
        if let Some(work) = self.work.take() {
            self.outcome = Some(work(transaction)?);
        }
        Ok(())
    }

    fn answer(self: Box<Self>, committed: Result<(), StoreError>) {
        let Task { outcome, answer, .. } = *self;
        let result = committed.and_then(|()| outcome.ok_or(StoreError::Closed));
        // The caller may be gone.
        drop(answer.send(result));
    }
}

/// An owner that leaves.
struct Leaving {
    owner: Owner,
    /// Held until this is committed, so that the owner does not count as dead before. If the commit fails, its file
    /// stays and shows that the owner is dead: without it, its runs would wait until its lease expires.
    lock: Option<OwnerLock>,
    answer: oneshot::Sender<Result<(), StoreError>>,
}

impl Job for Leaving {
    fn run(&mut self, transaction: &mut WriteTransaction<'_>) -> Result<(), Trouble> {
        owners::leave(transaction, self.owner)
    }

    /// What follows it takes too long for a caller.
    fn is_alone(&self) -> bool {
        true
    }

    fn is_last(&self) -> bool {
        true
    }

    fn answer(self: Box<Self>, committed: Result<(), StoreError>) {
        let Leaving { lock, answer, .. } = *self;
        if let (Ok(()), Some(lock)) = (&committed, lock) {
            lock.has_left();
        }
        // The caller may be gone.
        drop(answer.send(committed));
    }
}

/// An append, the most frequent job.
struct Appending {
    batch: EncodedAppend,
    outcome: Option<Appended>,
    answer: oneshot::Sender<AppendAnswer>,
}

/// The result of an append, and what its caller is to send to others.
type AppendAnswer = (Result<Appended, StoreError>, Option<Answers>);

/// Waits for the result of an append.
pub(super) struct Appends(oneshot::Receiver<AppendAnswer>);

impl Appends {
    pub(super) async fn result(self) -> Result<Appended, StoreError> {
        let (result, others) = self.0.await.map_err(|_| StoreError::Closed)?;
        drop(others);
        result
    }
}

impl Appending {
    fn send(self, committed: Result<(), StoreError>, others: Option<Answers>) {
        let result = committed.and_then(|()| self.outcome.ok_or(StoreError::Closed));
        // The caller may be gone. Then the others get their answers here.
        drop(self.answer.send((result, others)));
    }
}

impl Job for Appending {
    fn run(&mut self, transaction: &mut WriteTransaction<'_>) -> Result<(), Trouble> {
        self.outcome = Some(runs::append(transaction, &self.batch)?);
        Ok(())
    }

    fn run_alone(&mut self, connection: &Connection, journals: &mut Journals) -> Option<Result<(), Trouble>> {
        let appended = runs::append_in_one_statement(connection, journals, &self.batch, kept_read::State::None)?;
        Some(appended.map(|appended| self.outcome = Some(appended)))
    }

    fn answer(self: Box<Self>, committed: Result<(), StoreError>) {
        self.send(committed, None);
    }

    fn answer_first(self: Box<Self>, committed: Result<(), StoreError>, others: Answers) {
        self.send(committed, Some(others));
    }
}

#[derive(Default)]
pub(super) struct Queue {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    jobs: VecDeque<Box<dyn Job>>,
    /// Whether the thread waits. Otherwise waking it would be a useless system call.
    idle: bool,
    /// Whether the thread has chores to do besides jobs.
    called: bool,
    /// Whether a read transaction is kept of which the thread does not know yet.
    keeps_read: bool,
    /// Whether the last handle is gone: no more jobs come.
    closing: bool,
    /// Whether the thread has ended: jobs are refused.
    closed: bool,
}

/// What woke the thread.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Wake {
    Work,
    /// The time has come, or the thread was called.
    Chores,
    /// Everything is done and the last handle is gone.
    End,
}

impl Queue {
    /// Adds work. The receiver gets an error if the queue is closed.
    pub(super) fn push<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut WriteTransaction<'_>) -> Result<T, Trouble> + Send + 'static,
    ) -> oneshot::Receiver<Result<T, StoreError>> {
        let (answer, result) = oneshot::channel();
        self.add(Box::new(Task { work: Some(work), outcome: None, answer }));
        result
    }

    /// As [`push`](Self::push), for records that are to be added.
    pub(super) fn push_append(&self, batch: EncodedAppend) -> Appends {
        let (answer, result) = oneshot::channel();
        self.add(Box::new(Appending { batch, outcome: None, answer }));
        Appends(result)
    }

    /// As [`push`](Self::push), for an owner that leaves.
    pub(super) fn push_leave(
        &self,
        owner: Owner,
        lock: Option<OwnerLock>,
    ) -> oneshot::Receiver<Result<(), StoreError>> {
        let (answer, result) = oneshot::channel();
        self.add(Box::new(Leaving { owner, lock, answer }));
        result
    }

    /// As [`push`](Self::push), for a job that answers by itself.
    pub(super) fn push_job(&self, job: Box<dyn Job>) {
        self.add(job);
    }

    fn add(&self, job: Box<dyn Job>) {
        let mut state = self.lock();
        if !state.closed {
            state.jobs.push_back(job);
        }
    }

    /// The oldest jobs that may be in one transaction, in order. `and_alone`: or one that has to be alone.
    pub(super) fn take(&self, most: usize, and_alone: bool) -> Vec<Box<dyn Job>> {
        let mut state = self.lock();
        let together = state.jobs.iter().take(most).take_while(|job| !job.is_alone()).count();
        let alone = usize::from(together == 0 && and_alone && !state.jobs.is_empty());
        state.jobs.drain(..together + alone).collect()
    }

    /// Puts jobs back that have not been run.
    pub(super) fn put_back(&self, jobs: Vec<Box<dyn Job>>) {
        let mut state = self.lock();
        for job in jobs.into_iter().rev() {
            state.jobs.push_front(job);
        }
    }

    /// Whether no job waits, and jobs may come.
    pub(super) fn is_free(&self) -> bool {
        let state = self.lock();
        state.jobs.is_empty() && !state.closed
    }

    pub(super) fn len(&self) -> usize {
        self.lock().jobs.len()
    }

    /// Wakes the thread, if it waits and there is something to do.
    pub(super) fn wake(&self) {
        let mut state = self.lock();
        if state.idle && !state.jobs.is_empty() {
            state.idle = false;
            self.changed.notify_one();
        }
    }

    /// Has the thread do its chores.
    pub(super) fn call(&self) {
        self.lock().called = true;
        self.changed.notify_one();
    }

    /// Has the thread look after a read transaction that is kept from now on.
    pub(super) fn tell_of_kept_read(&self) {
        self.lock().keeps_read = true;
        self.changed.notify_one();
    }

    /// Marks the end: no more jobs come.
    pub(super) fn finish(&self) {
        self.lock().closing = true;
        self.changed.notify_one();
    }

    /// Refuses all queued jobs, and all later ones.
    pub(super) fn close(&self) {
        let refused = {
            let mut state = self.lock();
            state.closed = true;
            std::mem::take(&mut state.jobs)
        };
        drop(refused);
    }

    /// Waits until there is something to do: chores from one time on. `None`: there was nothing until the other one, or a read
    /// transaction is kept from now on.
    pub(super) fn wait(&self, chores: Option<Instant>, pause: Option<Instant>) -> Option<Wake> {
        let mut state = self.lock();
        loop {
            let now = Instant::now();
            let is_over = |time: Option<Instant>| time.is_some_and(|time| time <= now);
            if std::mem::take(&mut state.called) {
                return Some(Wake::Chores);
            }
            // The thread looks at the time after it as well: however short a lease is, there is work done.
            if !state.jobs.is_empty() {
                return Some(Wake::Work);
            }
            if is_over(chores) {
                return Some(Wake::Chores);
            }
            if std::mem::take(&mut state.keeps_read) {
                return None;
            }
            if state.closing {
                return Some(Wake::End);
            }
            if is_over(pause) {
                return None;
            }
            state.idle = true;
            let until = [chores, pause].into_iter().flatten().min();
            state = match until.map(|until| until.saturating_duration_since(now)) {
                Some(left) => self.changed.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0,
                None => self.changed.wait(state).unwrap_or_else(PoisonError::into_inner),
            };
            state.idle = false;
        }
    }

    /// No job runs under this lock, so its data is consistent even after a panic.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
