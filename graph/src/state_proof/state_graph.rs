//! A proven graph as numbers, which a constant can hold and a `const fn` can read.

use crate::model::{EdgeIx, Graph, NodeIx, Way};
use crate::plan::{LoopIx, Plan};

/// A graph as numbers, as [`encode`](Self::encode) writes them.
///
/// ```text
/// nodes edges loops choices taken, whether a node collects
/// for each node, and once more for the end:  first choice, first edge into it, loop + 1, place, flags
/// the nodes, each after all that lead to it; the heads of a loop with several of them next to each other
/// for each choice, and once more for the end: first taken edge, whether it is a failure
/// for each choice, and each edge that it takes: the edge, where it leads, loop whose next turn it begins + 1
/// for each node the edges into it
/// for each edge: from, to, loop whose next turn it begins + 1
/// for each loop: loop around it + 1, whether it has several heads, place of the first head, place behind the last head
/// ```
///
/// Edges are numbered anew, in the order of where they come from.
#[derive(Clone, Copy, Debug)]
pub struct StateGraph<'g> {
    pub(super) words: &'g [u32],
    pub(super) nodes: usize,
    pub(super) edges: usize,
    pub(super) loops: usize,
    pub(super) has_collecting: bool,
    pub(super) order: usize,
    pub(super) choices: usize,
    pub(super) taken: usize,
    pub(super) into: usize,
    pub(super) ends: usize,
    rings: usize,
}

pub(super) const HEADER: usize = 6;
pub(super) const NODE: usize = 5;
/// The width of a row of `ends`.
pub(super) const ENDS: usize = 3;
/// The width of a row of `taken`.
pub(super) const TAKEN: usize = 3;
const RUNS_FOR_ITEMS: u32 = 1;
const COLLECTS: u32 = 2;

/// Properties of nodes that a [`Graph`] does not contain.
pub trait NodeRoles {
    /// Whether this choice of a node is a failure of it, whose writes are discarded.
    fn is_failure(&self, node: NodeIx, choice: usize) -> bool;
    /// Whether the node runs for several items at once: `[..]`.
    fn runs_for_items(&self, node: NodeIx) -> bool;
}

impl StateGraph<'_> {
    /// Writes a graph as numbers. The plan is that of the same graph.
    pub fn encode<Id>(graph: &Graph<Id>, plan: &Plan, roles: &impl NodeRoles) -> Vec<u32> {
        let order = order(graph, plan);
        let mut place = vec![0; graph.nodes.len()];
        for (at, node) in order.iter().enumerate() {
            place[*node] = at;
        }
        let mut edges: Vec<EdgeIx> = (0..graph.edges.len()).collect();
        edges.sort_by_key(|edge| place[graph.edges[*edge].from]);
        let mut number = vec![0; edges.len()];
        for (at, edge) in edges.iter().enumerate() {
            number[*edge] = at;
        }

        let back = |edge: EdgeIx| plan.back[edge].map_or(0, |at| at + 1);
        let mut nodes = Vec::new();
        let mut choices = Vec::new();
        let mut taken = Vec::new();
        let mut into = Vec::new();
        for (at, node) in graph.nodes.iter().enumerate() {
            let collects = node.ways.iter().any(|way| matches!(way, Way::Any(_)));
            let flags = u32::from(roles.runs_for_items(at)) * RUNS_FOR_ITEMS + u32::from(collects) * COLLECTS;
            let around = plan.node_loop[at].map_or(0, |around| around + 1);
            nodes.extend([choices.len() / 2, into.len(), around, place[at], flags as usize]);
            for (nth, choice) in node.choices.iter().enumerate() {
                choices.extend([taken.len() / TAKEN, usize::from(roles.is_failure(at, nth))]);
                taken.extend(choice.edges.iter().flat_map(|edge| [number[*edge], graph.edges[*edge].to, back(*edge)]));
            }
            into.extend(node.ways.iter().flat_map(Way::edges).map(|edge| number[edge]));
        }
        let count = choices.len() / 2;
        nodes.extend([count, into.len(), 0, 0, 0]);
        choices.extend([taken.len() / TAKEN, 0]);
        let ends = edges.iter().flat_map(|edge| {
            let ends = graph.edges[*edge];
            [ends.from, ends.to, back(*edge)]
        });
        let rings = plan.loops.iter().flat_map(|ring| {
            let places = || ring.heads.iter().map(|head| place[*head]);
            let first = places().min().unwrap_or(0);
            let end = places().max().map_or(0, |last| last + 1);
            [ring.parent.map_or(0, |at| at + 1), usize::from(ring.heads.len() > 1), first, end]
        });
        let has_collecting = graph.nodes.iter().flat_map(|node| &node.ways).any(|way| matches!(way, Way::Any(_)));
        let header =
            [graph.nodes.len(), edges.len(), plan.loops.len(), count, taken.len() / TAKEN, usize::from(has_collecting)];
        let words = header.into_iter().chain(nodes).chain(order).chain(choices).chain(taken).chain(into);
        words.chain(ends).chain(rings).map(|word| u32::try_from(word).unwrap_or(u32::MAX)).collect()
    }
}

