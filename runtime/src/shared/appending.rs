//! Appending what was pushed to a journal: one append at a time, in order.

use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use futures_util::FutureExt;
use futures_util::future::BoxFuture;

use super::closing::is_closing;
use super::journal::Journal;
use super::pending::{InFlight, Inner, retain};
use super::progress::Progress;
use super::sent::{Batch, Derived, Sent};
use super::succession::{Committed, Succession, commit};
use super::transaction::OpenTransaction;
use crate::event::EventKind;
use crate::halt::Halt;
use crate::meter;
use crate::store::{Append, Record, RunStatus, Store, Stored};

/// If a caller stops waiting for an append, the driver waits for it instead: answers take effect once it is done.
struct LeftToDriver<'j> {
    journal: &'j Journal,
    is_left: bool,
}

impl Drop for LeftToDriver<'_> {
    fn drop(&mut self) {
        if self.is_left {
            self.journal.wake_driver();
        }
    }
}

/// What a flush waits for.
enum Before<A, T> {
    /// The append that is under way.
    Append(A),
    /// A transaction.
    Transaction(T),
    /// An append that it has begun.
    New(BoxFuture<'static, ()>),
}

impl Journal {
    /// Waits until everything pushed before is recorded. Cancel safe: pushed records are appended all the same.
    pub(crate) async fn flush(self: &Arc<Self>) -> Result<(), Halt> {
        let mut left = LeftToDriver { journal: self, is_left: true };
        let flushed = self.until_durable().await;
        left.is_left = false;
        flushed
    }

    async fn until_durable(self: &Arc<Self>) -> Result<(), Halt> {
        let ticket = self.inner().pushed;
        loop {
            let before = {
                let mut inner = self.inner();
                if inner.durable >= ticket {
                    return Ok(());
                }
                if let Some(halt) = &inner.halted {
                    return Err(Halt::clone(halt));
                }
                match &inner.in_flight {
                    Some(in_flight) => Before::Append(self.wait_for(in_flight)),
                    // From here on it hears of it, also before it is polled.
                    None if inner.is_held() => Before::Transaction(self.turns.released.notified()),
                    None if self.may_follow_from_shutdown(inner.pending.plain()) => {
                        drop(inner);
                        self.halt(Halt::ShutDown);
                        return Err(Halt::ShutDown);
                    }
                    None => Before::New(self.begin(&mut inner)),
                }
            };
            match before {
                Before::Append(over) => over.await,
                Before::Transaction(released) => released.await,
                Before::New(append) => self.drive_append(append).await,
            }
        }
    }

    /// Whether records may report failures or withdrawals whose only cause is that the runtime drops its tasks: tasks
    /// that a node has spawned may be dropped before the run itself. Such a run is resumed by the next process as after
    /// a crash.
    fn may_follow_from_shutdown(&self, records: &[Record]) -> bool {
        let is_failure = |record: &Record| {
            matches!(
                record.kind,
                EventKind::NodeFailed { .. } | EventKind::RunFailed { .. } | EventKind::RequestWithdrawn
            )
        };
        records.iter().any(is_failure) && self.runtime.as_ref().is_some_and(is_closing)
    }

    /// Begins to append what is pending.
    fn begin(self: &Arc<Self>, inner: &mut Inner) -> BoxFuture<'static, ()> {
        let time = self.clock.now();
        inner.pending.begin_at(time);
        let mut header = std::mem::take(&mut inner.header);
        let is_all = header.questions.is_all;
        header.questions = inner.questions.report(inner.pending.plain(), time, is_all, |id| self.desk.question(id));
        let records = std::mem::take(&mut inner.pending).into();
        let batch = Append { run: self.key, at: inner.length, time, records, header };
        let (ticket, journal, store) = (inner.pushed, Arc::downgrade(self), Arc::clone(&self.store));
        let derived = std::mem::take(&mut inner.derived);
        let succession = inner.next.take().map(Succession::of);
        let transaction = inner.transaction.take();
        if std::mem::take(&mut inner.held_for_transaction) {
            self.turns.released.notify_waiters();
        }
        let commit = Commit { store, transaction, succession };
        inner.in_flight = Some(InFlight::Begins);
        append(journal, commit, batch, derived, ticket).boxed()
    }

