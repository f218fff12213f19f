//! The graph of a workflow as data: for pictures, user interfaces and custom checks.

use std::any::TypeId;
use std::collections::{BTreeMap, HashSet};

use graphweft_graph::picture::{Picture, PictureKind, PictureNode, labelled};
use graphweft_graph::{Arrival, END, NodeIx, Presence, START, Way};
use schemars::Schema;
use serde::{Deserialize, Serialize};

use crate::fingerprint::position_of_label;
use crate::node_info::NodeInfo;
use crate::table::{Definition, Entry, ScopeKind};

/// The graph of a workflow, as written, with the results of its analysis.
///
/// ```
/// use graphweft::prelude::*;
///
/// #[node]
/// async fn greet(name: String) -> String {
///     format!("Hello, {name}!")
/// }
///
/// workflow! {
///     pub hello(String) -> String { START => greet; }
/// }
///
/// let graph = hello::graph();
/// assert_eq!(graph.nodes[2].name, "greet");
/// assert!(graph.to_mermaid().contains("greet"));
/// let _json = serde_json::to_string(&graph)?;
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Graph {
    /// The name of the workflow.
    pub name: String,
    /// Its doc comment.
    pub doc: String,
    /// The JSON Schema of its input.
    pub input: Schema,
    /// The JSON Schema of its output.
    pub output: Schema,
    /// START, END, and the nodes in the order in which they were first written.
    pub nodes: Vec<GraphNode>,
    /// The edges. An edge of several labels is listed once.
    pub edges: Vec<GraphEdge>,
    /// The loops, an outer one before those inside it.
    pub loops: Vec<GraphLoop>,
    /// Whether the workflow has no output. END then has an implied edge from START, which pictures leave out.
    pub is_unit: bool,
}

/// The graph of a workflow with those of the workflows in it.
///
/// A page of pictures, one for the workflow and one for each that it contains:
///
/// ```
/// use graphweft::prelude::*;
///
/// # #[node] async fn pack(order: u32) -> u32 { order }
/// workflow! { pub deliver(u32) -> u32 { START => pack; } }
/// workflow! { pub checkout(u32) -> u32 { START => deliver; } }
///
/// let engine = Engine::builder().register::<checkout>().build()?;
/// let graphs = engine.graph("checkout").expect("it is registered");
/// let pictures: Vec<String> = std::iter::once(&graphs.graph).chain(&graphs.nested).map(|graph| graph.to_svg()).collect();
/// assert_eq!(pictures.len(), 2);
/// assert_eq!(graphs.nested[0].name, "deliver");
/// # Ok::<(), graphweft::BuildError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Graphs {
    /// The graph of the workflow.
    pub graph: Graph,
    /// The graphs of the workflows that are nodes in it or in each other, each once, by
    /// [`GraphNodeKind::Workflow`].
    pub nested: Vec<Graph>,
}

/// A node of a [`Graph`].
///
/// A table of what the nodes of a workflow do, from their doc comments:
///
/// ```
/// use graphweft::prelude::*;
///
/// /// Charges the card.
/// #[node]
/// async fn charge(cents: u32) -> Result<u32, String> { Ok(cents) }
/// /// Writes to the customer.
/// #[node]
/// async fn notify(why: String) -> u32 { why.len() as u32 }
/// workflow! { pub pay(u32) -> u32 { START => charge => <ok: END, err: notify>; notify => END; } }
///
/// let table: Vec<String> = pay::graph().nodes.iter().filter(|node| !node.doc.is_empty())
///     .map(|node| format!("{} [{}]: {}", node.name, node.labels.join(", "), node.doc)).collect();
/// assert_eq!(table, ["charge [ok, err]: Charges the card.", "notify []: Writes to the customer."]);
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct GraphNode {
    /// Its name in paths.
    pub name: String,
    /// The doc comment of its function.
    pub doc: String,
    /// Its kind.
    pub kind: GraphNodeKind,
    /// The JSON Schema of its input; `None` for START.
    pub input: Option<Schema>,
    /// The JSON Schema of its output; `None` for END.
    pub output: Option<Schema>,
    /// The labels of its arms, in order; empty for a node without routes.
    pub labels: Vec<String>,
    /// By arm, how often it may be taken before `spent` is; empty if none of them is bounded.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub at_most: BTreeMap<usize, u32>,
    /// The ways in.
    pub ways: Vec<GraphWay>,
    /// The loop that it runs in: an index of [`Graph::loops`].
    pub in_loop: Option<usize>,
    /// The nodes that it may call as children: those of `#[node(uses(..))]`, the tools of an agent.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub uses: Vec<GraphUse>,
    /// The pool that executes its attempts: that of `#[node(pool = "..")]`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pool: Option<String>,
}

