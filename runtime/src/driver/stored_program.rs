//! The program of a workflow by its graph in a store, without its code: for folds that need no values.

use std::collections::HashMap;
use std::sync::Arc;

use graphweft_graph::{Choice, Edge, NodeData, Plan, Way, analyse};

use super::labels::Labels;
use crate::catch::caught;
use crate::core::{Layout, NodeKind, NodeSpec, Place, Program, ScopeKind, Totals};
use crate::fingerprint::position_of_label;
use crate::graph::{Graph, GraphNode, GraphNodeKind, GraphWay, Graphs};
use crate::options::NodeOptions;

/// The program of a workflow by its graph in a store.
pub(crate) struct StoredProgram {
    pub(crate) program: Arc<Program>,
    workflow: String,
    /// By graph and node.
    labels: Vec<Vec<Vec<String>>>,
}

impl StoredProgram {
    /// `None` if one of the graphs is missing, or is none that a workflow can have.
    pub(crate) fn of(graphs: &Graphs) -> Option<StoredProgram> {
        // The analysis panics on a table that contradicts itself.
        caught(|| build(graphs)).ok().flatten()
    }

    /// How many arms START has; 1 if it has no routes.
    pub(crate) fn starts(&self) -> usize {
        self.labels[0].first().map_or(1, |labels| labels.len().max(1))
    }
}

impl Labels for StoredProgram {
    fn workflow(&self) -> &str {
        &self.workflow
    }

    fn choice(&self, place: &Place, label: Option<&str>) -> Option<usize> {
        let labels = self.labels.get(place.scope.layout.index)?.get(place.node as usize)?;
        match label {
            None => labels.is_empty().then_some(0),
            Some(label) => position_of_label(labels, label),
        }
    }

    fn choice_inside(&self, place: &Place, label: &str) -> Option<usize> {
        let inside = self.program.inside(&place.scope.layout, place.node as usize)?;
        position_of_label(self.labels.get(inside)?.first()?, label)
    }
}

fn build(graphs: &Graphs) -> Option<StoredProgram> {
    let mut found = vec![&graphs.graph];
    // Each workflow has one layout, also one that is a node of several others.
    let mut workflows = HashMap::from([(graphs.graph.name.as_str(), 0)]);
    let (mut layouts, mut labels) = (Vec::new(), Vec::new());
    while let Some(graph) = found.get(layouts.len()).copied() {
        let mut specs = Vec::new();
        for node in graph.nodes.iter().skip(2) {
            let kind = match &node.kind {
                GraphNodeKind::Workflow(name) => {
                    let place = match workflows.get(name.as_str()) {
                        Some(place) => *place,
                        None => {
                            found.push(graphs.nested.iter().find(|nested| nested.name == *name)?);
                            workflows.insert(name, found.len() - 1);
                            found.len() - 1
                        }
                    };
                    NodeKind::Scope(ScopeKind::Nested, place)
                }
                GraphNodeKind::Each(body) => {
                    found.push(body);
                    NodeKind::Scope(ScopeKind::Each, found.len() - 1)
                }
                _ => NodeKind::Leaf,
            };
            specs.push(NodeSpec { name: node.name.clone(), kind, options: NodeOptions::default(), keeps_input: false });
        }
        let (shape, plan) = shape_of(graph)?;
        layouts.push(Arc::new(Layout::new(layouts.len(), graph.name.clone(), &shape, &plan, specs)));
        labels.push(graph.nodes.iter().map(|node| node.labels.clone()).collect());
    }
    Some(StoredProgram {
        program: Arc::new(Program { layouts, totals: Totals::default() }),
        workflow: graphs.graph.name.clone(),
        labels,
    })
}

/// The graph as it was before it was drawn, and its proof.
fn shape_of(graph: &Graph) -> Option<(graphweft_graph::Graph<()>, Plan)> {
    let edges = graph.edges.iter().map(|edge| Edge { from: edge.from, to: edge.to }).collect();
    let nodes = graph.nodes.iter().enumerate();
    let nodes = nodes.map(|(at, node)| NodeData { id: (), choices: choices(graph, at, node), ways: ways(node) });
    let shape = graphweft_graph::Graph { nodes: nodes.collect(), edges };
    let plan = analyse(&shape).ok()?;
    Some((shape, plan))
}

fn choices(graph: &Graph, at: usize, node: &GraphNode) -> Vec<Choice> {
    let of = |arm: Option<usize>| {
        let edges = graph.edges.iter().enumerate().filter(|(_, edge)| edge.from == at);
        let taken = edges.filter(|(_, edge)| arm.is_none_or(|arm| edge.arms.contains(&arm)));
        Choice { edges: taken.map(|(edge, _)| edge).collect() }
    };
    match node.labels.len() {
        0 => vec![of(None)],
        arms => (0..arms).map(|arm| of(Some(arm))).collect(),
    }
}

fn ways(node: &GraphNode) -> Vec<Way> {
    let way = |way: &GraphWay| match way {
        GraphWay::Edge(edge) => Way::Plain(*edge),
        GraphWay::All { places, .. } => Way::All(places.clone()),
        GraphWay::Any(edges) => Way::Any(edges.clone()),
    };
    node.ways.iter().map(way).collect()
}
