//! Looks for a play in which the target comes and a key has not been written before it.
//!
//! In one turn, a node that has run has ended before each node that a way leads to from it and that runs as well: a
//! join waits for a token, live or dead, on every edge, and two ways in of one node are never live together. So the target
//! comes without a key if some play leads there in which no node on a way to the target writes it. Backwards through
//! the graph, as in [`presence`](crate::analysis), for each node that runs:
//!
//! - it *avoids* a key if in some choice of it every edge leads to a node that avoids the key, and it does not write the
//!   key itself, or by this choice fails;
//! - it *reaches* the target if in such a choice some edge leads to the target, or to a node that reaches it.
//!
//! One choice for each node serves both. Up to 128 questions, of a reader and a key each, are asked at once, one bit each.
//! The compiler takes its time for every call in a constant, so the loops below spell out what they read of the graph.
//!
//! **Loops.** What has been written in a turn stays written in the next. So of a loop around the target, the first turn is
//! asked about: an edge that leads back leads nowhere. A loop before the target has to end, and may do so in its first
//! turn: an edge that leads back is not taken. A loop with several heads holds one token, which goes from head to
//! head until one of them leads on; there an edge that leads back is an edge like others. The branches on its side do not
//! lead on, so those of earlier turns are not asked about.
//!
//! **Collecting nodes** start with the first arrival, whatever the other ways in have still to bring. So what an edge into
//! one brings is not sure to be there if another edge can be live at the same time and bring less. That is exact as long
//! as the arrivals of one collecting node are asked about at a time; for several of them together the question is as hard
//! as satisfiability (a router for each variable, a collecting node for each clause, and a reader behind all of them), and
//! this one may report a key as unwritten although no play shows it. It never reports one as written that may not be.

use super::facts::StateFacts;
use super::questions::Questions;
use super::state_graph::{HEADER, NODE, StateGraph, TAKEN};
use super::together::are_together;
use crate::model::{EdgeIx, NodeIx, START};

/// The target of a search.
#[derive(Clone, Copy)]
pub(super) enum Target {
    /// The node of each question, when it starts.
    Nodes,
    /// The arrival at a collecting node by an edge.
    Arrival(EdgeIx),
    /// The end of the run, when nothing can move any more.
    TheEnd,
}

/// Sets of questions are masks.
pub(super) struct Search<'a, const N: usize> {
    pub(super) graph: StateGraph<'a>,
    pub(super) questions: Questions,
    /// Whether the ways to the targets are found while the choices are played: the graph has no loops and no collecting
    /// nodes.
    is_simple: bool,
    /// Whether each node has written the key when it completes, but for its failures.
    writes: [u128; N],
    /// Whether the node is the one that is asked about.
    is_target: [u128; N],
    /// For each loop, plus one, whether it is around the target.
    is_around: [u128; N],
    /// For each edge into a collecting node, whether the key may be missing although it comes by this edge, since another
    /// may come first.
    overtaken: [u128; N],
    /// Whether a way leads from the node to the target.
    pub(super) leads: [u128; N],
    /// Whether the target is sure to see what the node has written, if both run.
    counts: [u128; N],
    /// Whether the key can stay unwritten if the node runs.
    pub(super) avoids: [u128; N],
    /// Whether it can stay unwritten if the node runs and leads on to the target.
    pub(super) reaches: [u128; N],
}

impl<'a, const N: usize> Search<'a, N> {
    pub(super) const fn new(graph: StateGraph<'a>, facts: &[StateFacts], questions: Questions) -> Self {
        let mut search = Search {
            graph,
            questions,
            is_simple: false,
            writes: [0; N],
            is_target: [0; N],
            is_around: [0; N],
            overtaken: [0; N],
            leads: [0; N],
            counts: [0; N],
            avoids: [0; N],
            reaches: [0; N],
        };
        let mut node = 0;
        while node < graph.nodes {
            let written = facts[node].writes;
            let mut at = 0;
            while at < written.len() {
                let mut key = 0;
                if written[at].is_any() {
                    search.writes[node] = u128::MAX;
                }
                while key < questions.different {
                    if written[at].hash == questions.each_key[key] {
                        search.writes[node] |= questions.about[key];
                    }
                    key += 1;
                }
                at += 1;
            }
            node += 1;
        }
        search.find_overtaken();
        search
    }

    /// One collecting node after another, those first that lead to others.
    const fn find_overtaken(&mut self) {
        let graph = self.graph;
        let mut place = 0;
        while graph.has_collecting && place < graph.nodes {
            let node = graph.at(place);
            place += 1;
            if !graph.collects(node) {
                continue;
            }
            let (first, end) = (graph.first_into(node), graph.first_into(node + 1));
            let mut one = first;
            while one < end {
                let missing = self.find(Target::Arrival(graph.edge_into(one)));
                let mut other = first;
                while missing != 0 && other < end {
                    if one != other && are_together(graph, graph.edge_into(one), graph.edge_into(other)) {
                        self.overtaken[graph.edge_into(other)] |= missing;
                    }
                    other += 1;
                }
                one += 1;
            }
        }
    }

