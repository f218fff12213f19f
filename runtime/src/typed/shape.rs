//! The graph in the form of the macro's expansion: two texts, since a literal costs rustc one token, however long it is.

use graphweft_graph::state_proof::numbers_of;
use graphweft_graph::{Choice, Edge, Graph, NodeData, Plan, Way, analyse};

/// A graph in the form in which expansions hold it.
pub struct Shape {
    /// [Packed](graphweft_graph::state_proof::pack). One after the other:
    /// - the length of the name of each node, START and END first;
    /// - the edges, as pairs;
    /// - for each node the list of its choices, each a list of edges;
    /// - for each node the list of its ways in: 0 and an edge, 1 and a list of places, which are lists of edges, or 2 and a list of
    ///   edges;
    /// - for each node the list of the lengths of its labels, empty if it is not routed;
    /// - the bounded arms: a node, its choice, and how often that may be taken.
    ///
    /// A list has its length before it, except where there is one thing for each node.
    pub numbers: &'static str,
    /// The names of all nodes, and then the labels of all nodes as they were written.
    pub texts: &'static str,
    /// Whether the workflow has no output.
    pub is_unit: bool,
}

/// What a [`Shape`] says.
pub(super) struct Shaped {
    pub(super) graph: Graph<&'static str>,
    /// For each node and choice, how its labels were written; an empty list for a node that is not routed.
    pub(super) labels: Vec<Vec<&'static str>>,
    /// The bounded arms: a node, its choice, and how often that may be taken.
    pub(super) bounds: Vec<((usize, usize), u32)>,
}

struct Reader<I> {
    numbers: I,
    texts: &'static str,
}

impl<I: Iterator<Item = u32>> Reader<I> {
    fn number(&mut self) -> usize {
        self.numbers.next().unwrap_or_default() as usize
    }

    fn list<T>(&mut self, mut item: impl FnMut(&mut Self) -> T) -> Vec<T> {
        let length = self.number();
        (0..length).map(|_| item(self)).collect()
    }

    fn text(&mut self) -> &'static str {
        let (text, rest) = self.texts.split_at(self.number());
        self.texts = rest;
        text
    }
}

impl Shape {
    /// The graph, with its labels.
    pub(super) fn read(&self) -> Shaped {
        let mut reader = Reader { numbers: numbers_of(self.numbers), texts: self.texts };
        let names = reader.list(Reader::text);
        let edges = reader.list(|r| Edge { from: r.number(), to: r.number() });
        let choices: Vec<Vec<Choice>> =
            names.iter().map(|_| reader.list(|r| Choice { edges: r.list(Reader::number) })).collect();
        let nodes = names.iter().zip(choices).map(|(name, choices)| {
            let ways = reader.list(|r| match r.number() {
                0 => Way::Plain(r.number()),
                1 => Way::All(r.list(|r| r.list(Reader::number))),
                _ => Way::Any(r.list(Reader::number)),
            });
            NodeData { id: *name, choices, ways }
        });
        let graph = Graph { nodes: nodes.collect(), edges };
        let labels = names.iter().map(|_| reader.list(Reader::text)).collect();
        let bounds = reader.list(|r| ((r.number(), r.number()), r.number() as u32));
        Shaped { graph, labels, bounds }
    }

    /// The plan that was derived from the graph when it was compiled.
    pub fn plan(graph: &Graph<&'static str>) -> Plan {
        match analyse(graph) {
            Ok(plan) => plan,
            Err(problems) => unreachable!("the macro emits proven graphs only, but this one has {problems:?}"),
        }
    }
}
