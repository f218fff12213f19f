//! What nodes have asked their contexts for: children, steps, questions and timers, each with what is on record of it.
//! A node that runs again from its top is given back what is here.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use foldhash::HashMap;
use serde_json::Value;

use super::tree::Tree;
use crate::event::{AfterFailure, EventKind};
use crate::fault::{Cause, Fault};
use crate::question::{AnswerError, Question, Questions, State, check_schema};
use crate::state_write::StateWrite;
use crate::store::{Record, Stored};

#[derive(Default)]
pub(crate) struct Desk {
    /// Whether anything was asked for. Most runs ask for nothing.
    is_used: AtomicBool,
    inner: Mutex<Inner>,
}

#[derive(Default)]
struct Inner {
    /// By path: `checkout/plan/search:rust`.
    items: Tree<Item>,
    /// Whether any of them was a graph that was entered.
    has_graphs: bool,
    /// By path: the records from before this process of the graphs inside children that were not done, which fold them
    /// themselves.
    before: Tree<Vec<Stored>>,
    questions: Questions,
    /// While that is folded: answers that have come meanwhile, and so after it.
    early: Option<Vec<(String, Value, u64)>>,
    /// How many records were kept here, in a run without a journal.
    kept: u64,
    /// What is held by attempts of this process.
    holders: HashMap<Arc<str>, Holder>,
}

/// What an attempt has of its requests, as the desk knows it.
pub(crate) trait Receiver: Send + Sync {
    /// A request has got a result. `is_recorded`: a cancelled one leaves none.
    fn deliver(&self, path: &str, is_recorded: bool);

    /// Whether nothing but results can wake the attempt.
    fn is_idle(&self) -> bool;
}

/// An attempt that holds a request.
struct Holder {
    receiver: Arc<dyn Receiver>,
    /// Whether a value can be the answer.
    fits: Option<Fits>,
}

/// Whether a value can be the answer to a question.
pub(crate) type Fits = fn(&Value) -> Result<(), Misfit>;

/// Something that a node has asked for.
#[derive(Clone, Debug, Default)]
pub(crate) struct Item {
    /// The last attempt that has begun.
    pub(crate) attempt: u32,
    /// Whether that attempt is under way, or was cut short and never ended.
    pub(crate) under_way: bool,
    /// Whether it began before this process, so that what is on record below it can be gone on with.
    pub(crate) is_before: bool,
    /// How many attempts have failed.
    pub(crate) failures: u32,
    /// Whether it is a graph that was entered.
    pub(crate) inside: bool,
    /// The hash of its input.
    pub(crate) input: Option<String>,
    /// What it gave, and what it wrote to the run's state.
    pub(crate) output: Option<(Value, Vec<StateWrite>)>,
    /// How it failed for good, and the error as a value.
    pub(crate) failed: Option<(Cause, Option<Value>)>,
    /// When the next attempt begins.
    pub(crate) retry_at: Option<SystemTime>,
    /// The answer to a question.
    pub(crate) answer: Option<Value>,
    /// When a timer runs out.
    pub(crate) until: Option<SystemTime>,
    /// Whether it has.
    pub(crate) fired: bool,
    /// Whether it is a question that was asked.
    pub(crate) asked: bool,
    /// The number of the record with its result, from when that is recorded.
    pub(crate) result: Option<u64>,
    /// Whether its node has dropped it without having taken the result.
    pub(crate) withdrawn: bool,
    /// How often its node has withdrawn it.
    pub(crate) withdrawals: u32,
}

impl Item {
    /// Whether there is any record of it.
    pub(crate) fn is_recorded(&self) -> bool {
        self.attempt > 0 || self.asked || self.until.is_some()
    }

    /// Whether its result is recorded, and nothing becomes of it any more unless it is withdrawn.
    pub(crate) fn is_settled(&self) -> bool {
        self.result.is_some() && !self.withdrawn
    }