    /// The questions to which the answer is yes: the key may not be written when the target comes.
    pub(super) const fn find(&mut self, target: Target) -> u128 {
        self.aim(target);
        let is_end = matches!(target, Target::TheEnd);
        self.is_simple = self.graph.loops == 0 && !self.graph.has_collecting && !is_end;
        if !self.is_simple {
            self.find_ways(target);
        }
        self.play(target);
        let found = match target {
            Target::TheEnd => self.avoids[START],
            Target::Nodes | Target::Arrival(_) => self.reaches[START],
        };
        found & self.questions.all()
    }

    /// Marks the targets and the loops around them.
    const fn aim(&mut self, target: Target) {
        self.is_target = [0; N];
        self.is_around = [0; N];
        match target {
            Target::TheEnd => {}
            Target::Arrival(edge) => {
                let around = self.graph.shared_loop(self.graph.from(edge), self.graph.to(edge));
                self.mark_loops(around, u128::MAX);
            }
            Target::Nodes => {
                let mut question = 0;
                while question < self.questions.len {
                    let node = self.questions.nodes[question];
                    self.is_target[node] |= 1 << question;
                    self.mark_loops(self.graph.loop_around(node), 1 << question);
                    question += 1;
                }
            }
        }
    }

    const fn mark_loops(&mut self, innermost: usize, questions: u128) {
        let mut around = innermost;
        while around != 0 {
            self.is_around[around] |= questions;
            around = self.graph.parent(around);
        }
    }

    /// Whether an edge begins the next turn of a loop around the target.
    pub(super) const fn begins_later_turn(&self, edge: EdgeIx) -> u128 {
        self.is_around[self.graph.back(edge)]
    }

    /// Finds the nodes that lead to the target.
    const fn find_ways(&mut self, target: Target) {
        let is_end = matches!(target, Target::TheEnd);
        let mut node = 0;
        while node < self.graph.nodes {
            let targets = if is_end && self.is_last(node) { u128::MAX } else { self.is_target[node] };
            self.leads[node] = targets;
            self.counts[node] = targets;
            node += 1;
        }
        self.spread_ways(target);
        if is_end {
            self.wait_for_all(target);
        }
    }

    /// The end of a run comes after all nodes that run, except those that only feed a collecting node, which are
    /// stopped once that has its output. A loop that leads nowhere is waited for like a node that leads nowhere.
    const fn wait_for_all(&mut self, target: Target) {
        let mut node = 0;
        while node < self.graph.nodes {
            if self.leads[node] == 0 || !self.graph.has_collecting {
                self.counts[node] = u128::MAX;
            }
            self.leads[node] = u128::MAX;
            node += 1;
        }
        self.spread_ways(target);
    }

    const fn is_last(&self, node: NodeIx) -> bool {
        self.graph.first_taken(self.graph.first_choice(node))
            == self.graph.first_taken(self.graph.first_choice(node + 1))
    }

    const fn spread_ways(&mut self, target: Target) {
        loop {
            let mut has_changed = false;
            let mut place = self.graph.nodes;
            while place > 0 {
                place -= 1;
                has_changed |= self.follow_ways(self.graph.at(place), target);
            }
            if !has_changed || self.graph.loops == 0 {
                return;
            }
        }
    }

    const fn follow_ways(&mut self, node: NodeIx, target: Target) -> bool {
        let graph = self.graph;
        let (mut leads, mut counts) = (self.leads[node], self.counts[node]);
        let others = !self.is_target[node];
        let mut row = graph.taken + TAKEN * graph.first_taken(graph.first_choice(node));
        let end = graph.taken + TAKEN * graph.first_taken(graph.first_choice(node + 1));
        while row < end {
            let edge = graph.words[row] as usize;
            let to = graph.words[row + 1] as usize;
            let back = graph.words[row + 2] as usize;
            row += TAKEN;
            if matches!(target, Target::Arrival(arrival) if arrival == edge) {
                (leads, counts) = (u128::MAX, u128::MAX);
                continue;
            }
            let mut now = others;
            if back != 0 && !graph.has_many_heads(back) {
                now &= !self.is_around[back];
            }
            leads |= self.leads[to] & now;
            counts |= self.counts[to] & !self.overtaken[edge] & now;
        }
        let has_changed = leads != self.leads[node] || counts != self.counts[node];
        self.leads[node] = leads;
        self.counts[node] = counts;
        has_changed
    }

    /// Plays the choices, from the target backwards.
    const fn play(&mut self, target: Target) {
        let graph = self.graph;
        let arrival = if let Target::Arrival(edge) = target { edge } else { EdgeIx::MAX };
        let mut place = graph.nodes;
        while place > 0 {
            place -= 1;
            let node = graph.words[graph.order + place] as usize;
            if graph.loops > 0 {
                let merged = graph.merged_in(node);
                if merged != 0 {
                    place = self.play_heads(merged, arrival);
                    continue;
                }
            }
            self.play_node(node, arrival);
        }
    }

