//! P9: whether two nodes that may run at the same time overwrite one key.
//!
//! Two runs of nodes may overlap if some play has both and neither is in the causal past of the other. In one turn of
//! all loops that are around both, a node is in the past of each node that a way leads to from it, if both run: a join
//! waits for every edge, and what could come by two ways in is not sound. Of two nodes without such a way, both have to
//! be live in one turn. Of turns, the next begins with its back edges: what leads to none of them, a branch on the
//! side, is not waited for.

use super::facts::{StateFacts, StateKeyFact, contains};
use super::state_graph::{ENDS, HEADER, NODE, StateGraph};
use super::together::are_together;
use crate::model::{EdgeIx, NodeIx};

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

/// How two nodes, or two runs of one, can run at the same time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Overlap {
    /// Neither waits for the other.
    Branches,
    /// A turn of a loop begins while the other still runs in an earlier one.
    Turns,
    /// As items of `[..]`.
    Items,
}

/// Looks for a node that may overwrite a key at the same time as this one. Each two nodes are reported once, for the
/// one of the higher number.
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
        0..=64 => first_of::<64>(graph, facts, node),
        65..=512 => first_of::<512>(graph, facts, node),
        513..=4096 => first_of::<4096>(graph, facts, node),
        _ => first_of::<16384>(graph, facts, node),
    }
}

/// Looks for such a node among all of them. The first one is given.
///
/// # Panics
/// On a graph of more than 8,190 edges or 16,384 nodes.
pub const fn first_overlapping_write(graph: &[u32], facts: &[StateFacts]) -> Option<(NodeIx, OverlappingWrite)> {
    let mut node = 0;
    while node < facts.len() {
        if let Some(found) = overlapping_write(graph, facts, node) {
            return Some((node, found));
        }
        node += 1;
    }
    None
}

#[inline(never)] // So that only the size that is needed takes its place on the stack.
const fn first_of<const N: usize>(
    graph: StateGraph<'_>,
    facts: &[StateFacts],
    node: NodeIx,
) -> Option<OverlappingWrite> {
    Overlaps::<N>::new(graph).first_of(facts, node)
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
    /// The nodes behind the node in question, and behind another.
    one: Behind<'g, N>,
    other: Behind<'g, N>,
    before: Before<'g, N>,
}

impl<'g, const N: usize> Overlaps<'g, N> {
    const fn new(graph: StateGraph<'g>) -> Self {
        Overlaps { graph, one: Behind::nothing(graph), other: Behind::nothing(graph), before: Before::nothing(graph) }
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
        let shared = self.graph.shared_loop(one, other);
        let mut around = shared;
        while around != 0 {
            // A node may still run when the next turn of a loop around it has begun.
            self.one.follow(one, around);
            self.other.follow(other, around);
            if !self.one.ends_before_next_turn || !self.other.ends_before_next_turn {
                return Some(Overlap::Turns);
            }
            around = self.graph.parent(around);
        }
        if one != other && self.run_beside(one, other, shared) { Some(Overlap::Branches) } else { None }
    }

    /// Whether two nodes may overlap in one turn of the loops around both.
    const fn run_beside(&mut self, one: NodeIx, other: NodeIx, shared: usize) -> bool {
        let merged = self.graph.merged_in(one);
        if merged != 0 && merged == self.graph.merged_in(other) {
            return false;
        }
        if self.graph.loops == 0 && !self.graph.has_collecting {
            return !self.before.leads_from(other, one)
                && !self.before.leads_from(one, other)
                && self.are_live(one, other);
        }
        self.one.follow(one, shared);
        if self.one.leads_to[other] {
            return !self.one.ends_before[other];
        }
        self.other.follow(other, shared);
        if self.other.leads_to[one] {
            return !self.other.ends_before[one];
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
        self.other.follow(self.graph.at(first), shared);
        self.other.leads_to[other]
    }

    /// Whether two nodes that do not lead to each other can both run.
    const fn are_live(&self, one: NodeIx, other: NodeIx) -> bool {
        let graph = self.graph;
        let (mut place, end) = graph.vertex(one);
        while place < end {
            let node = graph.at(place);
            let mut into = graph.first_into(node);
            while into < graph.first_into(node + 1) {
                if self.is_live_beside(graph.edge_into(into), other) {
                    return true;
                }
                into += 1;
            }
            place += 1;
        }
        false
    }

    const fn is_live_beside(&self, edge: EdgeIx, other: NodeIx) -> bool {
        let graph = self.graph;
        let (mut place, end) = graph.vertex(other);
        while graph.back(edge) == 0 && place < end {
            let node = graph.at(place);
            let mut into = graph.first_into(node);
            while into < graph.first_into(node + 1) {
                let second = graph.edge_into(into);
                if graph.back(second) == 0 && are_together(graph, edge, second) {
                    return true;
                }
                into += 1;
            }
            place += 1;
        }
        false
    }
}

/// The nodes that lead to a node, in a graph without loops and collecting nodes: found once for each node.
struct Before<'g, const N: usize> {
    graph: StateGraph<'g>,
    node: NodeIx,
    leads: [bool; N],
}