    /// Whether it has a result.
    pub(crate) fn is_done(&self) -> bool {
        self.output.is_some() || self.failed.is_some() || self.answer.is_some() || self.fired
    }
}

/// Why an answer does not fit: where, and what.
pub(crate) type Misfit = (String, String);

impl Desk {
    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The same, for something that was asked for.
    fn used(&self) -> MutexGuard<'_, Inner> {
        self.is_used.store(true, Ordering::Release);
        self.inner()
    }

    /// What is on record from before this process is folded from here on; what comes meanwhile comes after that.
    pub(crate) fn folds(&self) {
        self.used().early = Some(Vec::new());
    }

    /// All of it is folded.
    pub(crate) fn has_folded(&self) {
        let mut inner = self.inner();
        for (path, answer, number) in inner.early.take().unwrap_or_default() {
            if let Some(item) = inner.items.get_mut(&path) {
                (item.answer, item.result) = (Some(answer), Some(number));
            }
        }
    }

    /// Whether what a record tells of can have happened below `node`, which is not done: what is around it had begun.
    pub(crate) fn can_restore(&self, record: &Record, node: &str) -> bool {
        self.inner().had_begun_around(record, node)
    }

    /// Folds a record of something below a node that is not done, from before this process.
    pub(crate) fn restore(&self, stored: Stored) {
        let mut inner = self.used();
        let is_of_graph = matches!(stored.record.kind, EventKind::RunCancelling);
        if is_of_graph || inner.is_in_a_graph(&stored.record.path) {
            inner.before.get_or_insert(&stored.record.path).push(stored.clone());
        }
        let Stored { seq, record: Record { path, kind }, .. } = stored;
        let is_result = kind.is_result() || kind == EventKind::RequestReopened;
        match kind {
            EventKind::NodeStarted { attempt, inside, input } => {
                inner.started(&path, attempt, inside.is_some(), input).is_before = true;
            }
            EventKind::NodeCompleted { output, state, .. } => inner.completed(&path, output, state),
            kind => inner.apply(&path, &kind),
        }
        if is_result {
            inner.has_result(&path, seq);
        }
    }

    /// Folds the records of questions among these, of whatever kind they are, from before this process.
    pub(crate) fn restore_questions(&self, history: &[Stored]) {
        if history.is_empty() {
            return;
        }
        let questions = &mut self.used().questions;
        for Stored { record, .. } in history {
            questions.apply(&record.path, &record.kind);
        }
    }

    /// Takes over what this process has recorded, or seen recorded, under this number.
    pub(crate) fn recorded(&self, record: &Record, number: u64) {
        if self.is_empty() {
            return;
        }
        let mut inner = self.inner();
        let path = record.path.as_str();
        inner.questions.apply(path, &record.kind);
        // Its node may have dropped it, or have ended, while that was on its way.
        if matches!(record.kind, EventKind::QuestionAsked { .. } | EventKind::RequestReopened)
            && inner.items.get(path).is_none_or(|item| item.withdrawn)
        {
            inner.questions.apply(path, &EventKind::RequestWithdrawn);
        }
        if let EventKind::Answered { answer } = &record.kind {
            if let Some(early) = &mut inner.early {
                early.push((path.to_owned(), answer.clone(), number));
            }
            // Its node may be done by now.
            if let Some(item) = inner.items.get_mut(path) {
                item.answer = Some(answer.clone());
            }
        }
        let is_result = record.kind.is_result() || record.kind == EventKind::RequestReopened;
        if !is_result || inner.items.is_empty() || !inner.has_result(path, number) {
            return;
        }
        let receiver = inner.holders.get(path).map(|holder| Arc::clone(&holder.receiver));
        drop(inner);
        if let Some(receiver) = receiver {
            receiver.deliver(path, true);
        }
    }

    /// Takes over what a node is about to record of something that it asked for.
    pub(crate) fn note(&self, path: &str, kind: &EventKind) {
        let mut inner = self.used();
        // From here on nobody answers it.
        if *kind == EventKind::RequestWithdrawn {
            inner.questions.apply(path, kind);
        }
        inner.apply(path, kind);
    }

    /// An attempt holds a request. Returns what is recorded of it. One that is [settled](Item::is_settled) needs no
    /// [`release`](Self::release).
    pub(crate) fn hold(&self, path: &Arc<str>, receiver: Arc<dyn Receiver>, fits: Option<Fits>) -> Option<Box<Item>> {
        let mut inner = self.used();
        let item = inner.items.get(path).cloned().map(Box::new);
        if item.as_ref().is_none_or(|item| !item.is_settled()) {
            inner.holders.insert(Arc::clone(path), Holder { receiver, fits });
        }
        item
    }

    /// An attempt waits for another result than the recorded one.
    pub(crate) fn watch(&self, path: &Arc<str>, receiver: Arc<dyn Receiver>, fits: Option<Fits>) {
        self.used().holders.insert(Arc::clone(path), Holder { receiver, fits });
    }

    /// Keeps what nodes record of their requests in a run without a journal.
    pub(crate) fn keep(&self, records: &[Record]) {
        for record in records {
            self.note(&record.path, &record.kind);
            let number = {
                let mut inner = self.inner();
                inner.kept += 1;
                inner.kept
            };
            self.recorded(record, number);
        }
    }

    /// An attempt does not hold a request any more.
    pub(crate) fn release(&self, path: &str, receiver: *const ()) {
        let mut inner = self.inner();
        if inner.holders.get(path).is_some_and(|holder| Arc::as_ptr(&holder.receiver).cast() == receiver) {
            inner.holders.remove(path);
        }
    }

    /// The number of the record with the result of a request, if that is recorded and was not withdrawn.
    pub(crate) fn result(&self, path: &str) -> Option<u64> {
        self.inner().items.get(path).filter(|item| item.is_settled()).and_then(|item| item.result)
    }

    /// The requests of the attempt at `path` that are recorded as open.
    pub(crate) fn open_requests(&self, path: &str) -> Vec<String> {
        let inner = self.inner();
        let is_open = |item: &Item| item.is_recorded() && !item.is_done() && !item.withdrawn;
        let open = inner.items.right_below(path).filter(|(_, item)| is_open(item));
        open.map(|(path, _)| path.to_owned()).collect()
    }

    /// Whether all attempts that wait for a request of theirs can only be woken by its result.
    pub(crate) fn are_idle(&self) -> bool {
        let inner = self.inner();
        inner.holders.values().all(|holder| holder.receiver.is_idle())
    }

    /// Whether nothing was asked for.
    pub(crate) fn is_empty(&self) -> bool {
        !self.is_used.load(Ordering::Acquire)
    }

    /// What is on record under a path.
    pub(crate) fn item(&self, path: &str) -> Option<Box<Item>> {
        self.inner().items.get(path).cloned().map(Box::new)
    }

    /// A node is done with what it asked for: nobody answers it any more, though the record of that may be on its way.
    pub(crate) fn forget_below(&self, path: &str) {
        let mut inner = self.inner();
        inner.forget_below(path);
        // While old records are folded, the questions stay as they are: all of their records were folded before.
        if inner.early.is_none() {
            inner.questions.withdraw(Some(path));
        }
    }

    /// An attempt at a node has failed: what has failed for good in it may be tried again by the next one.
    pub(crate) fn forgive_below(&self, path: &str) {
        self.inner().forgive_below(path);
    }

    /// The records from before this process of the graph inside a child whose attempt is gone on with; only once, since
    /// from then on they are not all there is. They stay for the children of the nodes inside.
    pub(crate) fn take_records(&self, path: &str) -> Vec<Stored> {
        let mut inner = self.inner();
        if let Some(item) = inner.items.get_mut(path) {
            item.is_before = false;
        }
        let own = inner.before.get(path).into_iter();
        let mut records: Vec<Stored> = own.chain(inner.before.below(path)).flatten().cloned().collect();
        records.sort_unstable_by_key(|stored| stored.seq);
        records
    }

    pub(crate) fn open_questions(&self) -> Vec<Question> {
        self.inner().questions.open()
    }

    pub(crate) fn has_open_questions(&self) -> bool {
        self.inner().questions.has_open()
    }

    /// What there is, by path, for a comparison: not what only a process has.
    #[cfg(test)]
    pub(crate) fn snapshot(&self) -> Vec<(String, String)> {
        let inner = self.inner();
        let of = |(path, item): (&str, &Item)| {
            let item = Item { is_before: false, ..item.clone() };
            let open = inner.questions.open().iter().any(|question| question.id == path);
            (path.to_owned(), format!("{item:?}, {}", if open { "open" } else { "not open" }))
        };
        let mut all: Vec<(String, String)> = inner.items.iter().map(of).collect();
        all.sort();
        all
    }

    /// When the next timer that a node waits for runs out.
    pub(crate) fn next_timer(&self) -> Option<SystemTime> {
        let inner = self.inner();
        let items = inner.holders.keys().filter_map(|path| inner.items.get(path));
        items.filter(|item| !item.fired && !item.withdrawn).filter_map(|item| item.until).min()
    }

    /// Whether a question still waits for the answer that was taken for it.
    pub(crate) fn is_being_answered(&self, question: &str) -> bool {
        self.inner().questions.is_being_answered(question)
    }

    /// Whether an answer may be recorded; the full id of its question, which nobody else answers from here on.
    pub(crate) fn take_answer(&self, run: &str, question: &str, answer: &Value) -> Result<String, AnswerError> {
        let mut inner = self.inner();
        let question = inner.questions.find(run, question)?.clone();
        check_schema(&question, answer)?;
        if let Some(fits) = inner.holders.get(question.id.as_str()).and_then(|holder| holder.fits)
            && let Err((field, message)) = fits(answer)
        {
            return Err(AnswerError::Invalid { question: question.id, field, message });
        }
        inner.questions.set(&question.id, State::Answering);
        Ok(question.id)
    }
}