/// A node that another one may call.
///
/// Which tools an agent may call is a part of its picture:
///
/// ```
/// use graphweft::prelude::*;
///
/// /// Finds pages.
/// #[node]
/// async fn search(query: String) -> Vec<String> { vec![query] }
///
/// #[node(uses(search))]
/// async fn answer(question: String, ctx: &Context) -> Result<usize, ChildError<Never>> {
///     Ok(ctx.call::<search>(question).await?.len())
/// }
/// workflow! { pub ask(String) -> usize { START => answer; } }
///
/// let graph = ask::graph();
/// let node = graph.nodes.iter().find(|node| node.name == "answer").expect("it is there");
/// assert_eq!((&*node.uses[0].name, &*node.uses[0].doc), ("search", "Finds pages."));
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct GraphUse {
    /// Its name in paths.
    pub name: String,
    /// The doc comment of its function.
    pub doc: String,
    /// The nodes that it may call in turn. A node that was already listed, and a workflow, are listed without them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub uses: Vec<GraphUse>,
}

/// The kind of a node.
///
/// A list of the workflows that one is made of:
///
/// ```
/// use graphweft::prelude::*;
/// use graphweft::GraphNodeKind;
///
/// # #[node] async fn pack(order: u32) -> u32 { order }
/// workflow! { pub deliver(u32) -> u32 { START => pack; } }
/// workflow! { pub checkout(u32) -> u32 { START => deliver; } }
///
/// let graph = checkout::graph();
/// let inside: Vec<&str> = graph.nodes.iter().filter_map(|node| match &node.kind {
///     GraphNodeKind::Workflow(name) => Some(name.as_str()),
///     _ => None,
/// }).collect();
/// assert_eq!(inside, ["deliver"]);
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub enum GraphNodeKind {
    /// START: the source of the input.
    Start,
    /// END: the target of the output.
    End,
    /// A function, or a type that implements `Node`.
    Step,
    /// Another workflow, by its name.
    Workflow(String),
    /// `[..]`: this graph, for each item.
    Each(Box<Graph>),
}

/// A way into a node.
///
/// Which nodes wait for several others:
///
/// ```
/// use graphweft::prelude::*;
/// use graphweft::GraphWay;
///
/// # #[node] async fn stock(order: u32) -> u32 { order }
/// # #[node] async fn price(order: u32) -> u32 { order }
/// #[node]
/// async fn bill((stock, price): (u32, u32)) -> u32 { stock * price }
/// workflow! { pub shop(u32) -> u32 { START => (stock, price) => bill; } }
///
/// let joins: Vec<String> = shop::graph().nodes.into_iter()
///     .filter(|node| node.ways.iter().any(|way| matches!(way, GraphWay::All { .. })))
///     .map(|node| node.name).collect();
/// assert_eq!(joins, ["bill"]);
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub enum GraphWay {
    /// The node runs when a value arrives by this edge.
    Edge(usize),
    /// The node waits for all of these places; the edges of a place exclude each other.
    All {
        /// The edges of each place.
        places: Vec<Vec<usize>>,
        /// Whether a route may skip a place, so that the node takes an `Option` there. Empty if the places exclude each
        /// other, so that the node takes the one value that arrives.
        optional: Vec<bool>,
    },
    /// The node takes the values of these edges one after another, until it returns an output.
    Any(Vec<usize>),
}

