//! The journal of a run that is driven here: the records to append, in order, and the tasks that wait for them.
//!
//! Records become durable in the order in which they are [pushed](Journal::push). [`Journal::flush`] waits until
//! everything pushed before is durable. One append is under way at a time; records pushed meanwhile go into the next
//! one, so that a run with many branches commits them together.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, PoisonError};
use std::time::SystemTime;

use futures_util::FutureExt;
use tokio::runtime::Handle;

use super::desk::{Checked, Desk};
use super::feed_signal::FeedSignal;
use super::pending::{Inner, Pending};
use super::progress::{Progress, ProgressReports};
use super::question_index::QuestionIndex;
use super::recent_progress::RecentProgress;
use super::sent::Derived;
use super::steps::Step;
use super::transaction::{OpenTransaction, Turns};
use crate::clock::Clock;
use crate::core::Place;
use crate::event::EventKind;
use crate::halt::Halt;
use crate::question::{Given, States};
use crate::sorted::SortedSet;
use crate::store::{HeaderChange, Owner, Record, RunHeader, RunKey, RunStatus, StartedBy, Store, StoreError, Tags};
use crate::sync::{AtomicBool, AtomicWaker, Mutex, MutexGuard};

pub(crate) struct Journal {
    pub(crate) run_id: String,
    pub(crate) workflow: String,
    pub(crate) key: RunKey,
    pub(crate) tags: Tags,
    /// The node of another run that has started it.
    pub(crate) started_by: Option<Box<StartedBy>>,
    /// Whether it follows a run that has started over.
    pub(super) is_next: bool,
    pub(crate) owner: Owner,
    pub(crate) store: Arc<dyn Store>,
    pub(super) is_volatile: bool,
    pub(crate) clock: Clock,
    /// The runtime in which its nodes run.
    pub(super) runtime: Option<Handle>,
    inner: Mutex<Inner>,
    pub(super) watchers: AtomicUsize,
    /// Who follows the records of all runs.
    pub(super) feeds: Arc<FeedSignal>,
    pub(crate) progress: ProgressReports,
    /// Asks the run to end.
    cancel: AtomicBool,
    /// The requests of nodes.
    pub(crate) desk: Desk,
    /// Wakes the driver of the run.
    pub(crate) driver: AtomicWaker,
    stopped: AtomicBool,
    /// Whether the driver has to flush the journal: a caller has stopped waiting for an append that no other task may
    /// be polling, or the run was at rest when a record was pushed.
    needs_driver: AtomicBool,
    /// Who makes snapshots of the run.
    pub(super) snapshots: Option<Arc<dyn Snapshots>>,
    /// The turns of transactions in which steps write, one at a time.
    pub(super) turns: Turns,
}

