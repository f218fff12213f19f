//! The signals of a run: which it has got, and which wait has which. The fold of its records, in their order.
//!
//! ```text
//!   a signal:   received -> free -> delivered -> taken -> gone, once nothing around its node can start anew
//!                            ^          |           |
//!                            +----------+-----------+  its wait is withdrawn, its node ends without having taken it,
//!                                                      or the graph around its node starts anew
//!   a wait:     awaited  -> open -> delivered -> taken
//!                            ^ |
//!                            | +-> withdrawn
//!                            +---------+  reopened
//! ```
//!
//! Which signal goes to which wait is decided once, by the process that executes the run, and recorded as
//! [`SignalDelivered`](EventKind::SignalDelivered): the oldest free signal of a name goes to the wait that has been open
//! for the longest time, of those whose time was not up when it came. It is not a function of the other records, since a retry voids some of those, and what the
//! remaining waits have got must not change with that. If the record that had freed a signal is void, the last wait to
//! which it was delivered has it.

use std::collections::BTreeSet;
use std::time::SystemTime;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::tree::below;
use crate::core::pairs;
use crate::event::{AfterFailure, EventKind, millis};
use crate::question::closes;
use crate::signal::AwaitedSignal;
use crate::sorted::{SortedMap, SortedSet};
use crate::store::Record;

/// How many signals of the runs before it a run knows by their ids.
const KNOWN_TO_NEXT: usize = 1024;

/// The signals of a run.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Signals {
    /// By the numbers of their records: signals that a wait has, or may still get.
    received: SortedMap<u64, Received>,
    /// The names and ids of all signals that have come with an id, each with its place in the order in which they came.
    #[serde(with = "pairs")]
    known: SortedMap<(String, String), u64>,
    /// Of these, those of signals that were rejected, each with the number of the one that has come in its place.
    #[serde(with = "pairs")]
    rejected: SortedMap<(String, String), Option<u64>>,
    /// By the numbers of their records: signals with an id that was known when they came. One of them takes the place of the first if
    /// that is rejected. They are few, since a signal with a known id is only recorded if two senders are at it at once, or if a retry
    /// has voided that the first was rejected.
    repeated: SortedMap<u64, Received>,
    /// By the name of the signal.
    queues: SortedMap<String, Queue>,
    /// By path.
    waits: SortedMap<String, Wait>,
    /// Signals that were taken by nodes that are over, in graphs that may start anew: by the path of the wait and the number
    /// of the signal, with the nodes of `[..]` around it.
    #[serde(with = "pairs")]
    taken: SortedMap<(String, u64), Vec<String>>,
    /// Children that were dropped, and below which a signal was taken.
    dropped: SortedSet<String>,
    /// The graphs that were entered and are not over, nested workflows and child workflows: the paths right below one of
    /// them are nodes, and not requests.
    graphs: SortedSet<String>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct Received {
    name: String,
    payload: Value,
    #[serde(with = "millis")]
    at: SystemTime,
    plain: bool,
    id: Option<String>,
    by: Option<String>,
}

/// The signals of a name that no wait has, and the waits for it that have none, each since a record.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Queue {
    free: SortedSet<u64>,
    open: SortedMap<u64, String>,
    /// That of the payload, by the last wait that had another one than the wait before.
    schema: Option<Value>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct Wait {
    name: String,
    until: Option<SystemTime>,
    /// The nodes of `[..]` around it.
    inside: Vec<String>,
    /// The record with which it was opened last.
    since: u64,
    has: Has,
}

/// What a wait has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum Has {
    Nothing,
    Delivered(u64),
    Taken(u64),
    /// It is withdrawn.
    Withdrawn,
}

impl Signals {
    /// Whether no signal and no wait is known, so that no other record has an effect.
    fn is_unused(&self) -> bool {
        self.received.is_empty() && self.waits.is_empty() && self.taken.is_empty()
    }

    /// Applies a record of a run that is not driven here.
    pub(crate) fn follow(&mut self, number: u64, record: &Record) {
        self.apply(number, &record.path, &record.kind);
    }

    /// Whether a record, in a run without signals and requests, has to be applied.
    pub(super) fn is_of_graphs(&self, kind: &EventKind) -> bool {
        matches!(kind, EventKind::NodeStarted { inside: Some(_), .. }) || (!self.graphs.is_empty() && closes(kind))
    }