/// An edge of a [`Graph`]; its ends are indices of [`Graph::nodes`].
///
/// A text for each edge, with the labels that take it:
///
/// ```
/// use graphweft::prelude::*;
/// use graphweft::{Graph, GraphEdge};
///
/// # #[node] async fn check(n: u32) -> Result<u32, String> { Ok(n) }
/// # #[node] async fn ship(n: u32) -> u32 { n }
/// # #[node] async fn refuse(why: String) -> u32 { why.len() as u32 }
/// workflow! { pub shop(u32) -> u32 { START => check => <ok: ship, err: refuse>; } }
///
/// fn line(graph: &Graph, edge: &GraphEdge) -> String {
///     let (from, to) = (&graph.nodes[edge.from], &graph.nodes[edge.to]);
///     let labels: Vec<&str> = edge.arms.iter().map(|arm| from.labels[*arm].as_str()).collect();
///     format!("{} -{}-> {}", from.name, labels.join("|"), to.name)
/// }
///
/// let graph = shop::graph();
/// let lines: Vec<String> = graph.edges.iter().map(|edge| line(&graph, edge)).collect();
/// assert!(lines.contains(&"check -ok-> ship".to_owned()) && lines.contains(&"check -err-> refuse".to_owned()));
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct GraphEdge {
    /// Its source.
    pub from: usize,
    /// Its target.
    pub to: usize,
    /// The arms of `from` that take it: indices of [`GraphNode::labels`]. Empty if `from` has no routes.
    pub arms: Vec<usize>,
    /// The loop whose next turn it starts, if it does: an index of [`Graph::loops`].
    pub back: Option<usize>,
}

/// A loop of a [`Graph`].
///
/// Which nodes a loop may repeat:
///
/// ```
/// use graphweft::prelude::*;
///
/// # #[node] async fn draft(n: u32) -> u32 { n + 1 }
/// # #[node] async fn review(n: u32) -> Result<u32, u32> { if n < 3 { Err(n) } else { Ok(n) } }
/// workflow! { pub write(u32) -> u32 { START => draft => review => <err: draft, ok: END>; } }
///
/// let graph = write::graph();
/// let again: Vec<&str> = graph.loops[0].members.iter().map(|at| graph.nodes[*at].name.as_str()).collect();
/// assert_eq!(again, ["draft", "review"]);
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct GraphLoop {
    /// The loop around it.
    pub parent: Option<usize>,
    /// The nodes at which it is entered and each turn starts.
    pub heads: Vec<usize>,
    /// The nodes that run in its turns and in no inner loop's.
    pub members: Vec<usize>,
}

impl Graph {
    pub(crate) fn of(definition: &Definition) -> Self {
        let graph = &definition.graph;
        let edges = graph.edges.iter().enumerate().map(|(at, edge)| {
            let choices = &graph.nodes[edge.from].choices;
            let routed = !definition.labels[edge.from].is_empty();
            let taken = choices.iter().enumerate().filter(|(_, choice)| routed && choice.edges.contains(&at));
            let arms = taken.map(|(arm, _)| arm).collect();
            GraphEdge { from: edge.from, to: edge.to, arms, back: definition.plan.back[at] }
        });
        let loops = definition.plan.loops.iter().map(|one| GraphLoop {
            parent: one.parent,
            heads: one.heads.clone(),
            members: one.members.clone(),
        });
        Graph {
            name: definition.name.clone(),
            doc: definition.doc.to_owned(),
            input: (definition.door.input_schema)(),
            output: (definition.door.output_schema)(),
            nodes: (0..graph.nodes.len()).map(|node| GraphNode::of(definition, node)).collect(),
            edges: edges.collect(),
            loops: loops.collect(),
            is_unit: definition.is_unit,
        }
    }

    /// A flowchart for [Mermaid](https://mermaid.js.org), with every node and every edge with its labels.
    ///
    /// `a --> b` is "then", `a --o join` an edge that a join waits for, `a -.-> node` an edge into a collecting node,
    /// `agent -. uses .-> tool` a node that another one may call; `embed @ gpu` is a node of a pool, a double box a nested workflow, a frame
    /// `[..]`.
    pub fn to_mermaid(&self) -> String {
        self.picture().to_mermaid()
    }

