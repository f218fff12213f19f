//! Proves the turns of each loop from the inside out, and at last the one turn that the whole graph is.

use super::closing::{self, Detail};
use super::nest::{Knot, Nest};
use super::net::Net;
use super::pairs::Pairs;
use super::ways::Turn;
use super::{output, sides};
use crate::model::{NodeIx, START};
use crate::plan::{Arrival, Loop, LoopIx, Plan};
use crate::problem::Problem;

/// Gives the plan, which holds if no problem is reported. `endless` are the nodes of loops that cannot be left.
pub(super) fn prove(net: &Net<'_>, nest: Nest, detail: Detail, endless: &[bool], problems: &mut Vec<Problem>) -> Plan {
    let arrivals = net.ways.iter().map(|ways| vec![Arrival::One; ways.len()]).collect();
    let mut scopes = Scopes { net, nest, detail, endless, pairs: Pairs::new(net.edges.len()), arrivals };
    for knot in (0..scopes.nest.knots.len()).rev() {
        scopes.prove_loop(knot, problems);
    }
    let vertices = scopes.nest.order.clone();
    scopes.pairs.find(&scopes.nest, START, &vertices);
    scopes.check_ways(START, None, problems);
    output::check(net, &scopes.nest, problems);
    scopes.plan()
}

struct Scopes<'a, 'g> {
    net: &'a Net<'g>,
    nest: Nest,
    detail: Detail,
    endless: &'a [bool],
    pairs: Pairs,
    arrivals: Vec<Vec<Arrival>>,
}

impl Scopes<'_, '_> {
    fn prove_loop(&mut self, knot: LoopIx, problems: &mut Vec<Problem>) {
        let Knot { heads, nodes, .. } = &self.nest.knots[knot];
        let Some(head) = heads.first().or(nodes.first()) else { return };
        let head = self.nest.vertex[*head];
        let mut vertices: Vec<NodeIx> = nodes.iter().copied().filter(|node| self.nest.vertex[*node] == *node).collect();
        vertices.sort_unstable_by_key(|vertex| self.nest.place[*vertex]);
        self.pairs.find(&self.nest, head, &vertices);
        let reported = problems.len();
        let side_nodes = sides::find(self.net, &self.nest, &self.pairs, knot, problems);
        if nodes.iter().any(|node| self.endless[*node]) {
            // Every edge out of an endless loop looks like one to its side.
            problems.truncate(reported);
        }
        if !side_nodes.is_empty() {
            sides::adopt(&mut self.nest, knot, &side_nodes);
            vertices.extend(side_nodes.iter().copied().filter(|node| self.nest.vertex[*node] == *node));
            vertices.sort_unstable_by_key(|vertex| self.nest.place[*vertex]);
            vertices.dedup();
            self.pairs.find(&self.nest, head, &vertices);
        }
        self.check_ways(head, Some(knot), problems);
        closing::close(self.net, &mut self.nest, &self.pairs, head, knot, &side_nodes, self.detail);
    }

    fn check_ways(&mut self, root: NodeIx, knot: Option<LoopIx>, problems: &mut Vec<Problem>) {
        let turn = Turn { net: self.net, nest: &self.nest, pairs: &self.pairs, root, knot };
        for (node, way, presences) in turn.check(problems) {
            self.arrivals[node][way] = Arrival::Places(presences);
        }
    }

    fn plan(self) -> Plan {
        let Nest { knots, back, innermost, place, .. } = self.nest;
        let mut in_order: Vec<NodeIx> = self.net.nodes().filter(|node| innermost[*node].is_some()).collect();
        in_order.sort_by_key(|node| place[*node]);
        let mut loops: Vec<Loop> = knots
            .into_iter()
            .map(|Knot { parent, heads, nodes }| {
                let merged = heads.len() > 1;
                Loop { parent, heads: if merged { nodes } else { heads }, members: Vec::new() }
            })
            .collect();
        for node in in_order {
            if let Some(at) = innermost[node] {
                loops[at].members.push(node);
            }
        }
        Plan { loops, node_loop: innermost, back, arrivals: self.arrivals }
    }
}
