//! Proves the turns of each loop from the inside out, and at last the one turn that the whole graph is.

use super::closing::{self, Detail};
use super::nest::{Knot, Nest};
use super::net::Net;
use super::pairs::{EdgeSet, Pairs};
use super::presence::{Places, presence};
use super::{output, sides};
use crate::model::{END, EdgeIx, NodeIx, START, Way};
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
            // All that leaves a loop which goes on for ever seems to stand on its side.
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

    /// Checks the ways into each vertex that runs in this turn, and into the head of the turn that comes after it.
    fn check_ways(&mut self, root: NodeIx, knot: Option<LoopIx>, problems: &mut Vec<Problem>) {
        let mut joins: Vec<(NodeIx, usize, Places)> = Vec::new();
        let of_next_turn = knot.map(|_| root);
        let live: Vec<NodeIx> = self.pairs.live().filter(|vertex| *vertex != root).chain(of_next_turn).collect();
        for vertex in live {
            let here = |edge: &EdgeIx| {
                self.pairs.can_be_live(*edge) && self.nest.back[*edge] == if vertex == root { knot } else { None }
            };
            let merged = self.nest.merged_at(vertex);
            // The steps of a loop that holds one token are told apart by its router, not by a turn's choices.
            let members = match merged {
                Some(_) if vertex == root => &[],
                Some(knot) => self.nest.knots[knot].nodes.as_slice(),
                None => std::slice::from_ref(&vertex),
            };
            let mut before = EdgeSet::default();
            let mut twice = None;
            for node in members.iter().copied() {
                for (at, way) in self.net.ways[node].iter().enumerate() {
                    let places: Places = match way {
                        Way::Plain(edge) => vec![vec![*edge]],
                        Way::All(places) => places.clone(),
                        Way::Any(edges) => edges.iter().map(|edge| vec![*edge]).collect(),
                    };
                    let places: Places =
                        places.into_iter().map(|place| place.into_iter().filter(here).collect()).collect();
                    let ways = || places.iter().flatten().copied();
                    if twice.is_none() {
                        twice = ways().find_map(|edge| Some((self.pairs.partner(edge, &before)?, edge)));
                    }
                    ways().for_each(|edge| before.add(&self.pairs, edge));
                    if places.len() > 1 {
                        if twice.is_none() {
                            twice = places.iter().find_map(|place| self.first_pair(place));
                        }
                        if matches!(way, Way::All(_)) && self.meet(&places) {
                            joins.push((node, at, places));
                        }
                    } else if twice.is_none() && ways().nth(1).is_some() {
                        twice = places.iter().find_map(|place| self.first_pair(place));
                    }
                }
            }
            if let Some((first, second)) = twice {
                problems.push(self.twice(vertex, merged, first, second));
            }
        }
        if joins.is_empty() {
            return;
        }
        let places: Vec<Places> = joins.iter_mut().map(|(.., places)| std::mem::take(places)).collect();
        let presences = presence(self.net, &self.nest, &self.pairs, root, &places);
        for ((node, way, _), presences) in joins.into_iter().zip(presences) {
            self.arrivals[node][way] = Arrival::Places(presences);
        }
    }

    fn first_pair(&self, edges: &[EdgeIx]) -> Option<(EdgeIx, EdgeIx)> {
        let mut before = EdgeSet::default();
        edges.iter().find_map(|edge| {
            let partner = self.pairs.partner(*edge, &before);
            before.add(&self.pairs, *edge);
            Some((partner?, *edge))
        })
    }

    /// Whether two places of a join can ever hold a value in the same turn.
    fn meet(&self, places: &Places) -> bool {
        let mut before = EdgeSet::default();
        places.iter().any(|place| {
            let meets = place.iter().any(|edge| self.pairs.partner(*edge, &before).is_some());
            place.iter().for_each(|edge| before.add(&self.pairs, *edge));
            meets
        })
    }

    fn twice(&self, vertex: NodeIx, merged: Option<LoopIx>, first: EdgeIx, second: EdgeIx) -> Problem {
        let when = self.pairs.route(self.net, &self.nest, first, second);
        let (node, other) = (self.net.edges[second].to, self.net.edges[first].to);
        match merged {
            Some(knot) if node != other => {
                Problem::EnteredTwice { heads: self.nest.knots[knot].heads.clone(), first, second, when }
            }
            _ if vertex == END => Problem::SeveralOutputs { first, second, when },
            _ => Problem::RunsTwice { node, first, second, when },
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