    /// A loop with several heads: how its token may go from one to the other. Gives the place of the first.
    const fn play_heads(&mut self, merged: usize, arrival: EdgeIx) -> usize {
        let (first, end) = self.graph.heads(merged);
        let mut place = first;
        while place < end {
            let node = self.graph.at(place);
            self.avoids[node] = 0;
            self.reaches[node] = 0;
            place += 1;
        }
        loop {
            let mut has_changed = false;
            let mut place = first;
            while place < end {
                let node = self.graph.at(place);
                let before = (self.avoids[node], self.reaches[node]);
                self.play_node(node, arrival);
                self.pass_on(node, before.1 & self.is_around[merged]);
                has_changed |= before.0 != self.avoids[node] || before.1 != self.reaches[node];
                place += 1;
            }
            if !has_changed {
                return first;
            }
        }
    }

    /// A head passes the token on in a turn before that of the target.
    const fn pass_on(&mut self, node: NodeIx, already: u128) {
        let mut passed = already;
        let mut choice = self.graph.first_choice(node);
        while choice < self.graph.first_choice(node + 1) {
            passed |= self.passed_on(node, choice);
            choice += 1;
        }
        self.reaches[node] |= passed;
        self.avoids[node] |= passed;
    }

    /// Whether the key stays unwritten if a head passes the token on by a choice.
    pub(super) const fn passed_on(&self, node: NodeIx, choice: usize) -> u128 {
        let merged = self.graph.merged_in(node);
        let mut passed = 0;
        let mut at = self.graph.first_taken(choice);
        while at < self.graph.first_taken(choice + 1) {
            let edge = self.graph.taken(at);
            if merged != 0 && self.graph.back(edge) == merged {
                passed |= self.reaches[self.graph.to(edge)] & self.is_around[merged];
            }
            at += 1;
        }
        if self.graph.is_failure(choice) { passed } else { passed & !self.writes[node] }
    }

    const fn play_node(&mut self, node: NodeIx, arrival: EdgeIx) {
        let graph = self.graph;
        let is_simple = self.is_simple;
        let (mut avoids, mut reaches, mut leads) = (0, 0, 0);
        let row = HEADER + NODE * node;
        let mut choice = graph.choices + 2 * graph.words[row] as usize;
        let end = graph.choices + 2 * graph.words[row + NODE] as usize;
        let written = self.writes[node];
        let counted = if is_simple { written } else { written & self.counts[node] };
        while choice < end {
            let mut at = graph.taken + TAKEN * graph.words[choice] as usize;
            let at_end = graph.taken + TAKEN * graph.words[choice + 2] as usize;
            let (mut all, mut some) = (u128::MAX, 0);
            while at < at_end {
                let to = graph.words[at + 1] as usize;
                let back = graph.words[at + 2] as usize;
                if back != 0 {
                    let later = self.is_around[back];
                    if graph.has_many_heads(back) {
                        all &= self.avoids[to] | later;
                        some |= self.reaches[to] & !later;
                    } else {
                        all &= later;
                    }
                } else if graph.words[at] as usize == arrival {
                    some = u128::MAX;
                } else {
                    all &= self.avoids[to];
                    some |= self.reaches[to];
                }
                leads |= self.leads[to];
                at += TAKEN;
            }
            if graph.words[choice + 1] != 0 {
                avoids |= all;
                reaches |= all & some;
            } else {
                avoids |= all & !counted;
                reaches |= all & some & !written;
            }
            choice += 2;
        }
        let targets = self.is_target[node];
        if is_simple {
            self.leads[node] = leads | targets;
        }
        self.avoids[node] = avoids | targets | !self.leads[node];
        self.reaches[node] = reaches | targets;
    }

    /// Whether the key stays unwritten if a node takes a choice; and whether that leads on to the target as well.
    pub(super) const fn outcome(&self, node: NodeIx, choice: usize) -> (u128, u128) {
        let (mut all, mut some) = (u128::MAX, 0);
        let mut at = self.graph.first_taken(choice);
        while at < self.graph.first_taken(choice + 1) {
            let edge = self.graph.taken(at);
            let (to, back) = (self.graph.to(edge), self.graph.back(edge));
            let later = self.is_around[back];
            if back == 0 || self.graph.has_many_heads(back) {
                all &= self.avoids[to] | later;
                some |= self.reaches[to] & !later;
            } else {
                all &= later;
            }
            at += 1;
        }
        let written = self.writes[node];
        let counted = if self.is_simple { written } else { written & self.counts[node] };
        if self.graph.is_failure(choice) { (all, all & some) } else { (all & !counted, all & some & !written) }
    }
}
