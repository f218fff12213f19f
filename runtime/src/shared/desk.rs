//! The requests that nodes have made through their contexts: children, steps, questions, signals and timers, each with its
//! records. A node that restarts from its top gets the recorded results from here.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::SystemTime;

use foldhash::HashMap;
use serde::{Deserialize, Serialize, Serializer};
use serde_json::Value;

use super::request_state::{Item, RequestState};
use crate::asked::Question;
use crate::core::Applied;
#[cfg(test)]
use crate::core::Process;
use crate::event::EventKind;
use crate::question::{AnswerError, check_schema};
use crate::signal::AwaitedSignal;
use crate::sorted::SortedMap;
use crate::store::{Record, Stored};

#[derive(Default)]
pub(crate) struct Desk {
    /// Whether any request was made. Most runs make none.
    is_used: AtomicBool,
    /// Whether a graph was entered.
    has_graphs: AtomicBool,
    /// Made for the first who looks for it, since many runs with no request may be in memory.
    inner: OnceLock<Box<Mutex<Inner>>>,
}

/// The requests of nodes from a snapshot of them.
#[derive(Deserialize)]
pub(crate) struct ThawedDesk {
    is_used: bool,
    has_graphs: bool,
    requests: RequestState,
}

/// Of what its records come to: all else is of this process.
impl Serialize for Desk {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Frozen<'d> {
            is_used: bool,
            has_graphs: bool,
            requests: &'d RequestState,
        }
        let (is_used, has_graphs) = (!self.is_empty(), self.has_graphs.load(Ordering::Acquire));
        Frozen { is_used, has_graphs, requests: &self.inner().requests }.serialize(to)
    }
}

#[derive(Default)]
struct Inner {
    requests: RequestState,
    /// How many records were kept here, in a run without a journal.
    kept: u64,
    /// By path: the attempts of this process that hold a request.
    holders: HashMap<Arc<str>, Holder>,
    /// By the path of the wait: signals whose deliveries are about to be recorded.
    delivering: SortedMap<String, u64>,
}

/// The attempt that holds a request, as the desk sees it.
pub(crate) trait Receiver: Send + Sync {
    /// Delivers the result of a request. `is_recorded`: a cancelled request leaves no record of a result.
    fn deliver(&self, path: &str, is_recorded: bool);

    /// The result of a request is not recorded, since what it was to be committed with is undone: why.
    fn undone(&self, path: &str, why: &str);

    /// Whether the attempt waits for a request of its own, and does nothing else.
    fn only_waits(&self) -> bool;

    /// Whether nothing but results can wake the attempt.
    fn is_idle(&self) -> bool;
}

/// An attempt that holds a request.
struct Holder {
    receiver: Arc<dyn Receiver>,
    /// Whether a value can be the answer, or the payload of the signal.
    fits: Option<Fits>,
}

/// The type of the answers that an attempt accepts for its question, or of the payload of a signal that it waits for.
#[derive(Clone, Copy)]
pub(crate) struct Fits {
    /// Reads plain JSON as the type.
    pub(crate) read: fn(&Value) -> Result<(), Misfit>,
    /// Reads a value as it is recorded.
    pub(crate) read_recorded: fn(&Value) -> Result<(), Misfit>,
    /// The JSON Schema of the type. The recorded schema may be that of an older version of the question, until the
    /// question is recorded as it is asked now.
    pub(crate) schema: fn() -> Value,
}

/// How an answer was checked before it is recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Checked {
    /// The type, which the attempt that holds the question knows.
    ByType,
    /// The schema: no attempt holds the question here. The first attempt that holds it checks the type.
    BySchema,
}

/// Why an answer does not fit: the position in it, and the problem.
pub(crate) type Misfit = (String, String);

impl Desk {
    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.get_or_init(Box::default).lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The same, unless there is nothing to see.
    fn filled(&self) -> Option<MutexGuard<'_, Inner>> {
        self.inner.get().map(|inner| inner.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// The same, when a request is made.
    fn used(&self) -> MutexGuard<'_, Inner> {
        self.is_used.store(true, Ordering::Release);
        self.inner()
    }

    /// Continues from a snapshot, in the place of a desk without any record.
    pub(crate) fn thaw(&self, thawed: ThawedDesk) {
        let ThawedDesk { is_used, has_graphs, requests } = thawed;
        self.inner().requests = requests;
        self.has_graphs.store(has_graphs, Ordering::Release);
        self.is_used.store(is_used, Ordering::Release);
    }