    /// Applies the record of this number, of any kind. Returns the path of a wait that has lost its signal to another.
    pub(super) fn apply(&mut self, number: u64, path: &str, kind: &EventKind) -> Option<String> {
        if let EventKind::NodeStarted { inside: Some(_), .. } = kind {
            self.graphs.insert(path.to_owned());
        } else if closes(kind) {
            self.graphs.remove(path);
        }
        match kind {
            EventKind::SignalReceived { name, payload, at, id, by, plain } => {
                let is_counted = id.as_ref().is_none_or(|id| self.is_counted(number, (name.clone(), id.clone())));
                let (name, payload, id, by) = (name.clone(), payload.clone(), id.clone(), by.clone());
                let received = Received { name, payload, at: *at, plain: *plain, id, by };
                if is_counted {
                    self.received.insert(number, received);
                    self.free(number);
                } else {
                    self.repeated.insert(number, received);
                }
            }
            EventKind::SignalsKnown { signals } => {
                for signal in signals {
                    self.learn(signal.clone());
                }
            }
            EventKind::SignalAwaited { name, until, inside, schema } => {
                if schema.is_some() {
                    self.queues.get_or_insert_with(name.clone(), Queue::default).schema.clone_from(schema);
                }
                // It was delivered between the end of the process that has opened the wait and this record.
                if let Some(wait) = self.waits.get_mut(path)
                    && wait.name == *name
                    && let Has::Delivered(_) = wait.has
                {
                    wait.until = *until;
                    return None;
                }
                let is_open = |wait: &&Wait| wait.has == Has::Nothing && wait.name == *name;
                let since = self.waits.get(path).filter(is_open).map_or(number, |wait| wait.since);
                self.end(path, path);
                let (name, inside) = (name.clone(), inside.clone());
                let wait = Wait { name, until: *until, inside, since, has: Has::Withdrawn };
                self.waits.insert(path.to_owned(), wait);
                self.open(path, since);
            }
            _ if self.is_unused() => {}
            EventKind::SignalDelivered { signal } => return self.deliver(path, *signal),
            EventKind::SignalTaken => {
                if let Some(wait) = self.waits.get_mut(path)
                    && let Has::Delivered(signal) = wait.has
                {
                    wait.has = Has::Taken(signal);
                }
            }
            EventKind::SignalRejected { .. } => {
                if let Some(Wait { has: Has::Delivered(signal) | Has::Taken(signal), since, .. }) = self.waits.get(path)
                {
                    let (signal, since) = (*signal, *since);
                    self.reject(signal);
                    self.open(path, since);
                }
            }
            EventKind::RequestWithdrawn => {
                self.release(path, Has::Withdrawn);
                self.end_below(path);
                if self.is_any_taken_below(path) {
                    self.dropped.insert(path.to_owned());
                }
            }
            EventKind::RequestReopened if self.waits.get(path).is_some_and(|wait| wait.has == Has::Withdrawn) => {
                self.open(path, number);
            }
            EventKind::NodeStarted { inside: Some(_), .. } => self.start_anew(path),
            EventKind::NodeStarted { .. } if self.dropped.remove(path) => self.start_anew(path),
            // A child that has failed may be retried by its node, and its requests stay.
            EventKind::NodeFailed { then: AfterFailure::Fails, .. } if !self.is_node_of_graph(path) => {}
            kind if closes(kind) => self.node_is_over(path),
            _ => {}
        }
        None
    }

    fn is_node_of_graph(&self, path: &str) -> bool {
        path.rsplit_once('/').is_some_and(|(around, _)| !around.contains('/') || self.graphs.contains(around))
    }

    /// A signal waits for the next wait.
    fn free(&mut self, signal: u64) {
        if let Some(Received { name, .. }) = self.received.get(&signal) {
            self.queues.get_or_insert_with(name.clone(), Queue::default).free.insert(signal);
        }
    }

    /// A signal is gone, since its payload is not of the type that is waited for. It does not count: another one with its id, which has
    /// come or is yet to come, takes its place.
    fn reject(&mut self, signal: u64) {
        let Some(Received { name, id: Some(id), .. }) = self.received.remove(&signal) else { return };
        let of = (name, id);
        // It has come back by a retry, and another one has its place.
        if self.rejected.get(&of).is_some_and(|in_its_place| in_its_place.is_some_and(|other| other != signal)) {
            return;
        }
        let is_of = |other: &Received| other.name == of.0 && other.id.as_ref() == Some(&of.1);
        let other = self.repeated.iter().find(|(_, other)| is_of(other)).map(|(number, _)| *number);
        self.rejected.insert(of, None);
        if let Some(other) = other {
            self.replace_by(other);
        }
    }

