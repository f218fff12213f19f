//! P9: whether two nodes that may run at the same time overwrite one key.
//!
//! Two runs of nodes may overlap if some play has both and neither is in the causal past of the other. In one turn of all
//! loops that are around both, a node is in the past of each node that a way leads to from it, if both run: a join waits
//! for every edge, and what could come by two ways in is not sound. Of two nodes without such a way, both have to
//! be live in one turn. Of turns, the next begins with its back edges: what leads to none of them, a branch on the
//! side, is not waited for.

use super::facts::{StateFacts, StateKeyFact, contains};
use super::state_graph::StateGraph;
use super::together::are_together;
use crate::model::NodeIx;

/// Two runs of nodes that may overwrite one key at the same time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OverlappingWrite {
    /// The key.
    pub key: StateKeyFact,
    /// The other node, or the node itself.
    pub other: NodeIx,
    /// How the two can run at the same time.
    pub how: Overlap,
}

/// How two nodes, or two runs of one, come to run at the same time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Overlap {
    /// Neither waits for the other.
    Branches,
    /// A turn of a loop begins while the other still runs in an earlier one.
    Turns,
    /// As items of `[..]`.
    Items,
}

/// Looks for a node that may overwrite a key at the same time as this one. Each two nodes are reported once, for the one
/// of the higher number.
///
/// # Panics
/// On a node that is not there, and on a graph of more than 8,190 edges or 16,384 nodes.
pub const fn overlapping_write(graph: &[u32], facts: &[StateFacts], node: NodeIx) -> Option<OverlappingWrite> {
    let written = overwrites(facts[node].writes) + overwrites(facts[node].may_write);
    if written == 0 {
        return None;
    }
    let graph = StateGraph::read(graph);
    match graph.nodes {
        0..=64 => Overlaps::<64>::new(graph).first_of(facts, node),
        65..=512 => Overlaps::<512>::new(graph).first_of(facts, node),
        513..=4096 => Overlaps::<4096>::new(graph).first_of(facts, node),
        _ => Overlaps::<16384>::new(graph).first_of(facts, node),
    }
}

const fn overwrites(keys: &[StateKeyFact]) -> usize {
    let (mut at, mut count) = (0, 0);
    while at < keys.len() {
        count += keys[at].overwrites as usize;
        at += 1;
    }
    count
}

/// A key that both overwrite.
const fn shared_key(one: StateFacts, other: StateFacts) -> Option<StateKeyFact> {
    let mut at = 0;
    while at < one.writes.len() + one.may_write.len() {
        let key = if at < one.writes.len() { one.writes[at] } else { one.may_write[at - one.writes.len()] };
        if key.overwrites && (contains(other.writes, key.hash) || contains(other.may_write, key.hash)) {
            return Some(key);
        }
        at += 1;
    }
    None
}

struct Overlaps<'g, const N: usize> {
    graph: StateGraph<'g>,
    /// Whether something leads to a node, in the present turn of some loops.
    behind: [bool; N],
    /// Whether it has ended when the node starts, if both run.
    after: [bool; N],
    /// Whether it has ended when the next turn of that loop begins.
    before_next_turn: bool,
}

impl<'g, const N: usize> Overlaps<'g, N> {
    const fn new(graph: StateGraph<'g>) -> Self {
        Overlaps { graph, behind: [false; N], after: [false; N], before_next_turn: false }
    }

    const fn first_of(mut self, facts: &[StateFacts], node: NodeIx) -> Option<OverlappingWrite> {
        let mut other = 0;
        while other <= node {
            if let Some(key) = shared_key(facts[node], facts[other])
                && let Some(how) = self.overlap(node, other)
            {
                return Some(OverlappingWrite { key, other, how });
            }
            other += 1;
        }
        None
    }

    const fn overlap(&mut self, one: NodeIx, other: NodeIx) -> Option<Overlap> {
        if one == other && self.graph.runs_for_items(one) {
            return Some(Overlap::Items);
        }
        let shared = self.shared_loop(one, other);
        let mut around = shared;
        while around != 0 {
            if self.turns_overlap(one, around) || self.turns_overlap(other, around) {
                return Some(Overlap::Turns);
            }
            around = self.graph.parent(around);
        }
        if one != other && self.run_beside(one, other, shared) { Some(Overlap::Branches) } else { None }
    }

    /// The innermost loop around both nodes, plus one; 0 for none.
    const fn shared_loop(&self, one: NodeIx, other: NodeIx) -> usize {
        let mut around = self.graph.loop_around(one);
        while around != 0 && !self.graph.is_in(other, around) {
            around = self.graph.parent(around);
        }
        around
    }

