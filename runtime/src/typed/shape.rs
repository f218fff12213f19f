//! The graph in the form of the macro's expansion: numbers and names, which cost rustc next to nothing.

use graphweft_graph::{Choice, Edge, Graph, NodeData, Plan, Way, analyse};

/// A graph in the form in which expansions hold it.
pub struct Shape {
    /// The names of all nodes, START and END first.
    pub names: &'static [&'static str],
    /// The model of `graphweft_graph`, as a list of counted lists: the edges as pairs; then for each node its
    /// choices, each a list of edges; then for each node its ways in: 0 and an edge, 1 and a list of places, 2 and a
    /// list of edges.
    pub numbers: &'static [u32],
    /// For each node and choice, how its labels were written; an empty list for a node that is not routed.
    pub labels: &'static [&'static [&'static str]],
    /// The bounded arms: a node, its choice, and how often that may be taken.
    pub bounds: &'static [[u32; 3]],
    /// Whether the workflow has no output.
    pub is_unit: bool,
}

struct Reader<'a>(std::slice::Iter<'a, u32>);

impl Reader<'_> {
    fn number(&mut self) -> usize {
        self.0.next().copied().unwrap_or_default() as usize
    }

    fn list<T>(&mut self, mut item: impl FnMut(&mut Self) -> T) -> Vec<T> {
        let length = self.number();
        (0..length).map(|_| item(self)).collect()
    }
}

impl Shape {
    /// The graph.
    pub fn graph(&self) -> Graph<&'static str> {
        let mut reader = Reader(self.numbers.iter());
        let edges = reader.list(|r| Edge { from: r.number(), to: r.number() });
        let choices: Vec<Vec<Choice>> =
            self.names.iter().map(|_| reader.list(|r| Choice { edges: r.list(Reader::number) })).collect();
        let nodes = self.names.iter().zip(choices).map(|(name, choices)| {
            let ways = reader.list(|r| match r.number() {
                0 => Way::Plain(r.number()),
                1 => Way::All(r.list(|r| r.list(Reader::number))),
                _ => Way::Any(r.list(Reader::number)),
            });
            NodeData { id: *name, choices, ways }
        });
        Graph { nodes: nodes.collect(), edges }
    }

    /// The plan that was derived from the graph when it was compiled.
    pub fn plan(graph: &Graph<&'static str>) -> Plan {
        match analyse(graph) {
            Ok(plan) => plan,
            Err(problems) => unreachable!("the macro emits proven graphs only, but this one has {problems:?}"),
        }
    }
}