    /// A signal with a known id, if it is one, takes the place of the first with that id.
    fn replace_by(&mut self, signal: u64) {
        let Some(received) = self.repeated.remove(&signal) else { return };
        if let Some(id) = &received.id {
            self.rejected.insert((received.name.clone(), id.clone()), Some(signal));
        }
        self.received.insert(signal, received);
        self.free(signal);
    }

    fn open(&mut self, path: &str, since: u64) {
        if let Some(wait) = self.waits.get_mut(path) {
            (wait.has, wait.since) = (Has::Nothing, since);
            self.queues.get_or_insert_with(wait.name.clone(), Queue::default).open.insert(since, path.to_owned());
        }
    }

    fn deliver(&mut self, path: &str, signal: u64) -> Option<String> {
        let is_open = |wait: &Wait| wait.has != Has::Withdrawn;
        if !self.waits.get(path).is_some_and(is_open) {
            return None;
        }
        // A retry may have voided that the signal before it was rejected.
        self.replace_by(signal);
        if !self.received.contains_key(&signal) {
            return None;
        }
        self.release(path, Has::Delivered(signal));
        self.take_back(path, signal)
    }

    /// Takes a signal from where it is for a wait: the queue, nodes that are over, or another wait, which is open again.
    fn take_back(&mut self, to: &str, signal: u64) -> Option<String> {
        let has_it = |wait: &Wait| matches!(wait.has, Has::Delivered(has) | Has::Taken(has) if has == signal);
        let name = &self.received.get(&signal)?.name;
        if let Some(queue) = self.queues.get_mut(name)
            && queue.free.remove(&signal)
        {
            return None;
        }
        self.taken.retain(|(_, taken), _| *taken != signal);
        let other = self.waits.iter().find(|(path, wait)| *path != to && has_it(wait));
        let (path, since) = other.map(|(path, wait)| (path.clone(), wait.since))?;
        self.open(&path, since);
        Some(path)
    }

    /// Takes from a wait what it has.
    fn release(&mut self, path: &str, then: Has) {
        let Some(wait) = self.waits.get_mut(path) else { return };
        match std::mem::replace(&mut wait.has, then) {
            Has::Nothing => {
                if let Some(queue) = self.queues.get_mut(&wait.name) {
                    queue.open.remove(&wait.since);
                }
            }
            Has::Delivered(signal) | Has::Taken(signal) => self.free(signal),
            Has::Withdrawn => {}
        }
    }

    /// A wait is over, with `node`. A signal that it has not taken is free.
    fn end(&mut self, path: &str, node: &str) {
        match self.waits.get(path).map(|wait| wait.has) {
            Some(Has::Taken(signal)) => {
                let inside = self.waits.remove(path).map(|wait| wait.inside).unwrap_or_default();
                if may_start_anew(node) {
                    self.taken.insert((path.to_owned(), signal), inside);
                } else {
                    self.received.remove(&signal);
                }
            }
            Some(_) => {
                self.release(path, Has::Withdrawn);
                self.waits.remove(path);
            }
            None => {}
        }
    }

    fn waits_below(&self, path: &str) -> Vec<String> {
        let from = format!("{path}/");
        let below = self.waits.range(from.clone()..).take_while(|(at, _)| at.starts_with(&from));
        below.map(|(at, _)| at.clone()).collect()
    }

    fn end_below(&mut self, node: &str) {
        for path in self.waits_below(node) {
            self.end(&path, node);
        }
    }

    fn taken_below(&self, path: &str) -> impl Iterator<Item = &(String, u64)> {
        let from = format!("{path}/");
        self.taken.range((from.clone(), 0)..).map(|(key, _)| key).take_while(move |(at, _)| at.starts_with(&from))
    }

    fn is_any_taken_below(&self, path: &str) -> bool {
        self.taken_below(path).next().is_some()
    }

    fn node_is_over(&mut self, node: &str) {
        self.end_below(node);
        if !may_start_anew(node) {
            let gone: Vec<(String, u64)> = self.taken_below(node).cloned().collect();
            for key in gone {
                self.taken.remove(&key);
                self.received.remove(&key.1);
            }
            self.dropped.retain(|path| !below(path, node));
        }
    }

