//! What nodes have asked their contexts for: children, steps, questions and timers, each with its records.
//! A node that runs again from its top gets the recorded results from here.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use foldhash::HashMap;
use serde_json::Value;

use super::request_state::{Item, RequestState};
use crate::core::Applied;
#[cfg(test)]
use crate::core::Process;
use crate::event::EventKind;
use crate::question::{AnswerError, Question, check_schema};
use crate::store::{Record, Stored};

#[derive(Default)]
pub(crate) struct Desk {
    /// Whether anything was asked for. Most runs ask for nothing.
    is_used: AtomicBool,
    inner: Mutex<Inner>,
}

#[derive(Default)]
struct Inner {
    requests: RequestState,
    /// How many records were kept here, in a run without a journal.
    kept: u64,
    /// What is held by attempts of this process.
    holders: HashMap<Arc<str>, Holder>,
}

/// What an attempt has of its requests, as the desk knows it.
pub(crate) trait Receiver: Send + Sync {
    /// A request has got a result. `is_recorded`: a cancelled one leaves none.
    fn deliver(&self, path: &str, is_recorded: bool);

    /// Whether the attempt waits for something that it has asked for, and does nothing else.
    fn only_waits(&self) -> bool;

    /// Whether nothing but results can wake the attempt.
    fn is_idle(&self) -> bool;
}

/// An attempt that holds a request.
struct Holder {
    receiver: Arc<dyn Receiver>,
    /// Whether a value can be the answer.
    fits: Option<Fits>,
}

/// What an attempt takes for an answer to its question.
#[derive(Clone, Copy)]
pub(crate) struct Fits {
    /// Reads a value as the type.
    pub(crate) read: fn(&Value) -> Result<(), Misfit>,
    /// The JSON Schema of the type: until the question is recorded as it is asked now, its own may be that of another.
    pub(crate) schema: fn() -> Value,
}