    /// Whether a record is possible below `node`, which is not done: everything around the record's path must have
    /// begun.
    pub(crate) fn can_restore(&self, record: &Record, node: &str) -> bool {
        self.inner().requests.had_begun_around(record, node)
    }

    /// A note that an attempt under way has recorded in an earlier process. `is_node`: whether it is an attempt at a node of
    /// the graph, and not at a request.
    pub(crate) fn restore_note(&self, path: &str, (name, payload): (String, Value), is_node: bool) {
        let requests = &mut self.used().requests;
        if is_node || requests.items.get(path).is_some_and(Item::is_under_way) {
            requests.notes.restore(path, name, payload);
        }
    }

    /// Whether the attempt at this path has recorded such a note in an earlier process, and not repeated it since.
    pub(crate) fn takes_repeated_note(&self, path: &str, name: &str, payload: &Value) -> bool {
        !self.is_empty() && self.inner().requests.notes.take(path, name, payload)
    }

    /// The payload of the first note with this name that the attempt at this path has recorded in an earlier process, and has not repeated
    /// in this one.
    pub(crate) fn peek_note(&self, path: &str, name: &str) -> Option<Value> {
        if self.is_empty() { None } else { self.inner().requests.notes.first_named(path, name).cloned() }
    }

    /// Takes the same.
    pub(crate) fn take_note(&self, path: &str, name: &str) -> Option<Value> {
        if self.is_empty() { None } else { self.inner().requests.notes.take_named(path, name) }
    }

    /// Folds a record of a request below a node that is not done, from before this process.
    ///
    /// # Errors
    /// If the record is impossible.
    pub(crate) fn restore(&self, stored: Stored) -> Applied {
        self.used().requests.restore(stored)
    }

    /// Whether all children of a node that are under way only wait for answers and timers. For a child workflow that is
    /// not known.
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

    /// Applies a record from before this process, of any kind, to the signals of the run. Before it is
    /// [restored](Self::restore).
    pub(crate) fn follow_signals(&self, stored: &Stored) {
        let is_signal = matches!(
            stored.record.kind,
            EventKind::SignalReceived { .. } | EventKind::SignalsKnown { .. } | EventKind::SignalAwaited { .. }
        );
        if is_signal || !self.is_empty() {
            self.used().requests.follow_signals(stored.seq, &stored.record);
        } else {
            self.follow_graphs(&stored.record, stored.seq);
        }
    }

    /// The same in a run that has neither signals nor requests: nodes in graphs may have some later.
    fn follow_graphs(&self, record: &Record, number: u64) {
        let is_entered = matches!(record.kind, EventKind::NodeStarted { inside: Some(_), .. });
        if is_entered {
            self.has_graphs.store(true, Ordering::Release);
        }
        if is_entered || self.has_graphs.load(Ordering::Acquire) {
            let mut inner = self.inner();
            if inner.requests.signals.is_of_graphs(&record.kind) {
                inner.requests.follow_signals(number, record);
            }
        }
    }

    /// The records that deliver signals to waits, which are to be pushed next.
    pub(crate) fn deliveries(&self) -> Vec<Record> {
        if self.is_empty() {
            return Vec::new();
        }
        let Inner { requests, delivering, .. } = &mut *self.inner();
        let deliveries = requests.deliveries(delivering);
        delivering.extend(deliveries.iter().cloned());
        let record = |(path, signal)| Record { path, kind: EventKind::SignalDelivered { signal } };
        deliveries.into_iter().map(record).collect()
    }

    /// The payload of the signal that was delivered to a wait, and whether it is plain JSON.
    pub(crate) fn payload(&self, path: &str) -> Option<(Value, bool)> {
        self.inner().requests.signals.payload(path)
    }

    /// Whether the run has got a signal with this name and id, and has not rejected it.
    pub(crate) fn knows_signal(&self, name: &str, id: &str) -> bool {
        !self.is_empty() && self.inner().requests.signals.knows(name, id)
    }

    /// What the next run has to know of the signals of this one when these records, from this number on, are behind all
    /// that are known.
    pub(crate) fn signals_of_next<'r>(
        &self,
        behind: impl Iterator<Item = (usize, &'r Record)>,
        from: u64,
    ) -> Vec<EventKind> {
        let mut signals = self.inner().requests.signals.clone();
        for (at, record) in behind {
            signals.follow(from + at as u64, record);
        }
        signals.of_next()
    }