    /// A drawing for [Graphviz](https://graphviz.org), with every node and every edge with its labels.
    pub fn to_dot(&self) -> String {
        self.picture().to_dot()
    }

    /// A drawing for a terminal, in box-drawing characters, with every node and every edge with its labels.
    ///
    /// Edges lead down. One that starts the next turn of a loop is written beside its node, `↺ redo → draft`. A double box
    /// is a nested workflow, a frame `[..]`.
    ///
    /// ```
    /// # use graphweft::prelude::*;
    /// # #[node] async fn greet(name: String) -> String { name }
    /// # workflow! { hello(String) -> String { START => greet; } }
    /// assert!(hello::graph().to_text().contains("│ greet │"));
    /// ```
    pub fn to_text(&self) -> String {
        self.picture().to_text()
    }

    /// An SVG image with every node and every edge with its labels. It needs nothing else, and follows the colours of the
    /// page that it is in, light or dark.
    ///
    /// ```
    /// # use graphweft::prelude::*;
    /// # #[node] async fn greet(name: String) -> String { name }
    /// # workflow! { hello(String) -> String { START => greet; } }
    /// assert!(hello::graph().to_svg().starts_with("<svg"));
    /// ```
    pub fn to_svg(&self) -> String {
        self.picture().to_svg()
    }

    fn picture(&self) -> Picture {
        let mut shape = graphweft_graph::Graph { nodes: Vec::new(), edges: Vec::new() };
        shape.edges = self.edges.iter().map(|edge| graphweft_graph::Edge { from: edge.from, to: edge.to }).collect();
        for (at, node) in self.nodes.iter().enumerate() {
            let arms = node.labels.len().max(1);
            let choices = (0..arms).map(|arm| {
                let takes = |edge: &GraphEdge| edge.from == at && (node.labels.is_empty() || edge.arms.contains(&arm));
                let taken = self.edges.iter().enumerate().filter(|(_, edge)| takes(edge));
                graphweft_graph::Choice { edges: taken.map(|(edge, _)| edge).collect() }
            });
            let ways = node.ways.iter().map(GraphWay::to_way).collect();
            shape.nodes.push(graphweft_graph::NodeData { id: at, choices: choices.collect(), ways });
        }
        let labels: Vec<Vec<String>> = self.nodes.iter().map(GraphNode::labelled).collect();
        let nodes = self.nodes.iter().map(GraphNode::picture).collect();
        Picture::of(&shape, nodes, &labels, self.is_unit)
    }
}

impl GraphNode {
    fn of(definition: &Definition, node: NodeIx) -> Self {
        let data = &definition.graph.nodes[node];
        let entry = definition.entry(node);
        let arrivals = &definition.plan.arrivals[node];
        GraphNode {
            name: entry.map_or_else(|| data.id.to_owned(), |entry| entry.name.clone()),
            doc: entry.map_or("", |entry| entry.doc).to_owned(),
            kind: GraphNodeKind::of(node, entry),
            input: match node {
                START => None,
                END => Some((definition.door.output_schema)()),
                _ => entry.map(|entry| (entry.input_schema)()),
            },
            output: match node {
                START => Some((definition.door.input_schema)()),
                END => None,
                _ => entry.map(|entry| (entry.output_schema)()),
            },
            labels: definition.labels[node].iter().map(|label| (*label).to_owned()).collect(),
            at_most: definition.bounds.range((node, 0)..(node + 1, 0)).map(|((_, arm), most)| (*arm, *most)).collect(),
            ways: data.ways.iter().zip(arrivals).map(|(way, arrival)| GraphWay::of(way, arrival)).collect(),
            in_loop: definition.plan.node_loop[node],
            uses: GraphUse::each(entry.map_or_else(Vec::new, Entry::uses), &mut HashSet::new()),
            pool: entry.and_then(|entry| entry.pool).map(str::to_owned),
        }
    }