    fn done(self: &Arc<Self>, batch: &Append, derived: &[Derived], ticket: u64) {
        let mut inner = self.inner();
        if !inner.watchers.is_empty() {
            let Append { at, time, ref records, .. } = *batch;
            let (run_id, records, derived) = (self.run_id.clone(), records.clone(), derived.to_vec());
            self.send(&mut inner, &Sent::Batch(Arc::new(Batch { run_id, at, time, records, derived })));
        }
        let plain = batch.records.plain();
        let accepted = plain.filter_map(|(at, record)| self.heed(&mut inner, record, batch.at + at as u64)).collect();
        inner.length += batch.records.len() as u64;
        inner.durable = ticket;
        inner.in_flight = None;
        self.push_following(&mut inner, accepted);
        // Each due snapshot is asked for once.
        let is_due = inner.length >= inner.next_snapshot && !inner.ended;
        if is_due {
            inner.next_snapshot = u64::MAX;
        }
        drop(inner);
        self.feeds.notify();
        if is_due && let Some(snapshots) = &self.snapshots {
            snapshots.due(self.key);
        }
    }

    /// What a step has written is undone: its result is not recorded, and all else of the batch is. The step is executed again.
    fn take_back(&self, batch: &mut Append, derived: &mut [Derived], step: &str, why: &str) {
        let mut records = std::mem::take(&mut batch.records).into_vec();
        retain(&mut records, derived, |record| {
            record.path != step || !matches!(record.kind, EventKind::NodeCompleted { .. })
        });
        let (time, is_all) = (batch.time, batch.header.questions.is_all);
        {
            let mut inner = self.inner();
            inner.questions.undo();
            batch.header.questions = inner.questions.report(&records, time, is_all, |id| self.desk.question(id));
        }
        batch.records = records.into();
        tracing::debug!(run_id = self.run_id, path = step, why, "a transaction is undone");
        self.desk.result_undone(step, why);
    }

    /// Applies a record that opens a question, answers one, or is a signal. Called under the lock, so that a run that comes to
    /// [`rest`](Self::rest) has seen the effect of everything recorded.
    pub(super) fn heed(&self, inner: &mut Inner, record: &Record, seq: u64) -> Option<Record> {
        if let EventKind::Answered { .. } | EventKind::SignalReceived { .. } = record.kind {
            self.progress.report(Progress::Running);
        }
        if let EventKind::SignalReceived { name, id: Some(id), .. } = &record.kind
            && !inner.sent.is_empty()
        {
            inner.sent.remove(&(name.clone(), id.clone()));
        }
        self.desk.recorded(record, seq)
    }

    /// Adds the records that follow from those that were just recorded: that answers, recorded unchecked, are of their
    /// types, for which the callers that gave them wait, and that signals are delivered.
    pub(super) fn push_following(&self, inner: &mut Inner, mut following: Vec<Record>) {
        following.append(&mut self.desk.deliveries());
        if following.is_empty() {
            return;
        }
        for record in following {
            inner.push(record);
        }
        self.wake_driver();
    }

    /// Adds such a record for an answer that its node has read.
    pub(crate) fn accept(&self, path: &str) {
        self.desk.set_checked(path);
        let record = Record { path: path.to_owned(), kind: EventKind::AnswerAccepted };
        self.push_following(&mut self.inner(), vec![record]);
    }

    /// Why the run is not driven here any more: another process has taken it over behind this batch, or the store does not say.
    async fn taken_over_behind(&self, store: &dyn Store, batch: &Append) -> Option<Halt> {
        let behind = batch.at + batch.records.len() as u64;
        let is_of_other =
            |stored: &Stored| matches!(stored.record.kind, EventKind::RunResumed { owner } if owner != self.owner.0);
        match store.read(batch.run, behind, usize::MAX).await {
            Ok(news) => news.iter().any(is_of_other).then_some(Halt::Fenced),
            Err(error) => Some(Halt::Store(error)),
        }
    }
}

