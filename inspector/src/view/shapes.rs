//! The graphs of a run, as the fold needs them.

use std::collections::HashMap;

use graphweft::{Graph, GraphNode, GraphNodeKind, Graphs};

/// The graphs of a run, those inside of `[..]` among them.
#[derive(Debug, Default)]
pub(super) struct Shapes {
    all: Vec<Shape>,
}

/// The number of a graph.
pub(super) type ShapeIx = usize;

#[derive(Debug)]
pub(super) struct Shape {
    pub(super) nodes: Vec<Node>,
    /// The target and the arms of each edge.
    pub(super) edges: Vec<(usize, Vec<usize>)>,
    by_name: HashMap<String, usize>,
    /// Whether it has a single node beside START and END, and no choice: then there is nothing to say of its edges.
    pub(super) is_single: bool,
}

#[derive(Debug)]
pub(super) struct Node {
    pub(super) name: String,
    pub(super) inside: Inside,
    /// The node with its arms, if it has some.
    choice: Option<GraphNode>,
    /// Its edges.
    pub(super) out: Vec<usize>,
    in_loop: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Inside {
    Nothing,
    Workflow(Option<ShapeIx>),
    Each(ShapeIx),
}

pub(super) const START: usize = 0;
pub(super) const END: usize = 1;

/// A node by the names in a path: the `[..]` around it in its workflow, the outermost first, and the node.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Found {
    pub(super) around: Vec<(ShapeIx, usize)>,
    pub(super) shape: ShapeIx,
    pub(super) node: usize,
}

impl Shapes {
    /// Adds the graph of a workflow, and those of the workflows in it. Returns its number.
    pub(super) fn add(&mut self, graphs: &Graphs) -> ShapeIx {
        let first = self.all.len();
        let written: Vec<&Graph> = std::iter::once(&graphs.graph).chain(&graphs.nested).collect();
        // Their own numbers first, since they name each other.
        let names: HashMap<&str, ShapeIx> =
            written.iter().enumerate().skip(1).map(|(at, graph)| (graph.name.as_str(), first + at)).collect();
        for _ in &written {
            self.all.push(Shape::empty());
        }
        for (at, graph) in written.iter().enumerate() {
            self.all[first + at] = self.shape(graph, &names);
        }
        first
    }

    fn shape(&mut self, graph: &Graph, names: &HashMap<&str, ShapeIx>) -> Shape {
        let mut shape = Shape::empty();
        for (at, node) in graph.nodes.iter().enumerate() {
            let inside = match &node.kind {
                GraphNodeKind::Workflow(name) => Inside::Workflow(names.get(name.as_str()).copied()),
                GraphNodeKind::Each(body) => {
                    let body = self.shape(body, names);
                    self.all.push(body);
                    Inside::Each(self.all.len() - 1)
                }
                _ => Inside::Nothing,
            };
            let edges = graph.edges.iter().enumerate();
            // The edge from START to END of a workflow without an output is implied, and no picture has it.
            let is_shown = |from: usize, to: usize| !(graph.is_unit && from == START && to == END);
            let out = edges.filter(|(_, edge)| edge.from == at && is_shown(edge.from, edge.to)).map(|(edge, _)| edge);
            let choice = Some(node).filter(|node| !node.labels.is_empty()).cloned();
            let (name, out) = (node.name.clone(), out.collect());
            if at > END {
                shape.by_name.insert(name.clone(), at);
            }
            shape.nodes.push(Node { name, inside, choice, out, in_loop: node.in_loop.is_some() });
        }
        shape.edges = graph.edges.iter().map(|edge| (edge.to, edge.arms.clone())).collect();
        shape.is_single = graph.nodes.len() == 3 && graph.nodes.iter().all(|node| node.labels.is_empty());
        shape
    }

    pub(super) fn get(&self, shape: ShapeIx) -> Option<&Shape> {
        self.all.get(shape)
    }

    /// The node of a name in a graph, inside so many `[..]`.
    pub(super) fn find(&self, shape: ShapeIx, name: &str, depth: usize) -> Option<Found> {
        let here = self.all.get(shape)?;
        if depth == 0 {
            return Some(Found { around: Vec::new(), shape, node: *here.by_name.get(name)? });
        }
        here.nodes.iter().enumerate().find_map(|(at, node)| {
            let Inside::Each(body) = node.inside else { return None };
            let mut found = self.find(body, name, depth - 1)?;
            found.around.insert(0, (shape, at));
            Some(found)
        })
    }
}

impl Node {
    /// The labels of its arms, in order.
    pub(super) fn labels(&self) -> &[String] {
        self.choice.as_ref().map_or(&[], |choice| &choice.labels)
    }
}

impl Shape {
    fn empty() -> Self {
        Shape { nodes: Vec::new(), edges: Vec::new(), by_name: HashMap::new(), is_single: false }
    }

    pub(super) fn in_loop(&self, node: usize) -> bool {
        self.nodes.get(node).is_some_and(|node| node.in_loop)
    }

    /// The edges of a node that an arm takes, by its label; all of them for a node without arms.
    pub(super) fn taken(&self, node: usize, label: Option<&str>) -> Vec<usize> {
        let Some(data) = self.nodes.get(node) else { return Vec::new() };
        let Some(choice) = &data.choice else { return data.out.clone() };
        let Some(arm) = label.and_then(|label| choice.arm_of(label)) else { return Vec::new() };
        data.out.iter().copied().filter(|edge| self.edges[*edge].1.contains(&arm)).collect()
    }
}
