//! What nodes have asked their contexts for: children, steps, questions and timers, each with what is on record of it.
//! A node that runs again from its top is given back what is here.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use serde_json::Value;
use tokio::sync::oneshot;

use super::tree::Tree;
use crate::attempt::{Wait, Woken};
use crate::event::EventKind;
use crate::fault::{Cause, Fault};
use crate::question::{AnswerError, Question, Questions, State, check_schema};
use crate::state::StateWrite;
use crate::store::{Record, Stored};

#[derive(Default)]
pub(crate) struct Desk(Mutex<Inner>);

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
    early: Option<Vec<(String, Value)>>,
    /// Who waits for an answer, and how it is looked at.
    askers: BTreeMap<String, Asker>,
}

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
    /// Whether a node of this process sleeps until then.
    sleeps: bool,
}

/// Why an answer does not fit: where, and what.
pub(crate) type Misfit = (String, String);

/// An answer, and that whoever gets it moves again.
pub(crate) type Reply = (Value, Option<Woken>);

struct Asker {
    reply: oneshot::Sender<Reply>,
    fits: fn(&Value) -> Result<(), Misfit>,
    /// That the node does nothing but wait for it, from when the question is on record.
    wait: Option<Wait>,
}

impl Desk {
    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What is on record from before this process is folded from here on; what comes meanwhile comes after that.
    pub(crate) fn folds(&self) {
        self.inner().early = Some(Vec::new());
    }

    /// All of it is folded.
    pub(crate) fn has_folded(&self) {
        let mut inner = self.inner();
        for (path, answer) in inner.early.take().unwrap_or_default() {
            inner.items.get_or_insert(&path).answer = Some(answer);
        }
    }

    /// Whether what a record tells of can have happened below `node`, which is not done: what is around it had begun.
    pub(crate) fn can_restore(&self, record: &Record, node: &str) -> bool {
        self.inner().had_begun_around(record, node)
    }

    /// Folds a record of something below a node that is not done, from before this process.
    pub(crate) fn restore(&self, stored: Stored) {
        let mut inner = self.inner();
        if inner.is_in_a_graph(&stored.record.path) {
            inner.before.get_or_insert(&stored.record.path).push(stored.clone());
        }
        let Stored { time, record: Record { path, kind }, .. } = stored;
        match kind {
            EventKind::NodeStarted { attempt, inside, input } => {
                inner.started(&path, attempt, inside.is_some(), input).is_before = true;
            }
            EventKind::NodeCompleted { output, state, .. } => inner.completed(&path, output, state),
            kind => inner.apply(&path, &kind, time),
        }
    }

    /// Folds the records of questions among these, of whatever kind they are, from before this process.
    pub(crate) fn restore_questions(&self, history: &[Stored]) {
        let questions = &mut self.inner().questions;
        for Stored { record, .. } in history {
            questions.apply(&record.path, &record.kind);
        }
    }

    /// Takes over what this process has recorded, or seen recorded.
    pub(crate) fn recorded(&self, record: &Record) {
        let mut inner = self.inner();
        inner.questions.apply(&record.path, &record.kind);
        if let EventKind::Answered { answer } = &record.kind {
            if let Some(early) = &mut inner.early {
                early.push((record.path.clone(), answer.clone()));
            }
            let item = inner.items.get_or_insert(&record.path);
            item.answer = Some(answer.clone());
            if let Some(Asker { reply, wait, .. }) = inner.askers.remove(&record.path) {
                // Whoever has asked may be gone; then it is on record.
                let _ = reply.send((answer.clone(), wait.map(Wait::wake)));
            }
        }
    }

    /// Takes over what a node is about to record of something that it asked for.
    pub(crate) fn note(&self, path: &str, kind: &EventKind, now: SystemTime) {
        self.inner().apply(path, kind, now);
    }

    /// What is on record under a path.
    pub(crate) fn item(&self, path: &str) -> Option<Item> {
        self.inner().items.get(path).cloned()
    }

    /// A node is done with what it asked for.
    pub(crate) fn forget_below(&self, path: &str) {
        self.inner().forget_below(path);
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
        let mut records: Vec<Stored> = inner.before.below(path).flatten().cloned().collect();
        records.sort_unstable_by_key(|stored| stored.seq);
        records
    }

    /// Whether a node of this process sleeps until a timer has run out.
    pub(crate) fn sleeps(&self, path: &str, sleeps: bool) {
        if let Some(item) = self.inner().items.get_mut(path) {
            item.sleeps = sleeps;
        }
    }

