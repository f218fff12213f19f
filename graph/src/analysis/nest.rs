//! Takes the loops of a graph apart, until each turn of each of them is acyclic.
//!
//! A loop is a strongly connected component. Entered at one node, its head, it may hold loops of its own: those that
//! are left when the edges back to the head are cut. Entered at several, it holds one token, every step is a turn, and
//! it is one vertex with the choices of all its members.

use super::components::{Marks, components};
use super::net::Net;
use crate::model::{EdgeIx, NodeIx, START, Way};
use crate::plan::LoopIx;
use crate::problem::Problem;

/// The loops of a graph, and the acyclic graph that is left without the edges that lead back.
pub(super) struct Nest {
    /// Each loop after the loops that are around it, and before those that can be reached from it.
    pub(super) knots: Vec<Knot>,
    pub(super) back: Vec<Option<LoopIx>>,
    pub(super) innermost: Vec<Option<LoopIx>>,
    /// The vertex of each node: itself, or the first member of its loop if that is one vertex.
    pub(super) vertex: Vec<NodeIx>,
    /// The choices of each vertex.
    pub(super) arms: Vec<Vec<Arm>>,
    /// The edges into each vertex, without those that lead back.
    pub(super) into: Vec<Vec<EdgeIx>>,
    /// The vertices, each after all that lead to it.
    pub(super) order: Vec<NodeIx>,
    /// The place of each node's vertex in the order.
    pub(super) place: Vec<usize>,
}

/// A loop.
pub(super) struct Knot {
    pub(super) parent: Option<LoopIx>,
    /// Where it is entered.
    pub(super) heads: Vec<NodeIx>,
    /// Its nodes and those of the loops inside.
    pub(super) nodes: Vec<NodeIx>,
}

/// One choice of a node in a vertex.
#[derive(Clone)]
pub(super) struct Arm {
    pub(super) node: NodeIx,
    pub(super) choice: usize,
    pub(super) edges: Vec<EdgeIx>,
}

pub(super) fn take_apart(net: &Net<'_>, problems: &mut Vec<Problem>) -> Nest {
    let count = net.choices.len();
    let mut nest = Nest {
        knots: Vec::new(),
        back: vec![None; net.edges.len()],
        innermost: vec![None; count],
        vertex: net.nodes().collect(),
        arms: net.nodes().map(|node| arms(net, node)).collect(),
        into: Vec::new(),
        order: Vec::new(),
        place: vec![0; count],
    };
    let mut marks = Marks::new(count);
    let reachable: Vec<NodeIx> = net.nodes().filter(|node| net.reachable[*node]).collect();
    let mut open: Vec<(Option<LoopIx>, Vec<NodeIx>)> = Vec::new();
    open.extend(nest.loops_among(net, &reachable, None, &mut marks).into_iter().map(|nodes| (None, nodes)));
    while let Some((parent, mut nodes)) = open.pop() {
        nodes.sort_unstable();
        let knot = nest.knots.len();
        for node in &nodes {
            nest.innermost[*node] = Some(knot);
        }
        let outside = |nest: &Nest, edge: &EdgeIx| nest.innermost[net.edges[*edge].from] != Some(knot);
        let entered = |node: &NodeIx| *node == START || net.into[*node].iter().any(|edge| outside(&nest, edge));
        let heads: Vec<NodeIx> = nodes.iter().copied().filter(entered).collect();
        if let [head] = heads[..] {
            nest.cut_back(net, knot, head, problems);
            let inside = nest.loops_among(net, &nodes, Some(knot), &mut marks);
            open.extend(inside.into_iter().map(|nodes| (Some(knot), nodes)));
        } else {
            nest.merge(net, knot, &nodes, &heads, problems);
        }
        nest.knots.push(Knot { parent, heads, nodes });
    }
    nest.sort(net);
    nest
}

fn arms(net: &Net<'_>, node: NodeIx) -> Vec<Arm> {
    let arm = |(choice, edges)| Arm { node, choice, edges: net.live(edges).collect() };
    net.choices[node].iter().enumerate().map(arm).collect()
}

impl Nest {
    /// The components of some nodes that are loops, those that lead to no other first.
    fn loops_among(
        &self,
        net: &Net<'_>,
        nodes: &[NodeIx],
        knot: Option<LoopIx>,
        marks: &mut Marks,
    ) -> Vec<Vec<NodeIx>> {
        let within = |node: NodeIx| net.reachable[node] && self.innermost[node] == knot;
        let forward = |edge: &&EdgeIx| knot.is_none() || self.back[**edge] != knot;
        // An edge that leads back is passed over as if it led outside.
        let next = |node: NodeIx, at: usize| {
            let edge = net.out[node].get(at)?;
            Some(if forward(&edge) { net.edges[*edge].to } else { PASS })
        };
        let mut found = components(nodes, |node| node != PASS && within(node), next, marks);
        let goes_round = |node: NodeIx| net.out[node].iter().filter(forward).any(|edge| net.edges[*edge].to == node);
        found.retain(|nodes| nodes.len() > 1 || nodes.iter().any(|node| goes_round(*node)));
        found
    }

