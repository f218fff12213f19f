//! The journal of a run that is driven here: the records to append, in order, and the tasks that wait for them.
//!
//! Records become durable in the order in which they are [pushed](Journal::push). [`Journal::flush`] waits until
//! everything pushed before is durable. One append is under way at a time; records pushed meanwhile go into the next
//! one, so that a run with many branches commits them together.

use std::collections::HashSet;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, PoisonError, Weak};
use std::time::SystemTime;

use futures::FutureExt;
use futures::future::{BoxFuture, Shared};
use tokio::runtime::Handle;
use tokio::sync::{mpsc, watch};
use tokio_util::sync::CancellationToken;

use super::closing::is_closing;
use super::desk::{Checked, Desk};
use super::feed_signal::FeedSignal;
use super::pending::{Inner, Pending};
use super::question_index::QuestionIndex;
use super::recent_progress::RecentProgress;
use super::sent::{Batch, Derived, Sent};
use super::steps::Step;
use super::succession::{Committed, Succession, commit};
use crate::clock::Clock;
use crate::core::Place;
use crate::event::{Event, EventKind};
use crate::halt::Halt;
use crate::question::{Given, States};
use crate::store::{Append, HeaderChange, Owner, Record, RunHeader, RunKey, RunStatus, StartedBy, Store, Tags};
use crate::sync::{AtomicBool, AtomicWaker, Mutex, MutexGuard};

/// The progress of a run, as reported to callers that wait for it.
#[derive(Clone, Debug)]
pub(crate) enum Progress {
    Running,
    /// Nothing moves before a question is answered or a timer runs out.
    Waiting,
    Over,
    /// It is no longer driven here, and has not ended.
    Halted,
}

pub(crate) struct Journal {
    pub(crate) run_id: String,
    pub(crate) workflow: String,
    pub(crate) key: RunKey,
    pub(crate) tags: Tags,
    /// The node of another run that has started it.
    pub(crate) started_by: Option<StartedBy>,
    /// Whether it follows a run that has started over.
    pub(super) is_next: bool,
    pub(crate) owner: Owner,
    pub(crate) store: Arc<dyn Store>,
    is_volatile: bool,
    pub(crate) clock: Clock,
    /// The runtime in which its nodes run.
    runtime: Option<Handle>,
    inner: Mutex<Inner>,
    watchers: AtomicUsize,
    /// Who follows the records of all runs.
    feeds: Arc<FeedSignal>,
    progress: watch::Sender<Progress>,
    /// Asks the run to end.
    pub(crate) cancel: CancellationToken,
    /// The requests of nodes.
    pub(crate) desk: Desk,
    /// Wakes the driver of the run.
    pub(crate) driver: AtomicWaker,
    stopped: AtomicBool,
    /// Whether the driver has to flush the journal: a caller has stopped waiting for an append that no other task may
    /// be polling, or the run was at rest when a record was pushed.
    needs_driver: AtomicBool,
    /// Who makes snapshots of the run.
    snapshots: Option<Arc<dyn Snapshots>>,
}

/// Makes snapshots of runs that are driven.
pub(crate) trait Snapshots: Send + Sync {
    /// Has a snapshot made of a run. Returns at once.
    fn due(&self, run: RunKey);
}

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

/// The channel of a watcher, and the number of the first event in it. There is no channel after the last record.
pub(crate) struct Watch {
    pub(crate) from: u64,
    /// The progress that nodes under way have sent before.
    pub(crate) recent: Vec<Arc<Event>>,
    pub(crate) live: Option<mpsc::UnboundedReceiver<Sent>>,
}

impl Journal {
    /// The nodes of the run must run in the tokio runtime in which this is called.
    pub(crate) fn new(
        header: &RunHeader,
        owner: Owner,
        store: Arc<dyn Store>,
        clock: Clock,
        feeds: Arc<FeedSignal>,
    ) -> Self {
        let inner = Inner {
            pending: Pending::default(),
            derived: Vec::new(),
            header: HeaderChange::default(),
            length: header.records,
            pushed: 0,
            durable: 0,
            in_flight: None,
            halted: None,
            watchers: Vec::new(),
            recent: RecentProgress::default(),
            ended: header.status.is_over(),
            rests: None,
            cancelled: false,
            late_answers: HashSet::new(),
            sent: HashSet::new(),
            late_signals: HashSet::new(),
            questions: QuestionIndex::default(),
            next: None,
            over: None,
            next_snapshot: u64::MAX,
        };
        let (progress, _) = watch::channel(if inner.ended { Progress::Over } else { Progress::Running });
        Journal {
            run_id: header.id.clone(),
            workflow: header.workflow.clone(),
            key: header.key,
            tags: header.tags.clone(),
            started_by: header.started_by.clone(),
            is_next: header.previous.is_some(),
            owner,
            is_volatile: store.is_volatile(),
            store,
            clock,
            runtime: Handle::try_current().ok(),
            inner: Mutex::new(inner),
            watchers: AtomicUsize::new(0),
            feeds,
            progress,
            cancel: CancellationToken::new(),
            desk: Desk::default(),
            driver: AtomicWaker::new(),
            stopped: AtomicBool::new(false),
            needs_driver: AtomicBool::new(false),
            snapshots: None,
        }
    }