    /// Whether a node may still run when the next turn of a loop around it has begun.
    const fn turns_overlap(&mut self, node: NodeIx, around: usize) -> bool {
        self.follow(node, around);
        !self.before_next_turn
    }

    /// Whether two nodes may overlap in one turn of the loops around both.
    const fn run_beside(&mut self, one: NodeIx, other: NodeIx, shared: usize) -> bool {
        let merged = self.graph.merged_in(one);
        if merged != 0 && merged == self.graph.merged_in(other) {
            return false;
        }
        self.follow(one, shared);
        if self.behind[other] {
            return !self.after[other];
        }
        self.follow(other, shared);
        if self.behind[one] {
            return !self.after[one];
        }
        self.is_passed_by(one, other, shared) || self.is_passed_by(other, one, shared) || self.are_live(one, other)
    }

    /// Whether a node is on the side of a loop that leads to the other, so that the loop can end before the node has.
    const fn is_passed_by(&mut self, node: NodeIx, other: NodeIx, shared: usize) -> bool {
        let mut around = self.graph.loop_around(node);
        if around == shared {
            return false;
        }
        while self.graph.parent(around) != shared {
            around = self.graph.parent(around);
        }
        let (first, _) = self.graph.heads(around);
        self.follow(self.graph.at(first), shared);
        self.behind[other]
    }

    /// Whether two nodes that do not lead to each other can both run.
    const fn are_live(&self, one: NodeIx, other: NodeIx) -> bool {
        let (first, end) = self.graph.vertex(one);
        let (other_first, other_end) = self.graph.vertex(other);
        let mut edge = 0;
        while edge < self.graph.edges {
            if self.enters(edge, first, end) {
                let mut second = 0;
                while second < self.graph.edges {
                    if self.enters(second, other_first, other_end) && are_together(self.graph, edge, second) {
                        return true;
                    }
                    second += 1;
                }
            }
            edge += 1;
        }
        false
    }

    const fn enters(&self, edge: usize, first: usize, end: usize) -> bool {
        let place = self.graph.place(self.graph.to(edge));
        self.graph.back(edge) == 0 && first <= place && place < end
    }

    /// Finds what comes behind a node in the present turn of a loop and of those around it.
    const fn follow(&mut self, node: NodeIx, around: usize) {
        self.behind = [false; N];
        self.after = [false; N];
        self.before_next_turn = false;
        loop {
            let mut has_changed = false;
            let mut place = 0;
            while place < self.graph.nodes {
                let at = self.graph.at(place);
                has_changed |= self.enter(at, node, around);
                place += 1;
            }
            if !has_changed || self.graph.loops == 0 {
                return;
            }
        }
    }

    /// Follows the edges into a node.
    const fn enter(&mut self, at: NodeIx, node: NodeIx, around: usize) -> bool {
        let mut has_changed = false;
        let mut into = self.graph.first_into(at);
        while into < self.graph.first_into(at + 1) {
            let edge = self.graph.edge_into(into);
            let from = self.graph.from(edge);
            let back = self.graph.back(edge);
            into += 1;
            if from != node && !self.behind[from] {
                continue;
            }
            let is_after = (from == node || self.after[from]) && self.is_waited_for(at, edge, node);
            if back != 0 && self.is_around(back, around) {
                self.before_next_turn |= back == around && is_after;
                continue;
            }
            if at != node {
                has_changed |= !self.behind[at] || (is_after && !self.after[at]);
                self.behind[at] = true;
                self.after[at] |= is_after;
            }
        }
        has_changed
    }

    const fn is_around(&self, outer: usize, inner: usize) -> bool {
        let mut at = inner;
        while at != 0 {
            if at == outer {
                return true;
            }
            at = self.graph.parent(at);
        }
        false
    }

    /// Whether a node starts only after what comes by an edge, if that comes. A collecting node starts with whatever
    /// comes first.
    const fn is_waited_for(&self, at: NodeIx, edge: usize, node: NodeIx) -> bool {
        if !self.graph.collects(at) {
            return true;
        }
        let mut into = self.graph.first_into(at);
        while into < self.graph.first_into(at + 1) {
            let other = self.graph.edge_into(into);
            let from = self.graph.from(other);
            if other != edge && from != node && !self.after[from] && are_together(self.graph, edge, other) {
                return false;
            }
            into += 1;
        }
        true
    }
}
