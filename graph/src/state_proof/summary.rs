//! What a graph does with the state, seen from outside: the facts of a node that runs it.
//!
//! A nested workflow is a node that reads what is given to it, writes what it writes on every play, and may write the
//! rest. For the graph inside `[..]`, which may run for no item at all and for several at the same time, all that it writes
//! is [`Summary::Written`] and goes into `may_write`; what it reads from around it is [`Summary::Needed`]. The nodes
//! inside see the state around the node as it was when the node started, and what has been written inside since. Of other
//! items they may see something or nothing; only what was written before in the same item is sure. So the graph inside is
//! proven by itself: a read is needed from outside if it may be unwritten inside, since the routes inside and those
//! outside are chosen independently.

use super::facts::{StateFacts, StateKeyFact, contains};
use super::keys;
use super::state_graph::StateGraph;
use super::unwritten::may_be_unwritten;
use crate::model::NodeIx;

/// Which keys of a graph are asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Summary {
    /// What nodes read, where it may not have been written by the graph itself or given to it.
    Needed,
    /// What has been written whenever the graph has ended at END.
    AlwaysWritten,
    /// What may or may not have been written then.
    MaybeWritten,
    /// Both of these.
    Written,
}

/// How many keys [`summary`] gives.
pub const fn summary_len(graph: &[u32], facts: &[StateFacts], given: &[StateKeyFact], which: Summary) -> usize {
    let mut keys = Keys::new(graph, facts, given, which);
    let mut count = 0;
    while keys.next().is_some() {
        count += 1;
    }
    count
}

/// The keys of a graph, each once. `given` are those that a run of it begins with.
///
/// # Panics
/// If `N` is not [`summary_len`] of the same.
pub const fn summary<const N: usize>(
    graph: &[u32],
    facts: &[StateFacts],
    given: &[StateKeyFact],
    which: Summary,
) -> [StateKeyFact; N] {
    let mut keys = Keys::new(graph, facts, given, which);
    let mut found = [StateKeyFact::overwrite(""); N];
    let mut at = 0;
    while let Some(key) = keys.next() {
        found[at] = key;
        at += 1;
    }
    assert!(at == N, "an array of another length than `summary_len`");
    found
}

/// The same where the number is not known.
#[track_caller]
pub(super) const fn some_keys(
    graph: &[u32],
    facts: &[StateFacts],
    given: &[StateKeyFact],
    which: Summary,
) -> keys::Keys {
    let mut keys = Keys::new(graph, facts, given, which);
    let mut found = keys::Keys::NONE;
    while let Some(key) = keys.next() {
        found.add(key);
    }
    found
}

/// Goes through the keys of a graph, each once.
struct Keys<'a> {
    graph: &'a [u32],
    facts: &'a [StateFacts],
    given: &'a [StateKeyFact],
    which: Summary,
    /// Where it stands: a node, and which of its keys.
    node: usize,
    key: usize,
}

impl<'a> Keys<'a> {
    const fn new(graph: &'a [u32], facts: &'a [StateFacts], given: &'a [StateKeyFact], which: Summary) -> Self {
        let node = if StateFacts::are_none(facts) { facts.len() } else { 0 };
        Keys { graph, facts, given, which, node, key: 0 }
    }

    const fn next(&mut self) -> Option<StateKeyFact> {
        while self.node < self.facts.len() {
            match self.at(self.node, self.key) {
                None => {
                    self.node += 1;
                    self.key = 0;
                }
                Some(key) => {
                    let is_found = self.is_first(key) && self.is_asked_for(key);
                    self.key += 1;
                    if is_found {
                        return Some(key);
                    }
                }
            }
        }
        None
    }

    /// One of the keys of a node, of those that it reads or of those that it writes.
    const fn at(&self, node: usize, at: usize) -> Option<StateKeyFact> {
        let StateFacts { reads, writes, may_write, .. } = self.facts[node];
        match self.which {
            Summary::Needed if at < reads.len() => Some(reads[at]),
            Summary::Needed => None,
            _ if at < writes.len() => Some(writes[at]),
            _ if at < writes.len() + may_write.len() => Some(may_write[at - writes.len()]),
            _ => None,
        }
    }

    /// Whether a key, which stands here, stands nowhere before.
    const fn is_first(&self, key: StateKeyFact) -> bool {
        let mut node = 0;
        while node <= self.node {
            let mut at = 0;
            while let Some(before) = self.at(node, at) {
                if node == self.node && at == self.key {
                    return true;
                }
                if before.hash == key.hash {
                    return false;
                }
                at += 1;
            }
            node += 1;
        }
        true
    }

    const fn is_asked_for(&self, key: StateKeyFact) -> bool {
        match self.which {
            Summary::Needed => self.is_needed(key),
            Summary::Written => !key.is_any(),
            Summary::AlwaysWritten => !self.may_be_unwritten(key, None),
            Summary::MaybeWritten => !key.is_any() && self.may_be_unwritten(key, None),
        }
    }

    const fn is_needed(&self, key: StateKeyFact) -> bool {
        if key.has_zero || contains(self.given, key.hash) {
            return false;
        }
        let mut node = 0;
        while node < self.facts.len() {
            if contains(self.facts[node].reads, key.hash) && self.may_be_unwritten(key, Some(node)) {
                return true;
            }
            node += 1;
        }
        false
    }

    const fn may_be_unwritten(&self, key: StateKeyFact, reader: Option<NodeIx>) -> bool {
        may_be_unwritten(StateGraph::read(self.graph), self.facts, key, reader)
    }
}