    /// Has snapshots made: the next one when there are so many records.
    pub(crate) fn with_snapshots(self, next: u64, snapshots: Arc<dyn Snapshots>) -> Self {
        self.inner().next_snapshot = next;
        Journal { snapshots: Some(snapshots), ..self }
    }

    /// Has the next snapshot made when there are so many records. Returns `false` if there are: then it is due now.
    pub(crate) fn snapshot_at(&self, next: u64) -> bool {
        let mut inner = self.inner();
        let is_later = inner.length < next || inner.ended;
        if is_later {
            inner.next_snapshot = next;
        }
        is_later
    }

    pub(super) fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a record behind those that were pushed before. Records pushed after the last one of the run are dropped.
    pub(crate) fn push(&self, path: String, kind: EventKind) {
        self.push_to(&mut self.inner(), Record { path, kind });
    }

    pub(super) fn push_to(&self, inner: &mut Inner, record: Record) {
        if inner.push(record) {
            self.wake_driver();
        }
    }

    /// Has the driver flush the journal. The pushed records may wake no node, and then the run comes to rest again.
    pub(super) fn wake_driver(&self) {
        self.needs_driver.store(true, Ordering::Release);
        self.driver.wake();
    }

    /// Whether the header shows the run at rest, or the run has ended.
    pub(crate) fn is_at_rest(&self) -> bool {
        let inner = self.inner();
        inner.ended || inner.rests.is_some()
    }

    /// Adds the records that a node makes of its requests, in one commit.
    pub(crate) fn push_requests(&self, records: Vec<Record>) {
        let now = Some(self.clock.now());
        for record in &records {
            self.desk.note(&record.path, &record.kind, now);
        }
        let mut inner = self.inner();
        for record in records {
            self.push_to(&mut inner, record);
        }
    }

    /// Adds an answer that the desk has [taken](Desk::take_answer), and returns a number that its record is not below.
    /// `None` where the question was withdrawn since, or the run has had its last record.
    pub(crate) fn push_answer(&self, path: String, given: Given, checked: Checked) -> Option<u64> {
        let mut inner = self.inner();
        // The node may have withdrawn the question meanwhile.
        if inner.ended || !self.desk.is_being_answered(&path) {
            return None;
        }
        let unchecked = checked == Checked::BySchema;
        let Given { answer, by, comment } = given;
        self.push_to(&mut inner, Record { path, kind: EventKind::Answered { answer, by, comment, unchecked } });
        Some(inner.length)
    }

    /// Adds the request that the run be cancelled, where there is none yet, and passes it to the driver. From here on
    /// the run does not wait, and a caller that waits for its end continues to.
    pub(crate) fn push_cancel(&self) {
        let mut inner = self.inner();
        if !inner.cancelled {
            self.push_to(&mut inner, Record { path: self.workflow.clone(), kind: EventKind::CancelRequested });
        }
        self.set_progress(Progress::Running);
        drop(inner);
        self.cancel.cancel();
    }

    /// Adds a record, and its consequences, which are not recorded but published behind it. Without a record, they are
    /// published behind the last one that was pushed.
    pub(crate) fn push_with(&self, record: Option<Record>, derived: Vec<Record>) {
        let mut inner = self.inner();
        if let Some(record) = record {
            self.push_to(&mut inner, record);
        }
        let behind = inner.pending.len();
        if behind > 0 || inner.in_flight.is_some() {
            inner.derived.extend(derived.into_iter().map(|record| Derived { behind, record }));
            return;
        }
        let (seq, now) = (inner.length.saturating_sub(1), self.clock.now());
        for record in derived {
            self.publish(&mut inner, seq, now, &record, true);
        }
    }

    /// Adds the two records of a step from a node to the next one. `begins`: whether it is the first one of an attempt
    /// that began at `origin`.
    pub(crate) fn push_step(&self, step: Step, begins: bool, origin: &Place) {
        if self.inner().push_step(step, begins, origin) {
            self.wake_driver();
        }
    }

    /// Changes the graph under which later records are made.
    pub(crate) fn change_graph(&self, graph: Arc<(u64, serde_json::Value)>) {
        let mut inner = self.inner();
        inner.pushed += 1;
        inner.header.graph = Some(graph);
    }