/// A reply to an append that took this long is late: the process may have been stopped meanwhile, and its run taken over by another one. It is less
/// than any store waits before it takes an owner for dead. A run that is created needs no such look: no node of it begins before an append.
pub(super) const LATE: Duration = Duration::from_secs(1);

/// What a batch is committed with.
struct Commit {
    store: Arc<dyn Store>,
    /// That in which a step has written.
    transaction: Option<Box<OpenTransaction>>,
    succession: Option<Succession>,
}

/// Appends a batch. If another process has appended records first, the batch goes behind those.
///
/// A block and not an async function, which would have room for its arguments twice.
fn append(
    journal: Weak<Journal>,
    commit_with: Commit,
    mut batch: Append,
    mut derived: Vec<Derived>,
    ticket: u64,
) -> impl Future<Output = ()> + Send + 'static {
    let Commit { store, mut transaction, mut succession } = commit_with;
    async move {
        loop {
            let begun = match &succession {
                Some(succession) => journal.upgrade().map(|journal| succession.next_run(&journal.desk, &batch)),
                None => None,
            };
            let (measured, begins) = (meter::commit_begins(), Instant::now());
            let result = commit(&*store, transaction.as_deref(), batch.clone(), begun).await;
            measured(match &result {
                Ok(Committed::Done(_)) => "done",
                Ok(Committed::Conflict) => "conflict",
                Ok(Committed::Refused(_)) => "refused",
                Ok(Committed::Undone(_)) => "undone",
                Err(_) => "failed",
            });
            let Some(journal) = journal.upgrade() else { return };
            match result {
                Ok(Committed::Done(over)) => {
                    if begins.elapsed() >= LATE
                        && let Some(halt) = journal.taken_over_behind(&*store, &batch).await
                    {
                        return journal.halt(halt);
                    }
                    let (opened, closed) = journal.inner().questions.counts();
                    meter::questions_changed(opened, closed);
                    if let Some(over) = over {
                        journal.inner().over = Some(over);
                    }
                    return journal.done(&batch, &derived, ticket);
                }
                Ok(Committed::Undone(why)) => {
                    if let Some(undone) = transaction.take() {
                        journal.take_back(&mut batch, &mut derived, &undone.step, &why);
                    }
                }
                Ok(Committed::Refused(why)) => {
                    if let Some(succession) = succession.take() {
                        let over = succession.fail(&mut batch, &why);
                        journal.inner().over = Some(Box::new(over));
                    }
                }
                Ok(Committed::Conflict) => {
                    let news = match store.read(batch.run, batch.at, usize::MAX).await {
                        Ok(news) => news,
                        Err(error) => return journal.halt(Halt::Store(error)),
                    };
                    if news.is_empty() {
                        return journal.halt(Halt::Fenced);
                    }
                    // Times of records do not go back.
                    let last = news.iter().map(|stored| stored.time).max();
                    batch.time = last.map_or_else(|| journal.clock.now(), |last| last.max(journal.clock.now()));
                    let mut records = std::mem::take(&mut batch.records).into_vec();
                    journal.inner().questions.undo();
                    journal.absorb(journal.inner(), news, &mut records, &mut derived);
                    let (time, is_all) = (batch.time, batch.header.questions.is_all);
                    let text = |id: &str| journal.desk.question(id);
                    batch.header.questions = journal.inner().questions.report(&records, time, is_all, text);
                    batch.records = records.into();
                    if journal.cancel_is_recorded()
                        && let Some(succession) = succession.take()
                    {
                        let over = succession.cancel(&mut batch);
                        journal.inner().over = Some(Box::new(over));
                    }
                    let (length, halted) = {
                        let inner = journal.inner();
                        (inner.length, inner.halted.clone())
                    };
                    batch.at = length;
                    // The foreign records may make a resting run move again.
                    if batch.header.status.is_some_and(|(status, _)| status.is_suspended()) {
                        batch.header.status = Some((RunStatus::Running, None));
                    }
                    if let Some(halt) = halted {
                        return journal.halt(*halt);
                    }
                }
                Err(error) => return journal.halt(Halt::Store(error)),
            }
        }
    }
}
