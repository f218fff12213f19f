//! P8: whether a node may read a key that has not been written.

use super::facts::{StateFacts, StateKeyFact, contains};
use super::questions::Questions;
use super::search::{Search, Target};
use super::state_graph::StateGraph;
use crate::model::{NodeIx, START};

/// A read of a key that may not have been written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnwrittenRead {
    /// Which of the node's [`reads`](StateFacts::reads).
    pub key: usize,
    /// A node that writes the key, but not in every run before the read; or, if there is none, one that may write it. `None`
    /// if no node does at all.
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
    match first_of(graph, facts, given, node, node + 1) {
        Some((_, found)) => Some(found),
        None => None,
    }
}

/// Looks for such a read of any node, which takes far less time than to ask for each node. The first node that has
/// one is given.
///
/// # Panics
/// On a graph of more than 16,384 nodes or edges.
pub const fn first_unwritten_read(
    graph: &[u32],
    facts: &[StateFacts],
    given: &[StateKeyFact],
) -> Option<(NodeIx, UnwrittenRead)> {
    first_of(graph, facts, given, 0, facts.len())
}

/// Asks about 128 keys at a time, of the nodes from `first` up to `end`.
const fn first_of(
    graph: &[u32],
    facts: &[StateFacts],
    given: &[StateKeyFact],
    first: NodeIx,
    end: NodeIx,
) -> Option<(NodeIx, UnwrittenRead)> {
    let mut questions = Questions::NONE;
    // Which of the reads of its node each question is about.
    let mut keys = [0; Questions::MOST];
    let mut node = first;
    while node < end {
        let reads = facts[node].reads;
        let mut key = 0;
        while key < reads.len() {
            if !reads[key].has_zero && !contains(given, reads[key].hash) {
                keys[questions.len] = key;
                questions.add(node, reads[key].hash);
            }
            if questions.len == Questions::MOST {
                if let Some(found) = ask(graph, facts, questions, &keys) {
                    return Some(found);
                }
                questions = Questions::NONE;
            }
            key += 1;
        }
        node += 1;
    }
    if questions.len == 0 { None } else { ask(graph, facts, questions, &keys) }
}

const fn ask(
    graph: &[u32],
    facts: &[StateFacts],
    questions: Questions,
    keys: &[usize; Questions::MOST],
) -> Option<(NodeIx, UnwrittenRead)> {
    let graph = StateGraph::read(graph);
    let found = match graph.size() {
        0..=64 => read_by::<64>(graph, facts, questions),
        65..=512 => read_by::<512>(graph, facts, questions),
        513..=4096 => read_by::<4096>(graph, facts, questions),
        _ => read_by::<16384>(graph, facts, questions),
    };
    match found {
        Some(found) => Some((questions.nodes[found.key], UnwrittenRead { key: keys[found.key], ..found })),
        None => None,
    }
}

#[inline(never)] // So that only the size that is needed takes its place on the stack.
const fn read_by<const N: usize>(
    graph: StateGraph<'_>,
    facts: &[StateFacts],
    questions: Questions,
) -> Option<UnwrittenRead> {
    let mut search = Search::<N>::new(graph, facts, questions);
    let found = search.find(Target::Nodes);
    if found == 0 { None } else { Some(search.explain(facts, found.trailing_zeros() as usize)) }
}

/// Whether a key may not have been written when a node starts, or, without a node, when a run ends.
pub(super) const fn may_be_unwritten(
    graph: StateGraph<'_>,
    facts: &[StateFacts],
    key: StateKeyFact,
    reader: Option<NodeIx>,
) -> bool {
    let (node, target) = match reader {
        Some(node) => (node, Target::Nodes),
        None => (START, Target::TheEnd),
    };
    let mut questions = Questions::NONE;
    questions.add(node, key.hash);
    let found = match graph.size() {
        0..=64 => find::<64>(graph, facts, questions, target),
        65..=512 => find::<512>(graph, facts, questions, target),
        513..=4096 => find::<4096>(graph, facts, questions, target),
        _ => find::<16384>(graph, facts, questions, target),
    };
    found != 0
}

#[inline(never)]
const fn find<const N: usize>(
    graph: StateGraph<'_>,
    facts: &[StateFacts],
    questions: Questions,
    target: Target,
) -> u128 {
    Search::<N>::new(graph, facts, questions).find(target)
}