    /// Checks the payload of a signal against the types of the attempts that wait for it, if there are any.
    ///
    /// # Errors
    /// If it has none of these types.
    pub(crate) fn check_signal(&self, name: &str, payload: &Value, plain: bool) -> Result<(), Misfit> {
        if self.is_empty() {
            return Ok(());
        }
        let types: Vec<Fits> = {
            let inner = self.inner();
            let fits = |path: &str| inner.holders.get(path)?.fits;
            inner.requests.signals.waits_for(name).filter_map(fits).collect()
        };
        let mut misfit = Ok(());
        for fits in types {
            let read = if plain { fits.read } else { fits.read_recorded };
            misfit = read(payload);
            if misfit.is_ok() {
                break;
            }
        }
        misfit
    }

    /// Whether this is the JSON Schema that is recorded for the payload of a signal.
    pub(crate) fn has_signal_schema(&self, name: &str, schema: &Value) -> bool {
        self.inner().requests.signals.schema(name) == Some(schema)
    }

    /// Until when a wait is open.
    pub(crate) fn waits_until(&self, path: &str) -> Option<SystemTime> {
        self.inner().requests.signals.until(path)
    }

    /// The signals that nodes wait for, by their names.
    pub(crate) fn awaited_signals(&self) -> Vec<AwaitedSignal> {
        if self.is_empty() { Vec::new() } else { self.inner().requests.awaited_signals().collect() }
    }

    /// Whether a node waits for something that comes from outside: an answer or a signal.
    pub(crate) fn waits_for_others(&self) -> bool {
        self.filled().is_some_and(|inner| {
            inner.requests.questions.has_open() || inner.requests.awaited_signals().next().is_some()
        })
    }

    /// Applies a record with this number that this process has appended or read. Returns the record that follows from
    /// it, if any.
    pub(crate) fn recorded(&self, record: &Record, number: u64) -> Option<Record> {
        let is_signal = matches!(record.kind, EventKind::SignalReceived { .. });
        if self.is_empty() && !is_signal {
            self.follow_graphs(record, number);
            return None;
        }
        let mut inner = self.used();
        let Inner { requests, holders, delivering, .. } = &mut *inner;
        if let EventKind::SignalDelivered { .. } = record.kind {
            delivering.remove(&record.path);
        }
        if !requests.recorded(record, number) {
            return None;
        }
        let holder = holders.get(record.path.as_str())?;
        let receiver = Arc::clone(&holder.receiver);
        // An answer that does not fit is rejected by its node.
        let is_open = requests.items.get(&record.path).is_some_and(|item| !item.withdrawn);
        let fits = |answer| is_open && holder.fits.is_some_and(|fits| (fits.read)(answer).is_ok());
        let is_accepted = matches!(&record.kind, EventKind::Answered { answer, unchecked: true, .. } if fits(answer));
        if is_accepted {
            requests.set_checked(&record.path);
        }
        drop(inner);
        receiver.deliver(&record.path, true);
        is_accepted.then(|| Record { path: record.path.clone(), kind: EventKind::AnswerAccepted })
    }

    /// The node has read an answer as the type that it asks for.
    pub(crate) fn set_checked(&self, path: &str) {
        self.inner().requests.set_checked(path);
    }

    /// Applies a record that a node is about to make of a request.
    pub(crate) fn note(&self, path: &str, kind: &EventKind, now: Option<SystemTime>) {
        let noted = self.used().requests.note(path, kind, now);
        debug_assert!(noted.is_ok(), "`{path}`: {noted:?}");
    }

    /// The result that was noted for a step is not recorded: the step is under way again.
    pub(crate) fn result_undone(&self, path: &str, why: &str) {
        let receiver = {
            let mut inner = self.inner();
            inner.requests.result_undone(path);
            inner.holders.get(path).map(|holder| Arc::clone(&holder.receiver))
        };
        if let Some(receiver) = receiver {
            receiver.undone(path, why);
        }
    }

