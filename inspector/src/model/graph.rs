//! Graphs. What is sent is the JSON of [`graphweft::Graphs`]; these types describe it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

/// The registered workflows.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct Workflows {
    /// Their names, in order.
    pub workflows: Vec<Workflow>,
}

/// A registered workflow.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct Workflow {
    /// Its name.
    pub name: String,
    /// Its doc comment.
    pub doc: String,
    /// How many nodes its graph has, without those inside of `[..]` and of nested workflows.
    pub nodes: usize,
}

/// The graph of a workflow with those of the workflows in it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Graphs {
    /// The graph of the workflow.
    pub graph: Graph,
    /// The graphs of the workflows that are nodes in it or in each other, each once.
    pub nested: Vec<Graph>,
}

/// The graph of a workflow.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Graph {
    /// The name of the workflow.
    pub name: String,
    /// Its doc comment.
    pub doc: String,
    /// The JSON Schema of its input.
    pub input: Value,
    /// The JSON Schema of its output.
    pub output: Value,
    /// START, END, and the nodes in the order in which they were first written.
    pub nodes: Vec<GraphNode>,
    /// The edges.
    pub edges: Vec<GraphEdge>,
    /// The loops, an outer one before those inside it.
    pub loops: Vec<GraphLoop>,
    /// Whether the workflow has no output. END then has an implied edge from START, which pictures leave out.
    pub is_unit: bool,
}

/// A node of a graph.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct GraphNode {
    /// Its name in paths.
    pub name: String,
    /// The doc comment of its function.
    pub doc: String,
    /// Its kind.
    #[schema(no_recursion)]
    pub kind: NodeKind,
    /// The JSON Schema of its input; null for START.
    pub input: Value,
    /// The JSON Schema of its output; null for END.
    pub output: Value,
    /// The labels of its arms, in order; empty for a node without routes.
    pub labels: Vec<String>,
    /// By the index of an arm, how often it may be taken before `spent` is.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub at_most: BTreeMap<String, u32>,
    /// The ways in.
    pub ways: Vec<Way>,
    /// The loop that it runs in: an index of `loops`.
    pub in_loop: Option<usize>,
    /// The nodes that it may call as children: the tools of an agent.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub uses: Vec<GraphUse>,
    /// The pool that executes its attempts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pool: Option<String>,
}

/// A node that another one may call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct GraphUse {
    /// Its name in paths.
    pub name: String,
    /// The doc comment of its function.
    pub doc: String,
    /// The nodes that it may call in turn. One that was already listed, and a workflow, are listed without them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schema(no_recursion)]
    pub uses: Vec<GraphUse>,
}

/// The kind of a node.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub enum NodeKind {
    /// START.
    Start,
    /// END.
    End,
    /// A function, or a type that implements `Node`.
    Step,
    /// Another workflow, by its name.
    Workflow(String),
    /// `[..]`: this graph, for each item.
    #[schema(no_recursion)]
    Each(Box<Graph>),
}

/// A way into a node. Numbers are indices of `edges`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub enum Way {
    /// The node runs when a value arrives by this edge.
    Edge(usize),
    /// The node waits for all of these places; the edges of a place exclude each other.
    All {
        /// The edges of each place.
        places: Vec<Vec<usize>>,
        /// Whether a route may skip a place.
        optional: Vec<bool>,
    },
    /// The node takes the values of these edges one after another.
    Any(Vec<usize>),
}

/// An edge; its ends are indices of `nodes`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct GraphEdge {
    /// Its source.
    pub from: usize,
    /// Its target.
    pub to: usize,
    /// The arms of the source that take it: indices of its `labels`. Empty if the source has no routes.
    pub arms: Vec<usize>,
    /// The loop whose next turn it starts, if it does.
    pub back: Option<usize>,
}

/// A loop.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct GraphLoop {
    /// The loop around it.
    pub parent: Option<usize>,
    /// The nodes at which each turn starts.
    pub heads: Vec<usize>,
    /// The nodes that run in its turns and in no inner loop's.
    pub members: Vec<usize>,
}