    /// A graph starts from its start, or a child that was dropped from its top: what was taken in it is free again.
    fn start_anew(&mut self, node: &str) {
        let is_in = |path: &str, inside: &[String]| below(path, node) || inside.iter().any(|each| each == node);
        let waits = self.waits.iter().filter(|(path, wait)| is_in(path, &wait.inside));
        let waits: Vec<String> = waits.map(|(path, _)| path.clone()).collect();
        for path in waits {
            self.release(&path, Has::Withdrawn);
            self.waits.remove(&path);
        }
        let taken = self.taken.iter().filter(|((path, _), inside)| is_in(path, inside));
        let taken: Vec<(String, u64)> = taken.map(|(key, _)| key.clone()).collect();
        for key in taken {
            self.taken.remove(&key);
            self.free(key.1);
        }
        self.dropped.retain(|path| !below(path, node));
    }

    /// The signal that a wait has.
    pub(super) fn delivered(&self, path: &str) -> Option<u64> {
        match self.waits.get(path)?.has {
            Has::Delivered(signal) | Has::Taken(signal) => Some(signal),
            Has::Nothing | Has::Withdrawn => None,
        }
    }

    /// The payload of the signal that a wait has, and whether it is plain JSON.
    pub(super) fn payload(&self, path: &str) -> Option<(Value, bool)> {
        let received = self.received.get(&self.delivered(path)?)?;
        Some((received.payload.clone(), received.plain))
    }

    /// Whether a signal that comes with this name and id counts: it is a new one, or comes in the place of one that was rejected.
    fn is_counted(&mut self, number: u64, signal: (String, String)) -> bool {
        match self.rejected.get_mut(&signal) {
            Some(in_its_place @ None) => {
                *in_its_place = Some(number);
                true
            }
            _ => self.learn(signal),
        }
    }

    /// Whether a signal with this name and id is a new one.
    fn learn(&mut self, signal: (String, String)) -> bool {
        let place = self.known.len() as u64;
        let mut is_new = false;
        self.known.get_or_insert_with(signal, || {
            is_new = true;
            place
        });
        is_new
    }

    /// What a run has to know that follows this one by starting over: the names and ids of the last signals of this one,
    /// and the signals that no node has taken, in the order in which they have come.
    pub(crate) fn of_next(&self) -> Vec<EventKind> {
        let not_taken = self.not_taken();
        let with_id = not_taken.iter().filter_map(|kind| match kind {
            EventKind::SignalReceived { name, id: Some(id), .. } => Some((name, id)),
            _ => None,
        });
        let go_over: BTreeSet<_> = with_id.collect();
        let counts = |of: &(String, String)| self.rejected.get(of) != Some(&None) && !go_over.contains(&(&of.0, &of.1));
        let mut known: Vec<_> = self.known.iter().filter(|(of, _)| counts(of)).collect();
        known.sort_unstable_by_key(|(_, place)| **place);
        let known = &known[known.len().saturating_sub(KNOWN_TO_NEXT)..];
        let signals: Vec<(String, String)> = known.iter().map(|(of, _)| (*of).clone()).collect();
        let known = (!signals.is_empty()).then_some(EventKind::SignalsKnown { signals });
        known.into_iter().chain(not_taken).collect()
    }

    /// The signals that no node has taken, in the order in which they have come.
    fn not_taken(&self) -> Vec<EventKind> {
        let taken = self.waits.values().filter_map(|wait| match wait.has {
            Has::Taken(signal) => Some(signal),
            Has::Nothing | Has::Delivered(_) | Has::Withdrawn => None,
        });
        let taken: SortedSet<u64> = taken.chain(self.taken.keys().map(|(_, signal)| *signal)).collect();
        let not_taken = self.received.iter().filter(|(signal, _)| !taken.contains(signal));
        let record = |(_, signal): (_, &Received)| {
            let Received { name, payload, at, plain, id, by } = signal.clone();
            EventKind::SignalReceived { name, payload, at, id, by, plain }
        };
        not_taken.map(record).collect()
    }

    /// Whether the run has got a signal with this name and id, and has not rejected it.
    pub(crate) fn knows(&self, name: &str, id: &str) -> bool {
        if self.known.is_empty() {
            return false;
        }
        let of = (name.to_owned(), id.to_owned());
        self.known.contains_key(&of) && self.rejected.get(&of) != Some(&None)
    }