    pub(crate) fn open_questions(&self) -> Vec<Question> {
        self.inner().questions.open()
    }

    pub(crate) fn has_open_questions(&self) -> bool {
        self.inner().questions.has_open()
    }

    /// When the next timer that a node waits for runs out.
    pub(crate) fn next_timer(&self) -> Option<SystemTime> {
        let inner = self.inner();
        inner.items.values().filter(|item| item.sleeps).filter_map(|item| item.until).min()
    }

    /// Waits for an answer. Whether the question is open already.
    pub(crate) fn ask(&self, path: &str, fits: fn(&Value) -> Result<(), Misfit>) -> (oneshot::Receiver<Reply>, bool) {
        let (reply, answer) = oneshot::channel();
        let mut inner = self.inner();
        let is_open = inner.questions.is_open(path);
        match inner.items.get(path).and_then(|item| item.answer.clone()) {
            // Nobody else has the other end yet.
            Some(answer) => drop(reply.send((answer, None))),
            None => {
                inner.askers.insert(path.to_owned(), Asker { reply, fits, wait: None });
            }
        }
        (answer, is_open)
    }

    /// The question is on record, and the node does nothing but wait for its answer, unless that is there already.
    pub(crate) fn park(&self, path: &str, wait: Wait) {
        if let Some(asker) = self.inner().askers.get_mut(path) {
            asker.wait = Some(wait);
        }
    }

    /// Nobody waits for this answer any more.
    pub(crate) fn stop_asking(&self, path: &str) {
        self.inner().askers.remove(path);
    }

    /// An answer that does not fit any more is taken back.
    pub(crate) fn refuse(&self, path: &str) {
        if let Some(item) = self.inner().items.get_mut(path) {
            item.answer = None;
        }
    }

    /// Whether an answer may be recorded; the full id of its question, which nobody else answers from here on.
    pub(crate) fn take_answer(&self, run: &str, question: &str, answer: &Value) -> Result<String, AnswerError> {
        let mut inner = self.inner();
        let question = inner.questions.find(run, question)?.clone();
        check_schema(&question, answer)?;
        if let Some(asker) = inner.askers.get(&question.id)
            && let Err((field, message)) = (asker.fits)(answer)
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
        }
        self.has_graphs |= inside;
        let item = self.items.get_or_insert(path);
        item.attempt = attempt;
        item.under_way = true;
        item.is_before = false;
        item.inside = inside;
        item.failed = None;
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

    fn apply(&mut self, path: &str, kind: &EventKind, time: SystemTime) {
        match kind {
            EventKind::NodeStarted { attempt, inside, input } => {
                self.started(path, *attempt, inside.is_some(), input.clone());
            }
            EventKind::NodeCompleted { output, state, .. } => self.completed(path, output.clone(), state.clone()),
            EventKind::NodeFailed { attempt, cause, retry_in, error } => {
                let item = self.items.get_or_insert(path);
                item.attempt = *attempt;
                item.failures += 1;
                // What was cut short stays so, whoever asks for it again.
                item.under_way = cause.fault == Some(Fault::Interrupted);
                match retry_in {
                    Some(delay) => item.retry_at = time.checked_add(*delay),
                    None => item.failed = Some((cause.clone(), error.clone())),
                }
                self.forgive_below(path);
            }
            EventKind::Answered { answer } => {
                self.items.get_or_insert(path).answer = Some(answer.clone());
            }
            EventKind::AnswerRefused { .. } => self.items.get_or_insert(path).answer = None,
            EventKind::TimerSet { until } => {
                self.items.get_or_insert(path).until = Some(*until);
            }
            EventKind::TimerFired => self.items.get_or_insert(path).fired = true,
            _ => {}
        }
    }

    /// Whether a child, or a node in the graph of one, stands in something that has begun. Only its driver records what
    /// becomes of it; an answer to what it had asked may come after it is gone.
    fn had_begun_around(&self, record: &Record, node: &str) -> bool {
        let is_of_driver = matches!(
            record.kind,
            EventKind::NodeStarted { .. }
                | EventKind::NodeCompleted { .. }
                | EventKind::NodeWaiting { .. }
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
        self.items.remove_below(path);
        // A graph is folded from all of its records, also from those of a graph inside it that is done or begins anew.
        if !self.before.is_empty() && !self.is_in_a_graph(path) {
            self.before.remove_below(path);
        }
    }

    fn forgive_below(&mut self, path: &str) {
        self.items.change_below(path, &mut |item| {
            if item.failed.take().is_some() {
                item.failures = 0;
                item.retry_at = None;
            }
        });
    }
}