    /// The recorded state of a request, with records behind it that are not noted yet.
    pub(crate) fn item_behind<'r>(&self, path: &str, records: impl Iterator<Item = &'r Record>) -> Option<Box<Item>> {
        self.inner().requests.item_behind(path, records).map(Box::new)
    }

    /// Registers an attempt as the holder of a request. Returns the recorded state of the request. If that is
    /// [settled](Item::is_settled), the attempt need not [`release`](Self::release) it.
    pub(crate) fn hold(&self, path: &Arc<str>, receiver: Arc<dyn Receiver>, fits: Option<Fits>) -> Option<Box<Item>> {
        let mut inner = self.used();
        let item = inner.requests.items.get(path).cloned().map(Box::new);
        if item.as_ref().is_none_or(|item| !item.is_settled()) {
            inner.holders.insert(Arc::clone(path), Holder { receiver, fits });
        }
        item
    }

    /// Registers an attempt that waits for another result than the recorded one.
    pub(crate) fn watch(&self, path: &Arc<str>, receiver: Arc<dyn Receiver>, fits: Option<Fits>) {
        self.used().holders.insert(Arc::clone(path), Holder { receiver, fits });
    }

    /// Applies the records that nodes make of their requests in a run without a journal.
    pub(crate) fn keep(&self, records: &[Record]) {
        for record in records {
            self.note(&record.path, &record.kind, None);
            let number = {
                let mut inner = self.inner();
                inner.kept += 1;
                inner.kept
            };
            // Nothing can be answered in such a run, so no record follows.
            let _none = self.recorded(record, number);
        }
    }

    /// Removes an attempt as the holder of a request.
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

    /// The requests of the attempt at `path` that are recorded as open, and waits that have a signal which was not taken.
    pub(crate) fn open_requests(&self, path: &str) -> Vec<String> {
        let inner = self.inner();
        let open = inner.requests.items.right_below(path).filter(|(_, item)| item.is_left());
        open.map(|(path, _)| path.to_owned()).collect()
    }

    /// The questions of a node, and of the nodes inside it, that have no answer or an unchecked one.
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

    /// Whether every attempt that holds a request can be woken by nothing but results.
    pub(crate) fn are_idle(&self) -> bool {
        self.filled().is_none_or(|inner| inner.holders.values().all(|holder| holder.receiver.is_idle()))
    }

    /// Whether no request was made.
    pub(crate) fn is_empty(&self) -> bool {
        !self.is_used.load(Ordering::Acquire)
    }

    /// The records under a path, folded.
    pub(crate) fn item(&self, path: &str) -> Option<Box<Item>> {
        self.inner().requests.items.get(path).cloned().map(Box::new)
    }

    /// Drops the requests of a node that is over. From here on its questions cannot be answered, even if the record
    /// that ends the node is not appended yet.
    pub(crate) fn forget_below(&self, path: &str) {
        if let Some(mut inner) = self.filled() {
            inner.requests.node_is_over(path);
        }
    }

    /// An attempt at a node has failed: the next attempt may retry requests that have failed for good.
    pub(crate) fn caller_retries_below(&self, path: &str) {
        let retried = self.inner().requests.caller_retries_below(path);
        debug_assert!(retried.is_ok(), "below `{path}`: {retried:?}");
    }

    /// The records from before this process of the graph inside a child whose attempt is resumed. To be called only
    /// once, since newer records are not among them. The records stay here for the children of the nodes inside.
    pub(crate) fn take_records(&self, path: &str) -> Vec<Stored> {
        self.inner().requests.take_records(path)
    }

    pub(crate) fn open_questions(&self) -> Vec<Question> {
        self.filled().map(|inner| inner.requests.questions.open()).unwrap_or_default()
    }

    /// What a question asks.
    pub(crate) fn question(&self, id: &str) -> Option<Question> {
        self.inner().requests.questions.get(id).cloned()
    }

    /// All items by path, for a comparison, without state that only this process has.
    #[cfg(test)]
    pub(crate) fn snapshot(&self) -> Vec<(String, String)> {
        let inner = self.inner();
        let of = |(path, item): (&str, &Item)| {
            let item = Item { process: Process::This, set_at: None, ..item.clone() };
            let open = inner.requests.questions.open().iter().any(|question| question.id == path);
            (path.to_owned(), format!("{item:?}, {}", if open { "open" } else { "not open" }))
        };
        let mut all: Vec<(String, String)> = inner.requests.items.iter().map(of).collect();
        all.push(("signals".to_owned(), format!("{:?}", inner.requests.signals)));
        all.sort();
        all
    }

    /// When the next timer that a node waits for runs out, by a clock that shows `now`.
    pub(crate) fn next_timer(&self, now: SystemTime) -> Option<SystemTime> {
        let Inner { requests, holders, .. } = &mut *self.filled()?;
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

    /// Checks whether an answer may be recorded, and reserves its question: no other answer is accepted from here on.
    /// Returns the full id of the question, and how the answer was checked.
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