    /// The loop of a vertex, if the vertex is a whole loop.
    pub(super) fn merged_at(&self, vertex: NodeIx) -> Option<LoopIx> {
        self.innermost[vertex].filter(|knot| {
            let Knot { heads, nodes, .. } = &self.knots[*knot];
            heads.len() > 1 && nodes[0] == vertex
        })
    }

    pub(super) fn outermost(&self, knot: LoopIx) -> LoopIx {
        let mut at = knot;
        while let Some(parent) = self.knots[at].parent {
            at = parent;
        }
        at
    }

    /// A loop with one head: the edges inside that lead to it begin its turns.
    fn cut_back(&mut self, net: &Net<'_>, knot: LoopIx, head: NodeIx, problems: &mut Vec<Problem>) {
        for edge in &net.into[head] {
            if self.innermost[net.edges[*edge].from] == Some(knot) {
                self.back[*edge] = Some(knot);
            }
        }
        for way in net.ways[head] {
            let counting = || way.edges().filter(|edge| net.counts[*edge]);
            let back = counting().find(|edge| self.back[*edge] == Some(knot));
            let outside = counting().find(|edge| self.back[*edge] != Some(knot));
            if let (Some(back), Some(outside)) = (back, outside) {
                problems.push(Problem::MixedJoin { node: head, back, outside });
            }
        }
    }

    /// A loop with several heads: every edge inside begins a turn, and all of it becomes one vertex.
    fn merge(&mut self, net: &Net<'_>, knot: LoopIx, nodes: &[NodeIx], heads: &[NodeIx], problems: &mut Vec<Problem>) {
        let inside = |nest: &Nest, edge: EdgeIx| {
            nest.innermost[net.edges[edge].from] == Some(knot) && nest.innermost[net.edges[edge].to] == Some(knot)
        };
        let mut arms = Vec::new();
        for node in nodes.iter().copied() {
            for way in net.ways[node].iter().filter(|way| !matches!(way, Way::Plain(_))) {
                if let Some(edge) = way.edges().find(|edge| net.counts[*edge] && inside(self, *edge)) {
                    problems.push(Problem::JoinInHandOver { node, edge, heads: heads.to_vec() });
                }
            }
            let two_tokens = net.choices[node].iter().find_map(|choice| {
                let mut inner = net.live(choice).filter(|edge| inside(self, *edge));
                inner.next().zip(inner.next())
            });
            if let Some((first, second)) = two_tokens {
                problems.push(Problem::TwoTokens { node, first, second, heads: heads.to_vec() });
            }
            for edge in net.out[node].iter().copied() {
                if inside(self, edge) {
                    self.back[edge] = Some(knot);
                }
            }
            self.vertex[node] = nodes[0];
            arms.append(&mut self.arms[node]);
        }
        self.arms[nodes[0]] = arms;
    }

    /// Sorts the vertices, in the order of Kahn ("Topological sorting of large networks", 1962).
    fn sort(&mut self, net: &Net<'_>) {
        self.into = vec![Vec::new(); net.choices.len()];
        for node in net.nodes() {
            let forward = net.into[node].iter().copied().filter(|edge| self.back[*edge].is_none());
            self.into[self.vertex[node]].extend(forward);
        }
        let mut missing: Vec<usize> = self.into.iter().map(Vec::len).collect();
        self.order = net
            .nodes()
            .filter(|node| net.reachable[*node] && self.vertex[*node] == *node && missing[*node] == 0)
            .collect();
        let mut behind: Vec<Vec<NodeIx>> = vec![Vec::new(); net.choices.len()];
        for (vertex, into) in self.into.iter().enumerate() {
            for edge in into {
                behind[self.vertex[net.edges[*edge].from]].push(vertex);
            }
        }
        let mut at = 0;
        while let Some(vertex) = self.order.get(at).copied() {
            self.place[vertex] = at;
            for next in &behind[vertex] {
                missing[*next] -= 1;
                if missing[*next] == 0 {
                    self.order.push(*next);
                }
            }
            at += 1;
        }
        for node in net.nodes() {
            self.place[node] = self.place[self.vertex[node]];
        }
    }
}

/// No node.
const PASS: NodeIx = NodeIx::MAX;