    /// The paths of the open waits for a signal of this name, the one that has been open for the longest time first.
    pub(crate) fn waits_for(&self, name: &str) -> impl Iterator<Item = &str> {
        self.queues.get(name).into_iter().flat_map(|queue| queue.open.values().map(String::as_str))
    }

    /// The open waits for which no signal has come, each with its path, by the names of the signals.
    pub(crate) fn open_waits(&self) -> impl Iterator<Item = (&str, AwaitedSignal)> {
        let open = self.queues.values().flat_map(|queue| {
            let given: SortedSet<&str> =
                self.pairs(queue, |_| true, |_| true).into_iter().map(|(path, _)| path).collect();
            let left = queue.open.values().map(String::as_str).filter(move |path| !given.contains(path));
            left.map(|path| (path, &queue.schema))
        });
        open.filter_map(|(path, schema)| Some((path, self.waits.get(path)?, schema))).map(|(path, wait, schema)| {
            let node = path.rsplit_once('/').map_or("", |(node, _)| node).to_owned();
            let (name, until, schema) = (wait.name.clone(), wait.until, schema.clone());
            (path, AwaitedSignal { name, path: node, until, schema })
        })
    }

    /// The JSON Schema of the payload of a signal, if a wait has recorded one.
    pub(crate) fn schema(&self, name: &str) -> Option<&Value> {
        self.queues.get(name)?.schema.as_ref()
    }

    /// Until when a wait is open.
    pub(super) fn until(&self, path: &str) -> Option<SystemTime> {
        self.waits.get(path)?.until
    }

    /// The name of the signal that a wait is for.
    pub(super) fn awaited(&self, path: &str) -> Option<&str> {
        self.waits.get(path).map(|wait| wait.name.as_str())
    }

    /// What is to be delivered now: for each free signal, in their order, the path of the first open wait whose time was not up
    /// when it came.
    ///
    /// `under_way` has the deliveries that are about to be recorded. `can_take`: whether a wait can get one. `is_held_up`:
    /// whether a signal of this name is about to become free.
    pub(super) fn deliveries(
        &self,
        under_way: &SortedMap<String, u64>,
        can_take: impl Fn(&str) -> bool,
        is_held_up: impl Fn(&str) -> bool,
    ) -> Vec<(String, u64)> {
        let is_free = |signal: &u64| !under_way.values().any(|other| other == signal);
        let is_open = |path: &str| !under_way.contains_key(path) && can_take(path);
        let queues = self.queues.iter().filter(|(name, _)| !is_held_up(name));
        let pairs = queues.flat_map(|(_, queue)| self.pairs(queue, is_open, is_free));
        pairs.map(|(path, signal)| (path.to_owned(), signal)).collect()
    }

    /// The same for the signals of one name.
    fn pairs<'q>(
        &self,
        queue: &'q Queue,
        is_open: impl Fn(&str) -> bool,
        is_free: impl Fn(&u64) -> bool,
    ) -> Vec<(&'q str, u64)> {
        if queue.free.is_empty() || queue.open.is_empty() {
            return Vec::new();
        }
        let mut open = queue.open.values().map(String::as_str).filter(|path| is_open(path));
        // Waits that were over for an earlier signal: by another clock, a later one may be in time.
        let mut passed: Vec<&str> = Vec::new();
        let mut pairs = Vec::new();
        for signal in queue.free.iter().copied().filter(|signal| is_free(signal)) {
            if let Some(at) = passed.iter().position(|path| self.is_in_time(signal, path)) {
                pairs.push((passed.remove(at), signal));
                continue;
            }
            for path in open.by_ref() {
                if self.is_in_time(signal, path) {
                    pairs.push((path, signal));
                    break;
                }
                passed.push(path);
            }
        }
        pairs
    }

    /// Whether a signal came before the time of a wait was up: it was there when the wait was opened, by whatever clock, or
    /// says so.
    fn is_in_time(&self, signal: u64, path: &str) -> bool {
        let Some(Wait { until: Some(until), since, .. }) = self.waits.get(path) else { return true };
        signal < *since || self.received.get(&signal).is_some_and(|received| received.at <= *until)
    }
}

/// Whether a graph around a node may start anew by itself, by the node's path: not if the node is one of the workflow's own
/// graph. A retry of the run folds all records again.
fn may_start_anew(node: &str) -> bool {
    node.matches('/').count() != 1 || node.contains('[')
}