/// The nodes, each after all that lead to it within a turn (Kahn, 1962). A loop with several heads is one vertex.
fn order<Id>(graph: &Graph<Id>, plan: &Plan) -> Vec<NodeIx> {
    let vertex: Vec<NodeIx> = (0..graph.nodes.len())
        .map(|node| match plan.node_loop[node].map(|at| &plan.loops[at].heads) {
            Some(heads) if heads.len() > 1 && heads.contains(&node) => heads[0],
            _ => node,
        })
        .collect();
    let forward = || graph.edges.iter().enumerate().filter(|(edge, _)| !plan.leads_back(*edge)).map(|(_, ends)| ends);
    let mut missing = vec![0usize; graph.nodes.len()];
    let mut behind: Vec<Vec<NodeIx>> = vec![Vec::new(); graph.nodes.len()];
    let mut members: Vec<Vec<NodeIx>> = vec![Vec::new(); graph.nodes.len()];
    for (node, vertex) in vertex.iter().enumerate() {
        members[*vertex].push(node);
    }
    for ends in forward() {
        missing[vertex[ends.to]] += 1;
        behind[vertex[ends.from]].push(vertex[ends.to]);
    }
    let mut open: Vec<NodeIx> =
        (0..graph.nodes.len()).filter(|node| vertex[*node] == *node && missing[*node] == 0).collect();
    let mut at = 0;
    while let Some(vertex) = open.get(at).copied() {
        for next in &behind[vertex] {
            missing[*next] -= 1;
            if missing[*next] == 0 {
                open.push(*next);
            }
        }
        at += 1;
    }
    open.iter().flat_map(|vertex| members[*vertex].iter().copied()).collect()
}

impl<'g> StateGraph<'g> {
    /// Reads what [`encode`](Self::encode) has written.
    ///
    /// # Panics
    /// On numbers that are none: those are refused when they are read.
    pub const fn read(words: &'g [u32]) -> Self {
        let [nodes, edges, loops, choices, taken] =
            [words[0] as usize, words[1] as usize, words[2] as usize, words[3] as usize, words[4] as usize];
        let order = HEADER + NODE * (nodes + 1);
        let choice_rows = order + nodes;
        let taken_rows = choice_rows + 2 * (choices + 1);
        let into = taken_rows + TAKEN * taken;
        let ends = into + edges;
        let rings = ends + ENDS * edges;
        StateGraph {
            words,
            nodes,
            edges,
            loops,
            has_collecting: words[5] != 0,
            order,
            choices: choice_rows,
            taken: taken_rows,
            into,
            ends,
            rings,
        }
    }

    /// How many places a table of nodes or of edges needs.
    pub(super) const fn size(&self) -> usize {
        if self.nodes > self.edges { self.nodes } else { self.edges }
    }

    const fn node(&self, node: NodeIx, column: usize) -> usize {
        self.words[HEADER + NODE * node + column] as usize
    }

    pub(super) const fn first_choice(&self, node: NodeIx) -> usize {
        self.node(node, 0)
    }