    /// The run is resumed, and its questions are these by its records. `are_known`: whether the store knows its open questions.
    pub(crate) fn index_questions(&self, states: States, are_known: bool) {
        let mut inner = self.inner();
        inner.questions = QuestionIndex::resumed(states, are_known);
        if !are_known && inner.questions.has_open() {
            self.report_all_questions(&mut inner);
        }
    }

    fn report_all_questions(&self, inner: &mut Inner) {
        if inner.ended {
            return;
        }
        inner.pushed += 1;
        inner.header.questions.is_all = true;
        self.wake_driver();
    }

    /// Marks the run as at rest until an answer comes, or until `wake_at`. Returns `false` if it is no longer at rest:
    /// a record, perhaps an answer, is being appended or has taken effect, or the run is to end.
    pub(crate) fn rest(&self, wake_at: Option<SystemTime>, is_still: impl FnOnce() -> bool) -> bool {
        let mut inner = self.inner();
        if inner.durable != inner.pushed || inner.cancelled || !is_still() {
            return false;
        }
        if inner.ended || inner.rests == Some(wake_at) {
            return true;
        }
        inner.pushed += 1;
        inner.rests = Some(wake_at);
        let status = if self.desk.waits_for_others() { RunStatus::Waiting } else { RunStatus::Sleeping };
        inner.header.status = Some((status, wake_at));
        true
    }

    /// Reports that the run waits, unless a cancellation is pending that its driver has yet to process.
    pub(crate) fn waits(&self) {
        let inner = self.inner();
        if !inner.cancelled {
            self.set_progress(Progress::Waiting);
        }
    }

    pub(crate) fn cancel_is_recorded(&self) -> bool {
        self.inner().cancelled
    }

    /// Sends an event that is not recorded to the present watchers.
    pub(crate) fn show(self: &Arc<Self>, path: impl FnOnce() -> String, kind: EventKind) {
        if !self.is_watched() {
            return;
        }
        self.catch_up_now();
        let mut inner = self.inner();
        if inner.watchers.is_empty() {
            return;
        }
        let event = self.event(inner.last_seq(), self.clock.now(), path(), kind, false);
        self.send(&mut inner, &Sent::One(event));
    }

    /// Sends progress to the present watchers, and keeps it for those that come while its node is under way.
    pub(crate) fn show_progress(self: &Arc<Self>, path: String, data: serde_json::Value) {
        self.catch_up_now();
        let mut inner = self.inner();
        if inner.ended || inner.halted.is_some() {
            return;
        }
        let number = inner.recent.next();
        let kind = EventKind::Progress { data, number };
        let event = self.event(inner.last_seq(), self.clock.now(), path, kind, false);
        inner.recent.keep(&event);
        self.send(&mut inner, &Sent::One(event));
    }

    fn send(&self, inner: &mut Inner, sent: &Sent) {
        inner.watchers.retain(|watcher| watcher.send(sent.clone()).is_ok());
        if sent.has_end() {
            inner.watchers.clear();
        }
        self.watchers.store(inner.watchers.len(), Ordering::Relaxed);
    }

    fn event(&self, seq: u64, time: SystemTime, path: String, kind: EventKind, derived: bool) -> Arc<Event> {
        Arc::new(Event { version: Event::VERSION, run_id: self.run_id.clone(), seq, time, path, derived, kind })
    }

    /// Whether all that was pushed is recorded.
    #[cfg(test)]
    pub(crate) fn is_quiet(&self) -> bool {
        let inner = self.inner();
        inner.durable == inner.pushed && inner.pending.len() == 0
    }

    /// How many records there are.
    pub(crate) fn length(&self) -> u64 {
        self.inner().length
    }

    /// Whether records may be appended some time after they were pushed: every reader has them appended first.
    pub(crate) fn may_lag(&self) -> bool {
        self.is_volatile && !self.is_watched() && !self.feeds.is_heard() && !self.is_stopped()
    }

