//! The model of a workflow graph: nodes, the choices a node can make, edges, and the ways into a node.

/// The place of a node in [`Graph::nodes`].
pub type NodeIx = usize;

/// The place of an edge in [`Graph::edges`].
pub type EdgeIx = usize;

/// The place of START in every graph: it has no way in, and the workflow's input is its output.
pub const START: NodeIx = 0;

/// The place of END in every graph: it has no way out, and the value that reaches it is the workflow's output.
pub const END: NodeIx = 1;

/// A workflow graph. `Id` is whatever the caller calls a node by: a name, an index into its own tables.
///
/// Only the shape is here. The compiler checks types, and whether a label exists.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Graph<Id> {
    /// START, END, and then the nodes of the graph in the order in which they were first named.
    pub nodes: Vec<NodeData<Id>>,
    /// Every edge once. An edge that several labels of one node take is one edge in several choices.
    pub edges: Vec<Edge>,
}

/// One node and everything that is attached to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeData<Id> {
    /// The caller's id of this node.
    pub id: Id,
    /// The ways on when the node has finished, of which it takes exactly one. Never empty: a node without routes has a
    /// single choice that holds all of its edges, and a terminal node a single choice that holds none.
    pub choices: Vec<Choice>,
    /// The ways in. Empty for START; a node without any cannot be reached.
    pub ways: Vec<Way>,
}

/// The edges that go live together when a node takes one arm of its route map (its plain edges among them).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Choice {
    /// The edges, each once, in the order in which they were written.
    pub edges: Vec<EdgeIx>,
}

/// A connection from one node to one way into another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Edge {
    /// Where the token comes from.
    pub from: NodeIx,
    /// Where it goes; it is in exactly one of that node's [ways](NodeData::ways).
    pub to: NodeIx,
}

/// A way into a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Way {
    /// `a => d`: a live token fires the node.
    Plain(EdgeIx),
    /// `(a, b) => d`: fires when every edge has a token and at least one of them is live. Each place is fed by one
    /// edge, or by several that exclude each other.
    All(Vec<Vec<EdgeIx>>),
    /// `a | b => d`: a collecting node, which runs for each live token until it yields an output. It has no other way
    /// in. For what may happen it is an [`All`](Way::All) that may fire early: it fires if anything arrives.
    Any(Vec<EdgeIx>),
}

impl Way {
    /// Every edge of this way in, in the order in which they were written.
    pub fn edges(&self) -> impl Iterator<Item = EdgeIx> + '_ {
        let (plain, places, any): (Option<EdgeIx>, &[Vec<EdgeIx>], &[EdgeIx]) = match self {
            Way::Plain(edge) => (Some(*edge), &[], &[]),
            Way::All(places) => (None, places, &[]),
            Way::Any(edges) => (None, &[], edges),
        };
        plain.into_iter().chain(places.iter().flatten().copied()).chain(any.iter().copied())
    }
}

impl<Id> Graph<Id> {
    /// A graph of START and END alone.
    pub fn new(start: Id, end: Id) -> Self {
        let node = |id| NodeData { id, choices: vec![Choice::default()], ways: Vec::new() };
        Graph { nodes: vec![node(start), node(end)], edges: Vec::new() }
    }

    /// Adds a node with a single, empty choice and no way in.
    pub fn add_node(&mut self, id: Id) -> NodeIx {
        self.nodes.push(NodeData { id, choices: vec![Choice::default()], ways: Vec::new() });
        self.nodes.len() - 1
    }

    /// Adds an edge to the table; the caller puts it into a choice of `from` and a way of `to`.
    pub fn add_edge(&mut self, from: NodeIx, to: NodeIx) -> EdgeIx {
        self.edges.push(Edge { from, to });
        self.edges.len() - 1
    }

    /// Adds a plain edge that `from` takes whatever it chooses.
    pub fn connect(&mut self, from: NodeIx, to: NodeIx) -> EdgeIx {
        let edge = self.add_edge(from, to);
        for choice in &mut self.nodes[from].choices {
            choice.edges.push(edge);
        }
        self.nodes[to].ways.push(Way::Plain(edge));
        edge
    }
}