impl<'g, const N: usize> Before<'g, N> {
    const fn nothing(graph: StateGraph<'g>) -> Self {
        Before { graph, node: NodeIx::MAX, leads: [false; N] }
    }

    /// Whether a way leads from one node to the other.
    const fn leads_from(&mut self, from: NodeIx, to: NodeIx) -> bool {
        let graph = self.graph;
        if graph.place(from) >= graph.place(to) {
            return false;
        }
        if self.node != to {
            *self = Before { node: to, ..Self::nothing(graph) };
            self.leads[to] = true;
            let mut place = graph.place(to) + 1;
            while place > 0 {
                place -= 1;
                let at = graph.words[graph.order + place] as usize;
                let row = HEADER + NODE * at + 1;
                let mut into = graph.into + graph.words[row] as usize;
                let end = graph.into + graph.words[row + NODE] as usize;
                while self.leads[at] && into < end {
                    let edge = graph.words[into] as usize;
                    self.leads[graph.words[graph.ends + ENDS * edge] as usize] = true;
                    into += 1;
                }
            }
        }
        self.leads[from]
    }
}

/// The nodes behind a node in the present turn of a loop and of those around it.
struct Behind<'g, const N: usize> {
    graph: StateGraph<'g>,
    node: NodeIx,
    /// The loop, plus one; 0 for none.
    around: usize,
    /// Whether a way leads there.
    leads_to: [bool; N],
    /// Whether the node has ended before that one starts, if both run.
    ends_before: [bool; N],
    /// Whether it has ended before the next turn of the loop begins.
    ends_before_next_turn: bool,
}

impl<'g, const N: usize> Behind<'g, N> {
    const fn nothing(graph: StateGraph<'g>) -> Self {
        let (leads_to, ends_before) = ([false; N], [false; N]);
        Behind { graph, node: NodeIx::MAX, around: 0, leads_to, ends_before, ends_before_next_turn: false }
    }

    const fn follow(&mut self, node: NodeIx, around: usize) {
        if self.node == node && self.around == around {
            return;
        }
        *self = Behind { node, around, ..Self::nothing(self.graph) };
        let graph = self.graph;
        loop {
            let mut has_changed = false;
            let mut place = if graph.loops == 0 { graph.place(node) } else { 0 };
            while place < graph.nodes {
                let at = graph.words[graph.order + place] as usize;
                let row = HEADER + NODE * at + 1;
                let mut into = graph.into + graph.words[row] as usize;
                let end = graph.into + graph.words[row + NODE] as usize;
                while into < end {
                    let edge = graph.words[into] as usize;
                    let from = graph.words[graph.ends + ENDS * edge] as usize;
                    if from == node || self.leads_to[from] {
                        has_changed |= self.enter(at, edge, from);
                    }
                    into += 1;
                }
                place += 1;
            }
            if !has_changed || graph.loops == 0 {
                return;
            }
        }
    }

    /// Follows an edge into a node.
    const fn enter(&mut self, at: NodeIx, edge: EdgeIx, from: NodeIx) -> bool {
        let is_sure = (from == self.node || self.ends_before[from]) && self.is_waited_for(at, edge);
        let back = self.graph.back(edge);
        if back != 0 && self.is_around(back) {
            self.ends_before_next_turn |= back == self.around && is_sure;
            return false;
        }
        if at == self.node || (self.leads_to[at] && (self.ends_before[at] || !is_sure)) {
            return false;
        }
        self.leads_to[at] = true;
        self.ends_before[at] |= is_sure;
        true
    }

    const fn is_around(&self, outer: usize) -> bool {
        let mut at = self.around;
        while at != 0 && at != outer {
            at = self.graph.parent(at);
        }
        at != 0
    }

    /// Whether a node starts only after what comes by an edge, if that comes. A collecting node starts with whatever
    /// comes first.
    const fn is_waited_for(&self, at: NodeIx, edge: EdgeIx) -> bool {
        if !self.graph.collects(at) {
            return true;
        }
        let mut into = self.graph.first_into(at);
        while into < self.graph.first_into(at + 1) {
            let other = self.graph.edge_into(into);
            let from = self.graph.from(other);
            let is_sure = from == self.node || self.ends_before[from];
            if other != edge && !is_sure && are_together(self.graph, edge, other) {
                return false;
            }
            into += 1;
        }
        true
    }
}
