//! The result of the analysis of a sound graph, which an engine needs in order to run it.

use crate::model::{EdgeIx, Graph, NodeIx};

/// The place of a loop in [`Plan::loops`].
pub type LoopIx = usize;

/// A proven graph's loops and joins. Indices are those of the [`Graph`](crate::Graph) it was made from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// The loops, an outer one always before those inside it.
    pub loops: Vec<Loop>,
    /// For each node the innermost loop whose turns it runs in, a branch on the side of that loop included. `None` for
    /// a node that runs at most once. START and END are never in a loop.
    pub node_loop: Vec<Option<LoopIx>>,
    /// For each edge, the loop whose next turn it begins: `Some` for the edges that lead back to a head.
    pub back: Vec<Option<LoopIx>>,
    /// For each node and each of its ways in, the values that arrive there.
    pub arrivals: Vec<Vec<Arrival>>,
}

/// A loop, whose members run once for each turn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Loop {
    /// The loop around this one.
    pub parent: Option<LoopIx>,
    /// Where each turn begins. A loop that is entered at one node has that one head, and the edges inside that lead to
    /// it are its [back edges](Plan::back). A loop that is entered at several nodes holds one token: each step is a
    /// turn, in which exactly one of its nodes runs and the others are skipped. Since any of them may begin a turn, all
    /// of them are heads, in the order in which they were named, and every edge between them leads back.
    pub heads: Vec<NodeIx>,
    /// The nodes whose innermost loop this is, in a topological order in which edges that lead back do not count: its
    /// heads, its body, and the branches on its side, which leave the loop in a turn that another may follow. Nodes of
    /// the loops inside, and of those on its side, are members of those.
    pub members: Vec<NodeIx>,
}

/// The values that a way into a node passes on when it fires.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Arrival {
    /// One value: a plain edge, the arrivals at a collecting node, or a group of which never more than
    /// one place holds a value in one turn.
    One,
    /// A value for each place, in order.
    Places(Vec<Presence>),
}

/// Whether a place of a join holds a value whenever the join fires.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Presence {
    /// Always: the join sees a plain `T`.
    Always,
    /// A route may skip it: the join sees an `Option<T>`.
    MayBeSkipped,
}

impl Plan {
    /// The loops around a node, the innermost first.
    pub fn loops_around(&self, node: NodeIx) -> impl Iterator<Item = LoopIx> + '_ {
        std::iter::successors(self.node_loop[node], |at| self.loops[*at].parent)
    }

    /// How many loops there are around a loop.
    pub fn level(&self, at: LoopIx) -> usize {
        std::iter::successors(self.loops[at].parent, |at| self.loops[*at].parent).count()
    }

    /// The loop that a choice of a node leads round again: the innermost around the node of which one of the choice's
    /// edges begins the next turn, at once or after further nodes. `None` if all of them lead out, or to the side.
    pub fn turned<Id>(&self, graph: &Graph<Id>, node: NodeIx, choice: usize) -> Option<LoopIx> {
        let edges = &graph.nodes[node].choices[choice].edges;
        self.loops_around(node).find(|at| edges.iter().any(|edge| self.leads_on(graph, *edge, *at)))
    }

    /// Whether a path that begins with an edge begins another turn of a loop.
    fn leads_on<Id>(&self, graph: &Graph<Id>, edge: EdgeIx, at: LoopIx) -> bool {
        let mut seen = vec![false; graph.nodes.len()];
        let mut open = vec![edge];
        while let Some(edge) = open.pop() {
            if self.back[edge] == Some(at) {
                return true;
            }
            let to = graph.edges[edge].to;
            let is_inside = self.loops_around(to).any(|around| around == at);
            if is_inside && !std::mem::replace(&mut seen[to], true) {
                open.extend(graph.nodes[to].choices.iter().flat_map(|choice| choice.edges.iter().copied()));
            }
        }
        false
    }

    /// Whether an edge leads back to the head of a loop.
    pub fn leads_back(&self, edge: EdgeIx) -> bool {
        self.back[edge].is_some()
    }
}
