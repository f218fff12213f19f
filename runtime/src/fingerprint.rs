//! What a graph was when a run was recorded, so that a run is resumed under another one only where all that it has
//! recorded still means the same.
//!
//! A fingerprint is plain data: for each graph that a workflow can enter its nodes, how each is reached, where it leads,
//! and hashes of what it takes and gives. What changes no meaning is left out: retries and time limits, doc comments, the
//! names of types. The order in which nodes are written is in the hash, and costs no more than a comparison.

mod compare;
mod past;
mod path;
mod schema;
#[cfg(test)]
mod tests;

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use graphweft_graph::{EdgeIx, NodeIx, START, Way};
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

pub(crate) use past::{Change, Past};

use crate::table::{Definition, Entry, ScopeKind};

/// The fingerprint of a workflow.
#[derive(Debug)]
pub(crate) struct Fingerprint {
    /// Of the body. The same in every process and from every compiler.
    pub(crate) hash: u64,
    /// What is stored with a run, and what [`Past::read`] takes.
    #[cfg(test)]
    pub(crate) body: Json,
    /// Both, as a store keeps them.
    pub(crate) stored: Arc<(u64, Json)>,
    graphs: Body,
}

impl Fingerprint {
    /// The fingerprint of a workflow with all that it can enter; made once.
    pub(crate) fn of(root: &Arc<Definition>) -> Arc<Fingerprint> {
        Arc::clone(root.compiled.fingerprint.get_or_init(|| Arc::new(Fingerprint::take(root))))
    }

    fn take(root: &Arc<Definition>) -> Fingerprint {
        let mut found = vec![Arc::clone(root)];
        let mut places = HashMap::from([(Arc::as_ptr(root), 0)]);
        let mut graphs = Vec::new();
        while let Some(definition) = found.get(graphs.len()).cloned() {
            let mut enter = |inside: &Arc<Definition>| {
                *places.entry(Arc::as_ptr(inside)).or_insert_with(|| {
                    found.push(Arc::clone(inside));
                    found.len() - 1
                })
            };
            graphs.push(GraphPrint::of(&definition, &mut enter));
        }
        let graphs = Body { graphs };
        let body = serde_json::to_value(&graphs).unwrap_or_default();
        let hash = fnv1a(canonical(&body).as_bytes());
        Fingerprint {
            hash,
            #[cfg(test)]
            body: body.clone(),
            stored: Arc::new((hash, body)),
            graphs,
        }
    }
}