    /// Appends the pushed records at once, if the store appends without waiting.
    pub(crate) fn catch_up_now(self: &Arc<Self>) {
        if self.is_volatile {
            // An error is returned to the next caller of `flush`.
            let _ = self.flush().now_or_never();
        }
    }

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
            let in_flight = {
                let mut inner = self.inner();
                if inner.durable >= ticket {
                    return Ok(());
                }
                if let Some(halt) = &inner.halted {
                    return Err(halt.clone());
                }
                match &inner.in_flight {
                    Some(in_flight) => in_flight.clone(),
                    None if self.may_follow_from_shutdown(inner.pending.plain()) => {
                        drop(inner);
                        self.halt(Halt::ShutDown);
                        return Err(Halt::ShutDown);
                    }
                    None => self.begin(&mut inner),
                }
            };
            in_flight.await;
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
    fn begin(self: &Arc<Self>, inner: &mut Inner) -> Shared<BoxFuture<'static, ()>> {
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
        let future = append(journal, store, batch, derived, ticket, succession).boxed().shared();
        inner.in_flight = Some(future.clone());
        future
    }

    /// Has the driver stop as soon as its pushed records are appended.
    pub(crate) fn stop_driver(&self) {
        self.stopped.store(true, Ordering::Release);
        self.driver.wake();
    }

    /// Whether the driver has to flush the journal.
    pub(crate) fn take_needs_driver(&self) -> bool {
        self.needs_driver.load(Ordering::Relaxed) && self.needs_driver.swap(false, Ordering::AcqRel)
    }

    /// Whether the driver has to stop, since nothing more can be recorded.
    pub(crate) fn is_stopped(&self) -> bool {
        self.stopped.load(Ordering::Acquire)
    }

    pub(super) fn publish(&self, inner: &mut Inner, seq: u64, time: SystemTime, record: &Record, derived: bool) {
        if inner.watchers.is_empty() {
            return;
        }
        let event = self.event(seq, time, record.path.clone(), record.kind.clone(), derived);
        self.send(inner, &Sent::One(event));
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

    /// Applies a record that opens a question, answers one, or is a signal. Called under the lock, so that a run that comes to
    /// [`rest`](Self::rest) has seen the effect of everything recorded.
    pub(super) fn heed(&self, inner: &mut Inner, record: &Record, seq: u64) -> Option<Record> {
        if let EventKind::Answered { .. } | EventKind::SignalReceived { .. } = record.kind {
            self.set_progress(Progress::Running);
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
        self.desk.is_checked(path);
        let record = Record { path: path.to_owned(), kind: EventKind::AnswerAccepted };
        self.push_following(&mut self.inner(), vec![record]);
    }

    /// Nothing more is recorded by this process.
    pub(crate) fn halt(&self, halt: Halt) {
        let mut inner = self.inner();
        inner.in_flight = None;
        inner.watchers.clear();
        self.watchers.store(0, Ordering::Relaxed);
        inner.halted.get_or_insert(halt);
        drop(inner);
        self.stop_driver();
    }

    /// Halts the journal and reports to callers that wait for the run that it is no longer driven here.
    pub(crate) fn gone(&self, halt: Halt) {
        self.halt(halt);
        self.set_progress(Progress::Halted);
    }

    pub(crate) fn halted(&self) -> Option<Halt> {
        self.inner().halted.clone()
    }

    /// Whether the answer of this process to a question came too late.
    pub(crate) fn was_late(&self, question: &str) -> bool {
        self.inner().late_answers.remove(question)
    }

    /// Begins to watch: the channel receives every event from here on.
    pub(crate) fn watch(&self) -> Watch {
        let mut inner = self.inner();
        if inner.halted.is_some() || (inner.ended && inner.durable == inner.pushed) {
            return Watch { from: inner.length, recent: Vec::new(), live: None };
        }
        let (sender, receiver) = mpsc::unbounded_channel();
        inner.watchers.push(sender);
        self.watchers.store(inner.watchers.len(), Ordering::Relaxed);
        Watch { from: inner.length, recent: inner.recent.all(), live: Some(receiver) }
    }

    pub(crate) fn is_watched(&self) -> bool {
        self.watchers.load(Ordering::Relaxed) > 0
    }

    pub(crate) fn progress(&self) -> watch::Receiver<Progress> {
        self.progress.subscribe()
    }

    pub(crate) fn set_progress(&self, progress: Progress) {
        self.progress.send_if_modified(|now| {
            let stays = matches!(now, Progress::Over | Progress::Halted);
            let same = matches!((&*now, &progress), (Progress::Running, Progress::Running));
            if stays || same {
                return false;
            }
            *now = progress;
            true
        });
    }
}

/// Appends a batch. If another process has appended records first, the batch goes behind those.
async fn append(
    journal: Weak<Journal>,
    store: Arc<dyn Store>,
    mut batch: Append,
    mut derived: Vec<Derived>,
    ticket: u64,
    mut succession: Option<Succession>,
) {
    loop {
        let begun = match &succession {
            Some(succession) => journal.upgrade().map(|journal| succession.next_run(&journal.desk, &batch)),
            None => None,
        };
        let result = commit(&*store, batch.clone(), begun).await;
        let Some(journal) = journal.upgrade() else { return };
        match result {
            Ok(Committed::Done(over)) => {
                if let Some(over) = over {
                    journal.inner().over = Some(*over);
                }
                return journal.done(&batch, &derived, ticket);
            }
            Ok(Committed::Refused(why)) => {
                if let Some(succession) = succession.take() {
                    let over = succession.fail(&mut batch, &why);
                    journal.inner().over = Some(over);
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
                    journal.inner().over = Some(over);
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
                    return journal.halt(halt);
                }
            }
            Err(error) => return journal.halt(Halt::Store(error)),
        }
    }
}