/// What an answer was held against before it is recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Checked {
    /// The type, which the attempt that holds the question knows.
    ByType,
    /// The schema: no attempt holds the question here. The first that does knows the type.
    BySchema,
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

    /// Whether what a record tells of can have happened below `node`, which is not done: what is around it had begun.
    pub(crate) fn can_restore(&self, record: &Record, node: &str) -> bool {
        self.inner().requests.had_begun_around(record, node)
    }

    /// Folds a record of something below a node that is not done, from before this process.
    ///
    /// # Errors
    /// Where that cannot have happened.
    pub(crate) fn restore(&self, stored: Stored) -> Applied {
        self.used().requests.restore(stored)
    }

    /// Whether the children that a node has under way wait for answers and timers, and do nothing else. Of a child workflow
    /// that is not known.
    pub(crate) fn only_waits_below(&self, path: &str) -> bool {
        if self.is_empty() {
            return true;
        }
        let inner = self.inner();
        let below = inner.requests.items.all_below(path);
        let children: Vec<(&str, bool)> =
            below.filter(|(_, item)| item.is_under_way()).map(|(path, item)| (path, item.inside)).collect();
        let mut askers = Vec::new();
        for (child, is_graph) in children {
            let is_of_child = |path: &str| path.rsplit_once('/').is_some_and(|(asker, _)| asker == child);
            let asker = inner.holders.iter().find(|(path, _)| is_of_child(path)).filter(|_| !is_graph);
            let Some((_, holder)) = asker else { return false };
            askers.push(Arc::clone(&holder.receiver));
        }
        drop(inner);
        askers.iter().all(|asker| asker.only_waits())
    }

    /// Takes over what this process has recorded, or seen recorded, under this number. Returns what is to be recorded of it.
    pub(crate) fn recorded(&self, record: &Record, number: u64) -> Option<Record> {
        if self.is_empty() {
            return None;
        }
        let mut inner = self.inner();
        let Inner { requests, holders, .. } = &mut *inner;
        if !requests.recorded(record, number) {
            return None;
        }
        let holder = holders.get(record.path.as_str())?;
        let receiver = Arc::clone(&holder.receiver);
        // One that does not fit is rejected by its node.
        let is_open = requests.items.get(&record.path).is_some_and(|item| !item.withdrawn);
        let fits = |answer| is_open && holder.fits.is_some_and(|fits| (fits.read)(answer).is_ok());
        let is_accepted = matches!(&record.kind, EventKind::Answered { answer, unchecked: true } if fits(answer));
        if is_accepted {
            requests.is_checked(&record.path);
        }
        drop(inner);
        receiver.deliver(&record.path, true);
        is_accepted.then(|| Record { path: record.path.clone(), kind: EventKind::AnswerAccepted })
    }

    /// The node has read an answer as the type that it asks for.
    pub(crate) fn is_checked(&self, path: &str) {
        self.inner().requests.is_checked(path);
    }

    /// Takes over what a node is about to record of something that it asked for.
    pub(crate) fn note(&self, path: &str, kind: &EventKind, now: Option<SystemTime>) {
        let noted = self.used().requests.note(path, kind, now);
        debug_assert!(noted.is_ok(), "`{path}`: {noted:?}");
    }

    /// An attempt holds a request. Returns what is recorded of it. One that is [settled](Item::is_settled) needs no
    /// [`release`](Self::release).
    pub(crate) fn hold(&self, path: &Arc<str>, receiver: Arc<dyn Receiver>, fits: Option<Fits>) -> Option<Box<Item>> {
        let mut inner = self.used();
        let item = inner.requests.items.get(path).cloned().map(Box::new);
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
            self.note(&record.path, &record.kind, None);
            let number = {
                let mut inner = self.inner();
                inner.kept += 1;
                inner.kept
            };
            // Nobody answers in such a run.
            let _none = self.recorded(record, number);
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
        self.inner().requests.items.get(path).filter(|item| item.is_settled()).and_then(|item| item.result)
    }

    /// The requests of the attempt at `path` that are recorded as open.
    pub(crate) fn open_requests(&self, path: &str) -> Vec<String> {
        let inner = self.inner();
        let is_open = |item: &Item| item.is_recorded() && !item.is_done() && !item.withdrawn;
        let open = inner.requests.items.right_below(path).filter(|(_, item)| is_open(item));
        open.map(|(path, _)| path.to_owned()).collect()
    }

    /// The questions of a node, and of the nodes inside it, to which there is no answer that is known to have their type.
    pub(crate) fn unread_questions(&self, path: &str) -> Vec<String> {
        if self.is_empty() {
            return Vec::new();
        }
        let inner = self.inner();
        let is_unread =
            |item: &Item| item.asked.is_some() && !item.withdrawn && (item.answer.is_none() || item.unchecked);
        let unread = inner.requests.items.all_below(path).filter(|(_, item)| is_unread(item));
        let mut unread: Vec<String> = unread.map(|(path, _)| path.to_owned()).collect();
        unread.sort_unstable();
        unread
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

    /// The records under a path, folded.
    pub(crate) fn item(&self, path: &str) -> Option<Box<Item>> {
        self.inner().requests.items.get(path).cloned().map(Box::new)
    }

    /// A node is done with what it asked for: it can no longer be answered, though the record of that may be on its way.
    pub(crate) fn forget_below(&self, path: &str) {
        self.inner().requests.node_is_over(path);
    }

    /// An attempt at a node has failed: what has failed for good in it may be tried again by the next one.
    pub(crate) fn caller_retries_below(&self, path: &str) {
        let retried = self.inner().requests.caller_retries_below(path);
        debug_assert!(retried.is_ok(), "below `{path}`: {retried:?}");
    }

    /// The records from before this process of the graph inside a child whose attempt is resumed; only once, since
    /// from then on they are not all there is. They stay for the children of the nodes inside.
    pub(crate) fn take_records(&self, path: &str) -> Vec<Stored> {
        self.inner().requests.take_records(path)
    }

    pub(crate) fn open_questions(&self) -> Vec<Question> {
        self.inner().requests.questions.open()
    }

    pub(crate) fn has_open_questions(&self) -> bool {
        self.inner().requests.questions.has_open()
    }

    /// What there is, by path, for a comparison: not what only a process has.
    #[cfg(test)]
    pub(crate) fn snapshot(&self) -> Vec<(String, String)> {
        let inner = self.inner();
        let of = |(path, item): (&str, &Item)| {
            let item = Item { process: Process::This, set_at: None, ..item.clone() };
            let open = inner.requests.questions.open().iter().any(|question| question.id == path);
            (path.to_owned(), format!("{item:?}, {}", if open { "open" } else { "not open" }))
        };
        let mut all: Vec<(String, String)> = inner.requests.items.iter().map(of).collect();
        all.sort();
        all
    }

    /// When the next timer that a node waits for runs out, by a clock that shows `now`.
    pub(crate) fn next_timer(&self, now: SystemTime) -> Option<SystemTime> {
        let Inner { requests, holders, .. } = &mut *self.inner();
        let mut runs_out = |path: &Arc<str>| {
            let item = requests.items.get_mut(path).filter(|item| !item.fired && !item.withdrawn)?;
            item.runs_out(now)
        };
        holders.keys().filter_map(&mut runs_out).min()
    }

    /// Whether a question still waits for the answer that was taken for it.
    pub(crate) fn is_being_answered(&self, question: &str) -> bool {
        self.inner().requests.questions.is_being_answered(question)
    }

    /// Whether a question is open, and no attempt of this process has asked it yet.
    pub(crate) fn is_yet_to_be_asked(&self, question: &str) -> bool {
        let inner = self.inner();
        inner.requests.questions.is_open(question) && !inner.holders.contains_key(question)
    }

    /// Whether an answer may be recorded; the full id of its question, which no other answer is taken for from here on, and whether it
    /// was held against its type.
    pub(crate) fn take_answer(
        &self,
        run: &str,
        question: &str,
        answer: &Value,
    ) -> Result<(String, Checked), AnswerError> {
        let Inner { requests, holders, .. } = &mut *self.inner();
        let mut checked = Checked::BySchema;
        let id = requests.questions.take_answer(run, question, |question| {
            let Some(fits) = holders.get(question.id.as_str()).and_then(|holder| holder.fits) else {
                return check_schema(&question.id, &question.schema, answer);
            };
            check_schema(&question.id, &(fits.schema)(), answer)?;
            checked = Checked::ByType;
            (fits.read)(answer).map_err(|(field, message)| AnswerError::Invalid {
                question: question.id.clone(),
                field,
                message,
            })
        })?;
        Ok((id, checked))
    }
}

/// Whether `path` is strictly below `above`.
pub(crate) fn below(path: &str, above: &str) -> bool {
    path.strip_prefix(above).is_some_and(|rest| rest.starts_with('/'))
}