/// Whether `path` is strictly below `above`.
pub(crate) fn below(path: &str, above: &str) -> bool {
    path.strip_prefix(above).is_some_and(|rest| rest.starts_with('/'))
}

impl Inner {
    fn started(&mut self, path: &str, attempt: u32, inside: bool, input: Option<String>) -> &mut Item {
        // A graph that is entered begins from its start, and so does a node in the place of one.
        if inside || (self.has_graphs && self.items.get(path).is_some_and(|item| item.inside)) {
            self.forget_below(path);
            if !self.is_in_a_graph(path)
                && let Some(before) = self.before.get_mut(path)
            {
                before.clear();
            }
        }
        self.has_graphs |= inside;
        let item = self.items.get_or_insert(path);
        item.attempt = attempt;
        item.under_way = true;
        item.is_before = false;
        item.inside = inside;
        item.failed = None;
        item.result = None;
        item.retry_at = None;
        if input.is_some() {
            item.input = input;
        }
        item
    }

    fn completed(&mut self, path: &str, output: Option<Value>, state: Vec<StateWrite>) {
        let item = self.items.get_or_insert(path);
        item.under_way = false;
        item.output = Some((output.unwrap_or_default(), state));
        self.forget_below(path);
    }

    fn apply(&mut self, path: &str, kind: &EventKind) {
        match kind {
            EventKind::NodeStarted { attempt, inside, input } => {
                self.started(path, *attempt, inside.is_some(), input.clone());
            }
            EventKind::NodeCompleted { output, state, .. } => self.completed(path, output.clone(), state.clone()),
            EventKind::NodeFailed { attempt, cause, then, error } => {
                let item = self.items.get_or_insert(path);
                item.attempt = *attempt;
                item.failures += 1;
                // What was cut short stays so, whoever asks for it again.
                item.under_way = cause.fault == Some(Fault::Interrupted);
                match then {
                    AfterFailure::RetryAt { time } => item.retry_at = Some(*time),
                    AfterFailure::Routed { .. } | AfterFailure::Fails => {
                        item.failed = Some((cause.clone(), error.clone()));
                    }
                }
                // A node in the graph of a child that has failed for good is done with what it had asked for.
                if !matches!(then, AfterFailure::RetryAt { .. }) && self.is_in_a_graph(path) {
                    return self.forget_below(path);
                }
                self.forgive_below(path);
            }
            // Nodes in the graph of a child: they are done with what they had asked for.
            EventKind::NodeCollecting { .. } | EventKind::NodeCancelled => self.forget_below(path),
            EventKind::Answered { answer } => {
                self.items.get_or_insert(path).answer = Some(answer.clone());
            }
            EventKind::QuestionAsked { .. } => self.items.get_or_insert(path).asked = true,
            EventKind::AnswerRejected { .. } => {
                let item = self.items.get_or_insert(path);
                (item.answer, item.result) = (None, None);
            }
            EventKind::RequestWithdrawn => {
                let item = self.items.get_or_insert(path);
                item.withdrawn = true;
                item.withdrawals += 1;
                self.forget_below(path);
            }
            EventKind::RequestReopened => {
                let item = self.items.get_or_insert(path);
                (item.withdrawn, item.is_before) = (false, false);
            }
            EventKind::TimerSet { until } => {
                self.items.get_or_insert(path).until = Some(*until);
            }
            EventKind::TimerFired => self.items.get_or_insert(path).fired = true,
            _ => {}
        }
    }