    /// The arm that the label of a recorded choice names: an index of [`labels`](Self::labels). The labels of an arm may have been written in
    /// another order, or spelled like their variants, by the program that has recorded it, and others may have been added since.
    /// `None` if no arm has them all.
    ///
    /// ```
    /// use graphweft::prelude::*;
    ///
    /// #[derive(Route)]
    /// #[value]
    /// enum Risk { Low(u32), Medium(u32), High(u32) }
    ///
    /// #[node]
    /// async fn rate(cents: u32) -> Risk { Risk::Low(cents) }
    /// #[node]
    /// async fn pay(cents: u32) -> u32 { cents }
    /// #[node]
    /// async fn review(cents: u32) -> u32 { cents }
    /// workflow! { pub rated(u32) -> u32 { START => rate => <high: review, low | medium: pay>; (pay, review) => END; } }
    ///
    /// let graph = rated::graph();
    /// let rate = graph.nodes.iter().find(|node| node.name == "rate").unwrap();
    /// assert_eq!(rate.labels, ["high", "low | medium"]);
    /// assert_eq!(rate.arm_of("medium | low"), Some(1));
    /// assert_eq!(rate.arm_of("none"), None);
    /// ```
    pub fn arm_of(&self, label: &str) -> Option<usize> {
        position_of_label(&self.labels, label)
    }

    /// The labels of its arms, with their bounds.
    fn labelled(&self) -> Vec<String> {
        let arms = self.labels.iter().enumerate();
        arms.map(|(arm, label)| labelled(label, self.at_most.get(&arm).copied())).collect()
    }

    fn picture(&self) -> PictureNode {
        let kind = match &self.kind {
            GraphNodeKind::Start | GraphNodeKind::End => PictureKind::Boundary,
            GraphNodeKind::Step => PictureKind::Step,
            GraphNodeKind::Workflow(_) => PictureKind::Workflow,
            GraphNodeKind::Each(inside) => PictureKind::Each(Box::new(inside.picture())),
        };
        let name = match &self.pool {
            Some(pool) => format!("{} @ {pool}", self.name),
            None => self.name.clone(),
        };
        PictureNode { name, kind, uses: self.uses.iter().map(|used| used.name.clone()).collect() }
    }
}

impl GraphUse {
    fn each(uses: Vec<NodeInfo>, seen: &mut HashSet<(TypeId, String)>) -> Vec<Self> {
        let each = uses.into_iter().map(|used| {
            let is_new = seen.insert((used.type_id, used.name.clone()));
            let inside = if is_new && !used.is_workflow { used.uses() } else { Vec::new() };
            GraphUse { name: used.name, doc: used.doc.to_owned(), uses: GraphUse::each(inside, seen) }
        });
        each.collect()
    }
}

impl GraphNodeKind {
    fn of(node: NodeIx, entry: Option<&Entry>) -> Self {
        match (node, entry.and_then(|entry| entry.scope.as_ref())) {
            (START, _) => GraphNodeKind::Start,
            (END, _) => GraphNodeKind::End,
            (_, None) => GraphNodeKind::Step,
            (_, Some(scope)) => match scope.kind() {
                ScopeKind::Nested => GraphNodeKind::Workflow(scope.definition().name.clone()),
                ScopeKind::Each => GraphNodeKind::Each(Box::new(Graph::of(scope.definition()))),
            },
        }
    }
}

impl GraphWay {
    fn of(way: &Way, arrival: &Arrival) -> Self {
        match way {
            Way::Plain(edge) => GraphWay::Edge(*edge),
            Way::Any(edges) => GraphWay::Any(edges.clone()),
            Way::All(places) => GraphWay::All {
                places: places.clone(),
                optional: match arrival {
                    Arrival::One => Vec::new(),
                    Arrival::Places(places) => {
                        places.iter().map(|presence| *presence == Presence::MayBeSkipped).collect()
                    }
                },
            },
        }
    }

    fn to_way(&self) -> Way {
        match self {
            GraphWay::Edge(edge) => Way::Plain(*edge),
            GraphWay::All { places, .. } => Way::All(places.clone()),
            GraphWay::Any(edges) => Way::Any(edges.clone()),
        }
    }
}