    pub(super) const fn first_into(&self, node: NodeIx) -> usize {
        self.node(node, 1)
    }

    /// The innermost loop around a node, plus one; 0 for none.
    pub(super) const fn loop_around(&self, node: NodeIx) -> usize {
        self.node(node, 2)
    }

    pub(super) const fn place(&self, node: NodeIx) -> usize {
        self.node(node, 3)
    }

    pub(super) const fn runs_for_items(&self, node: NodeIx) -> bool {
        self.node(node, 4) as u32 & RUNS_FOR_ITEMS != 0
    }

    pub(super) const fn collects(&self, node: NodeIx) -> bool {
        self.node(node, 4) as u32 & COLLECTS != 0
    }

    /// The node at a place of the order.
    pub(super) const fn at(&self, place: usize) -> NodeIx {
        self.words[self.order + place] as usize
    }

    pub(super) const fn first_taken(&self, choice: usize) -> usize {
        self.words[self.choices + 2 * choice] as usize
    }

    pub(super) const fn is_failure(&self, choice: usize) -> bool {
        self.words[self.choices + 2 * choice + 1] != 0
    }

    pub(super) const fn taken(&self, at: usize) -> EdgeIx {
        self.words[self.taken + TAKEN * at] as usize
    }

    /// Whether a choice takes an edge.
    pub(super) const fn takes(&self, choice: usize, edge: EdgeIx) -> bool {
        let mut at = self.first_taken(choice);
        while at < self.first_taken(choice + 1) {
            if self.taken(at) == edge {
                return true;
            }
            at += 1;
        }
        false
    }

    pub(super) const fn edge_into(&self, at: usize) -> EdgeIx {
        self.words[self.into + at] as usize
    }

    pub(super) const fn from(&self, edge: EdgeIx) -> NodeIx {
        self.words[self.ends + ENDS * edge] as usize
    }

    pub(super) const fn to(&self, edge: EdgeIx) -> NodeIx {
        self.words[self.ends + ENDS * edge + 1] as usize
    }

    /// The loop whose next turn an edge begins, plus one; 0 for none.
    pub(super) const fn back(&self, edge: EdgeIx) -> usize {
        self.words[self.ends + ENDS * edge + 2] as usize
    }

    /// The loop around a loop, both plus one.
    pub(super) const fn parent(&self, around: usize) -> usize {
        self.words[self.rings + 4 * (around - 1)] as usize
    }

    pub(super) const fn has_many_heads(&self, around: usize) -> bool {
        self.words[self.rings + 4 * (around - 1) + 1] != 0
    }

    /// The places of a loop's heads.
    pub(super) const fn heads(&self, around: usize) -> (usize, usize) {
        let row = self.rings + 4 * (around - 1);
        (self.words[row + 2] as usize, self.words[row + 3] as usize)
    }

    /// Whether a node runs in the turns of a loop.
    pub(super) const fn is_in(&self, node: NodeIx, around: LoopIx) -> bool {
        let mut at = self.loop_around(node);
        while at != 0 {
            if at == around {
                return true;
            }
            at = self.parent(at);
        }
        false
    }

    /// The innermost loop around both nodes, plus one; 0 for none.
    pub(super) const fn shared_loop(&self, one: NodeIx, other: NodeIx) -> usize {
        let mut around = self.loop_around(one);
        while around != 0 && !self.is_in(other, around) {
            around = self.parent(around);
        }
        around
    }

    /// The loop of which a node is one of several heads, plus one; 0 for none.
    pub(super) const fn merged_in(&self, node: NodeIx) -> usize {
        let around = self.loop_around(node);
        if around != 0 && self.has_many_heads(around) {
            let (first, end) = self.heads(around);
            if first <= self.place(node) && self.place(node) < end {
                return around;
            }
        }
        0
    }

    /// The places of the vertex that a node is or belongs to.
    pub(super) const fn vertex(&self, node: NodeIx) -> (usize, usize) {
        match self.merged_in(node) {
            0 => (self.place(node), self.place(node) + 1),
            merged => self.heads(merged),
        }
    }
}