/// Makes snapshots of runs that are driven.
pub(crate) trait Snapshots: Send + Sync {
    /// Has a snapshot made of a run. Returns at once.
    fn due(&self, run: RunKey);
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
            late_answers: SortedSet::new(),
            sent: SortedSet::new(),
            late_signals: SortedSet::new(),
            questions: QuestionIndex::default(),
            next: None,
            over: None,
            transaction: None,
            held_for_transaction: false,
            next_snapshot: u64::MAX,
            child_graphs: SortedSet::new(),
        };
        let progress = ProgressReports::new(if inner.ended { Progress::Over } else { Progress::Running });
        Journal {
            run_id: header.id.clone(),
            workflow: header.workflow.clone(),
            key: header.key,
            tags: header.tags.clone(),
            started_by: header.started_by.clone().map(Box::new),
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
            cancel: AtomicBool::new(false),
            desk: Desk::default(),
            driver: AtomicWaker::new(),
            stopped: AtomicBool::new(false),
            needs_driver: AtomicBool::new(false),
            snapshots: None,
            turns: Turns::default(),
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

    /// Whether the record that ends the run was pushed: it leaves this process soon.
    pub(crate) fn is_ending(&self) -> bool {
        self.inner().ended
    }

    /// Adds the records that a node makes of its requests, in one commit: that of a transaction, if a step has written in one.
    pub(crate) fn push_requests(&self, records: Vec<Record>, transaction: Option<OpenTransaction>) {
        let now = Some(self.clock.now());
        for record in &records {
            self.desk.note(&record.path, &record.kind, now);
        }
        let mut inner = self.inner();
        for record in records {
            self.push_to(&mut inner, record);
        }
        // A run that has ended records no more.
        let undone = if inner.ended || inner.halted.is_some() {
            transaction
        } else {
            transaction.and_then(|new| inner.transaction.replace(Box::new(new))).map(|before| *before)
        };
        let ends_the_hold = inner.transaction.is_some();
        drop(inner);
        drop(undone);
        if ends_the_hold {
            // What waits for the transaction to be there may begin with it.
            self.turns.released.notify_waiters();
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
        self.progress.report(Progress::Running);
        drop(inner);
        self.cancel();
    }

    /// Has the driver cancel the run.
    pub(super) fn cancel(&self) {
        self.cancel.store(true, Ordering::Release);
        self.driver.wake();
    }

    pub(crate) fn is_to_be_cancelled(&self) -> bool {
        self.cancel.load(Ordering::Acquire)
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

    /// Has the graph of a child stored with the next records, once for the run.
    pub(crate) fn keep_graph(&self, graph: &Arc<(u64, serde_json::Value)>) {
        let mut inner = self.inner();
        if inner.child_graphs.insert(graph.0) {
            inner.header.child_graphs.push(Arc::clone(graph));
        }
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

    /// ProgressReports that the run waits, unless a cancellation is pending that its driver has yet to process.
    pub(crate) fn waits(&self) {
        let inner = self.inner();
        if !inner.cancelled {
            self.progress.report(Progress::Waiting);
        }
    }

    pub(crate) fn cancel_is_recorded(&self) -> bool {
        self.inner().cancelled
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
        self.is_volatile && self.takes_steps() && !self.feeds.is_heard()
    }

    /// Whether steps may be pushed as such. Watchers of the run also get what follows from its records.
    pub(crate) fn takes_steps(&self) -> bool {
        !self.is_watched() && !self.is_stopped()
    }

    /// Appends the pushed records at once, if the store appends without waiting.
    pub(crate) fn catch_up_now(self: &Arc<Self>) {
        if self.is_volatile {
            // An error is returned to the next caller of `flush`.
            let _ = self.flush().now_or_never();
        }
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

    /// Stops the run, as if it could not record something, if this is since the store is away. Returns only if not.
    pub(crate) async fn stop_if_away(&self, error: &StoreError) {
        if error.is_of_outage() {
            self.halt(Halt::Store(error.clone()));
            std::future::pending().await
        }
    }

    /// Nothing more is recorded by this process.
    pub(crate) fn halt(&self, halt: Halt) {
        let mut inner = self.inner();
        inner.in_flight = None;
        inner.watchers.clear();
        self.watchers.store(0, Ordering::Relaxed);
        inner.halted.get_or_insert_with(|| Box::new(halt));
        let undone = inner.transaction.take();
        inner.held_for_transaction = false;
        self.turns.released.notify_waiters();
        drop(inner);
        drop(undone);
        self.stop_driver();
    }

    /// Halts the journal and reports to callers that wait for the run that it is no longer driven here.
    pub(crate) fn gone(&self, halt: Halt) {
        self.halt(halt);
        self.progress.report(Progress::Halted);
    }

    pub(crate) fn halted(&self) -> Option<Halt> {
        self.inner().halted.as_deref().cloned()
    }

    /// Whether the answer of this process to a question came too late.
    pub(crate) fn was_late(&self, question: &str) -> bool {
        self.inner().late_answers.remove(question)
    }
}
