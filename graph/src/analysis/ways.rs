//! The ways into each node of a turn: at most one of them fires, and no place of a join is given two values.

use super::nest::Nest;
use super::net::Net;
use super::pairs::{EdgeSet, Pairs};
use super::presence::{Places, presence};
use crate::model::{END, EdgeIx, NodeIx, Way};
use crate::plan::{LoopIx, Presence};
use crate::problem::Problem;

/// One turn of a loop, or the one turn that a whole graph is.
pub(super) struct Turn<'a> {
    pub(super) net: &'a Net<'a>,
    pub(super) nest: &'a Nest,
    pub(super) pairs: &'a Pairs,
    pub(super) root: NodeIx,
    pub(super) knot: Option<LoopIx>,
}

/// A way into a node, by its place among them.
type WayIx = usize;

impl Turn<'_> {
    /// Checks the ways into each vertex that runs in this turn, and those by which the turn after it begins. Returns
    /// the presence of values for each join that can get more than one.
    pub(super) fn check(&self, problems: &mut Vec<Problem>) -> Vec<(NodeIx, WayIx, Vec<Presence>)> {
        let mut joins: Vec<(NodeIx, WayIx)> = Vec::new();
        let mut joined: Vec<Places> = Vec::new();
        let vertices = self.pairs.live().filter(|vertex| *vertex != self.root);
        for vertex in vertices.chain(self.knot.map(|_| self.root)) {
            let mut before = EdgeSet::default();
            let mut twice = None;
            for node in self.members(&vertex).iter().copied() {
                for (at, way) in self.net.ways[node].iter().enumerate() {
                    let places = self.places(vertex, way);
                    twice = (twice.or_else(|| self.first_pair(&before, places.iter().flatten())))
                        .or_else(|| places.iter().find_map(|place| self.pair_among(place)));
                    places.iter().flatten().for_each(|edge| before.add(self.pairs, *edge));
                    if matches!(way, Way::All(_)) && self.meet(&places) {
                        joins.push((node, at));
                        joined.push(places);
                    }
                }
            }
            problems.extend(twice.map(|(first, second)| self.problem(vertex, first, second)));
        }
        if joins.is_empty() {
            return Vec::new();
        }
        let presences = presence(self.net, self.nest, self.pairs, self.root, &joined);
        joins.into_iter().zip(presences).map(|((node, way), presences)| (node, way, presences)).collect()
    }

    /// The nodes of a vertex at which it is entered in this turn.
    fn members<'a>(&'a self, vertex: &'a NodeIx) -> &'a [NodeIx] {
        match self.nest.merged_at(*vertex) {
            // It holds one token from step to step, since no choice sends two.
            Some(_) if *vertex == self.root => &[],
            Some(knot) => &self.nest.knots[knot].nodes,
            None => std::slice::from_ref(vertex),
        }
    }

    /// The places of a way in, with the edges that can be live in this turn.
    fn places(&self, vertex: NodeIx, way: &Way) -> Places {
        let back = if vertex == self.root { self.knot } else { None };
        let here = |edge: &EdgeIx| self.pairs.can_be_live(*edge) && self.nest.back[*edge] == back;
        let one = |edge: &EdgeIx| Some(*edge).filter(here).into_iter().collect();
        match way {
            Way::Plain(edge) => vec![one(edge)],
            Way::All(places) => places.iter().map(|place| place.iter().copied().filter(here).collect()).collect(),
            Way::Any(edges) => edges.iter().map(one).collect(),
        }
    }

    fn first_pair<'a>(
        &self,
        before: &EdgeSet,
        edges: impl IntoIterator<Item = &'a EdgeIx>,
    ) -> Option<(EdgeIx, EdgeIx)> {
        edges.into_iter().find_map(|edge| Some((self.pairs.partner(*edge, before)?, *edge)))
    }

    fn pair_among(&self, edges: &[EdgeIx]) -> Option<(EdgeIx, EdgeIx)> {
        let mut pairs =
            edges.iter().enumerate().flat_map(|(at, second)| edges[..at].iter().map(move |first| (*first, *second)));
        pairs.find(|(first, second)| self.pairs.together(*first, *second))
    }

    /// Whether two places of a join can ever hold a value in the same turn.
    fn meet(&self, places: &Places) -> bool {
        let mut before = EdgeSet::default();
        places.iter().any(|place| {
            let meets = self.first_pair(&before, place).is_some();
            place.iter().for_each(|edge| before.add(self.pairs, *edge));
            meets
        })
    }

    fn problem(&self, vertex: NodeIx, first: EdgeIx, second: EdgeIx) -> Problem {
        let when = self.pairs.route(self.net, self.nest, first, second);
        let node = self.net.edges[second].to;
        match self.nest.merged_at(vertex) {
            Some(knot) if node != self.net.edges[first].to => {
                Problem::EnteredTwice { heads: self.nest.knots[knot].heads.clone(), first, second, when }
            }
            _ if vertex == END => Problem::SeveralOutputs { first, second, when },
            _ => Problem::RunsTwice { node, first, second, when },
        }
    }
}
