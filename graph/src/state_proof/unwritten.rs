//! P8: whether a node may read a key that has not been written.

use super::facts::{StateFacts, StateKeyFact, contains};
use super::state_graph::StateGraph;
use crate::model::{NodeIx, START};

/// A read of a key that may not have been written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnwrittenRead {
    /// Which of the node's [`reads`](StateFacts::reads).
    pub key: usize,
    /// A node that writes the key, but not in every run before the read. `None` if no node writes it at all.
    pub writer: Option<NodeIx>,
    /// The node and its choice by which the writer is passed by: the writer itself where that fails. `None` if the reader
    /// does not wait for the writer.
    pub passed: Option<(NodeIx, usize)>,
}

/// Looks for a read of a node that may come before its key was written. `given` are the keys that a run begins with.
///
/// # Panics
/// On a node that is not there, and on a graph of more than 16,384 nodes or edges.
pub const fn unwritten_read(
    graph: &[u32],
    facts: &[StateFacts],
    given: &[StateKeyFact],
    node: NodeIx,
) -> Option<UnwrittenRead> {
    let reads = facts[node].reads;
    if reads.is_empty() {
        return None;
    }
    let graph = StateGraph::read(graph);
    let mut first = 0;
    while first < reads.len() {
        let (_, rest) = reads.split_at(first);
        let (keys, _) = rest.split_at(if rest.len() < 64 { rest.len() } else { 64 });
        let size = if graph.nodes > graph.edges { graph.nodes } else { graph.edges };
        let found = match size {
            0..=64 => Search::<64>::new(graph, facts, keys).read_by(given, node),
            65..=512 => Search::<512>::new(graph, facts, keys).read_by(given, node),
            513..=4096 => Search::<4096>::new(graph, facts, keys).read_by(given, node),
            _ => Search::<16384>::new(graph, facts, keys).read_by(given, node),
        };
        if let Some(found) = found {
            return Some(UnwrittenRead { key: first + found.key, ..found });
        }
        first += 64;
    }
    None
}

/// Which of at most 64 keys may not have been written when something comes.
pub(super) const fn may_be_unwritten(
    graph: StateGraph<'_>,
    facts: &[StateFacts],
    keys: &[StateKeyFact],
    target: Target,
) -> u64 {
    let size = if graph.nodes > graph.edges { graph.nodes } else { graph.edges };
    match size {
        0..=64 => Search::<64>::new(graph, facts, keys).find(target),
        65..=512 => Search::<512>::new(graph, facts, keys).find(target),
        513..=4096 => Search::<4096>::new(graph, facts, keys).find(target),
        _ => Search::<16384>::new(graph, facts, keys).find(target),
    }
}

/// What is asked about.
#[derive(Clone, Copy)]
pub(super) enum Target {
    /// A node that starts.
    Node(NodeIx),
    /// The end of the run, when nothing can move any more.
    TheEnd,
}

/// Finds plays in which keys are not written. A mask has a bit for each of at most 64 keys.
pub(super) struct Search<'a, const N: usize> {
    graph: StateGraph<'a>,
    facts: &'a [StateFacts],
    keys: &'a [StateKeyFact],
    /// The keys that each node has written when it completes, but for its failures.
    writes: [u64; N],
    /// Whether a way leads from a node to the target.
    leads: [bool; N],
    /// The keys that can stay unwritten if the node runs.
    avoids: [u64; N],
    /// The keys that can stay unwritten if the node runs and leads on to the target.
    reaches: [u64; N],
}

impl<'a, const N: usize> Search<'a, N> {
    pub(super) const fn new(graph: StateGraph<'a>, facts: &'a [StateFacts], keys: &'a [StateKeyFact]) -> Self {
        let mut writes = [0; N];
        let mut node = 0;
        while node < graph.nodes {
            let written = facts[node].writes;
            let mut key = 0;
            while !written.is_empty() && key < keys.len() {
                writes[node] |= (contains(written, keys[key].hash) as u64) << key;
                key += 1;
            }
            node += 1;
        }
        Search { graph, facts, keys, writes, leads: [false; N], avoids: [0; N], reaches: [0; N] }
    }

    const fn read_by(mut self, given: &[StateKeyFact], node: NodeIx) -> Option<UnwrittenRead> {
        let missing = self.find(Target::Node(node));
        let mut key = 0;
        while key < self.keys.len() {
            let fact = self.keys[key];
            let is_there = fact.has_zero || contains(given, fact.hash);
            if !is_there && missing & (1 << key) != 0 {
                return Some(self.explain(key));
            }
            key += 1;
        }
        None
    }

    /// The keys that may not be written when the target comes.
    pub(super) const fn find(&mut self, target: Target) -> u64 {
        let mut place = self.graph.nodes;
        while place > 0 {
            place -= 1;
            let node = self.graph.at(place);
            if let Target::Node(end) = target
                && node == end
            {
                self.leads[node] = true;
                self.avoids[node] = u64::MAX;
                self.reaches[node] = u64::MAX;
            } else {
                self.visit(node, target);
            }
        }
        match target {
            Target::Node(_) => self.reaches[START],
            Target::TheEnd => self.avoids[START],
        }
    }

    const fn visit(&mut self, node: NodeIx, target: Target) {
        let is_end = matches!(target, Target::TheEnd);
        let (mut leads, mut avoids, mut reaches) = (is_end, 0, 0);
        let mut choice = self.graph.first_choice(node);
        while choice < self.graph.first_choice(node + 1) {
            let allowed = if self.graph.is_failure(choice) { u64::MAX } else { !self.writes[node] };
            let (mut all, mut some) = (allowed, 0);
            let mut at = self.graph.first_taken(choice);
            while at < self.graph.first_taken(choice + 1) {
                let to = self.graph.to(self.graph.taken(at));
                leads |= self.leads[to];
                all &= self.avoids[to];
                some |= self.reaches[to];
                at += 1;
            }
            avoids |= all;
            reaches |= all & some;
            choice += 1;
        }
        self.leads[node] = leads;
        self.avoids[node] = if leads { avoids } else { u64::MAX };
        self.reaches[node] = reaches;
    }

    const fn explain(&self, key: usize) -> UnwrittenRead {
        let mut node = 0;
        while node < self.graph.nodes {
            if contains(self.facts[node].writes, self.keys[key].hash) {
                return UnwrittenRead { key, writer: Some(node), passed: None };
            }
            node += 1;
        }
        UnwrittenRead { key, writer: None, passed: None }
    }
}