    /// The result of a request has this record number. Whether there is such a request.
    fn has_result(&mut self, path: &str, number: u64) -> bool {
        let item = self.items.get_mut(path).filter(|item| item.is_done());
        item.map(|item| item.result = Some(number)).is_some()
    }

    /// Whether a child, or a node in the graph of one, stands in something that has begun. Only its driver records what
    /// becomes of it; an answer to what it had asked may come after it is gone.
    fn had_begun_around(&self, record: &Record, node: &str) -> bool {
        let is_of_driver = matches!(
            record.kind,
            EventKind::NodeStarted { .. }
                | EventKind::NodeCompleted { .. }
                | EventKind::NodeCollecting { .. }
                | EventKind::NodeFailed { .. }
        );
        let Some((parent, _)) = record.path.rsplit_once('/').filter(|_| is_of_driver) else { return true };
        if parent == node || self.items.get(parent).is_some() {
            return true;
        }
        // What is below something that is over is forgotten, and may be told of late.
        let mut above = parent;
        while let Some((around, _)) = above.rsplit_once('/').filter(|(around, _)| *around != node) {
            if self.items.get(around).is_some_and(|item| !item.under_way) {
                return true;
            }
            above = around;
        }
        false
    }

    /// Whether a path is that of a node in the graph of a child, and not of something that a node has asked for.
    fn is_in_a_graph(&self, path: &str) -> bool {
        if !self.has_graphs {
            return false;
        }
        let mut above = path;
        while let Some((parent, _)) = above.rsplit_once('/') {
            above = parent;
            if let Some(item) = self.items.get(above) {
                return item.inside;
            }
        }
        false
    }

    fn forget_below(&mut self, path: &str) {
        if !self.items.is_empty() {
            self.items.remove_below(path);
        }
        // A graph is folded from all of its records, also from those of a graph inside it that is done or begins anew.
        if !self.before.is_empty() && !self.is_in_a_graph(path) {
            self.before.remove_below(path);
        }
    }

    fn forgive_below(&mut self, path: &str) {
        self.items.change_below(path, &mut |item| {
            if item.failed.take().is_some() {
                item.result = None;
                item.failures = 0;
                item.retry_at = None;
            }
        });
    }
}