/// Every graph that a run can enter; the first is that of the workflow that was started.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Body {
    graphs: Vec<GraphPrint>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct GraphPrint {
    name: String,
    input: String,
    output: String,
    /// Where START leads.
    start: Vec<RoutePrint>,
    nodes: Vec<NodePrint>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct NodePrint {
    name: String,
    was: Vec<String>,
    kind: KindPrint,
    input: String,
    output: String,
    at_most_once: bool,
    /// The loops around it, the outermost first, each by the nodes at which it is entered: what its turns count.
    loops: Vec<Vec<String>>,
    ways: Vec<WayPrint>,
    routes: Vec<RoutePrint>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum KindPrint {
    Node,
    /// A nested workflow: its name, and which of the graphs it is.
    Workflow(String, usize),
    /// `[..]`, and which of the graphs is inside.
    Each(usize),
}

impl KindPrint {
    fn inside(&self) -> Option<usize> {
        match self {
            KindPrint::Node => None,
            KindPrint::Workflow(_, graph) | KindPrint::Each(graph) => Some(*graph),
        }
    }
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct WayPrint {
    kind: WayKind,
    places: Vec<Vec<SourcePrint>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum WayKind {
    Plain,
    All,
    Any,
}

/// Where an edge begins, and by which labels it is taken; without any where its source is not routed.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct SourcePrint {
    node: String,
    labels: Vec<String>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct RoutePrint {
    label: Option<String>,
    to: Vec<String>,
}

impl GraphPrint {
    fn of(definition: &Definition, enter: &mut dyn FnMut(&Arc<Definition>) -> usize) -> Self {
        let nodes = definition.entries.iter().enumerate();
        GraphPrint {
            name: definition.name.clone(),
            input: schema::hash(&(definition.door.input_schema)()),
            output: schema::hash(&(definition.door.output_schema)()),
            start: routes(definition, START),
            nodes: nodes.map(|(at, entry)| NodePrint::of(definition, at + 2, entry, enter)).collect(),
        }
    }
}

impl NodePrint {
    fn of(
        definition: &Definition,
        node: NodeIx,
        entry: &Entry,
        enter: &mut dyn FnMut(&Arc<Definition>) -> usize,
    ) -> Self {
        let kind = match &entry.scope {
            None => KindPrint::Node,
            Some(scope) => {
                let inside = enter(scope.definition());
                match scope.kind() {
                    ScopeKind::Nested => KindPrint::Workflow(scope.definition().name.clone(), inside),
                    ScopeKind::Each => KindPrint::Each(inside),
                }
            }
        };
        NodePrint {
            name: entry.name.clone(),
            was: entry.renamed_from.iter().map(|name| (*name).to_owned()).collect(),
            kind,
            input: schema::hash(&(entry.input_schema)()),
            output: schema::hash(&(entry.output_schema)()),
            at_most_once: entry.options.at_most_once,
            loops: loops(definition, node),
            ways: ways(definition, node),
            routes: routes(definition, node),
        }
    }
}

fn name_of(definition: &Definition, node: NodeIx) -> String {
    definition.entry(node).map_or_else(|| definition.graph.nodes[node].id.to_owned(), |entry| entry.name.clone())
}

fn loops(definition: &Definition, node: NodeIx) -> Vec<Vec<String>> {
    let plan = &definition.plan;
    let inner = plan.node_loop[node];
    let around = std::iter::successors(inner, |inner| plan.loops[*inner].parent);
    let heads = around.map(|one| {
        let names: BTreeSet<String> = plan.loops[one].heads.iter().map(|head| name_of(definition, *head)).collect();
        names.into_iter().collect()
    });
    let mut loops: Vec<Vec<String>> = heads.collect();
    loops.reverse();
    loops
}

fn ways(definition: &Definition, node: NodeIx) -> Vec<WayPrint> {
    let source = |edge: &EdgeIx| {
        let from = definition.graph.edges[*edge].from;
        let labels = &definition.labels[from];
        let choices = definition.graph.nodes[from].choices.iter().zip(labels);
        let taken = choices.filter(|(choice, _)| choice.edges.contains(edge));
        SourcePrint { node: name_of(definition, from), labels: taken.map(|(_, label)| (*label).to_owned()).collect() }
    };
    let way = |way: &Way| match way {
        Way::Plain(edge) => WayPrint { kind: WayKind::Plain, places: vec![vec![source(edge)]] },
        Way::Any(edges) => WayPrint { kind: WayKind::Any, places: vec![edges.iter().map(source).collect()] },
        Way::All(places) => WayPrint {
            kind: WayKind::All,
            places: places.iter().map(|edges| edges.iter().map(source).collect()).collect(),
        },
    };
    definition.graph.nodes[node].ways.iter().map(way).collect()
}

fn routes(definition: &Definition, node: NodeIx) -> Vec<RoutePrint> {
    let choices = definition.graph.nodes[node].choices.iter().enumerate();
    let route = |(at, choice): (usize, &graphweft_graph::Choice)| RoutePrint {
        label: definition.labels[node].get(at).map(|label| (*label).to_owned()),
        to: choice.edges.iter().map(|edge| name_of(definition, definition.graph.edges[*edge].to)).collect(),
    };
    choices.map(route).collect()
}

/// JSON with the keys of each object in order. `serde_json` itself keeps the order in which they were set where any crate
/// of the program asks for its feature `preserve_order`.
pub(crate) fn canonical(json: &Json) -> String {
    match json {
        Json::Array(items) => format!("[{}]", items.iter().map(canonical).collect::<Vec<_>>().join(",")),
        Json::Object(fields) => {
            let mut fields: Vec<_> = fields.iter().collect();
            fields.sort_by_key(|(name, _)| *name);
            let text = |(name, value): (&String, &Json)| format!("{}:{}", Json::from(name.as_str()), canonical(value));
            format!("{{{}}}", fields.into_iter().map(text).collect::<Vec<_>>().join(","))
        }
        scalar => scalar.to_string(),
    }
}

/// The 64-bit FNV-1a hash, <http://www.isthe.com/chongo/tech/comp/fnv/>: short, and the same everywhere. Nobody gains by
/// a collision here.
pub(crate) fn fnv1a(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
}
