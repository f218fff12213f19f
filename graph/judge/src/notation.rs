//! A line of text for a graph, and back.
//!
//! `a => b` is a plain edge, `(a, b) => c` a join, `a | b => c` a collecting node, and a chain is as in the language.
//! `a.x => b` is the edge of label `x`, `a.x.y` that of both, `a => <x: b, y: c>` short for `a.x => b; a.y => c`. The
//! labels of a node are those that are written somewhere; `a.x => -` is an arm that leads nowhere. A plain edge stands
//! in every choice. `(a & b, c) => d` has a place that a or b feeds.

use std::collections::BTreeMap;
use std::fmt::Write;

use graphweft_graph::{Choice, EdgeIx, Graph, NodeIx, Way};

/// A graph whose nodes are called by their names.
pub type Named = Graph<String>;

/// Reads a graph. Panics where the text is not one, which is fine in a test.
pub fn read(text: &str) -> Named {
    let mut reader = Reader { graph: Graph::new("START".into(), "END".into()), labels: BTreeMap::new(), taken: vec![] };
    for statement in text.split(';').map(str::trim).filter(|statement| !statement.is_empty()) {
        let parts: Vec<&str> = split_chain(statement);
        for pair in parts.windows(2) {
            reader.link(pair[0], pair[1]);
        }
    }
    reader.finish()
}

fn split_chain(statement: &str) -> Vec<&str> {
    statement.split("=>").map(str::trim).collect()
}

/// Splits at the commas that stand in no parentheses.
fn split_arms(arms: &str) -> Vec<&str> {
    let mut depth = 0;
    arms.split(|at: char| {
        depth += i32::from(at == '(') - i32::from(at == ')');
        at == ',' && depth == 0
    })
    .collect()
}

struct Reader {
    graph: Named,
    labels: BTreeMap<NodeIx, Vec<String>>,
    /// For each edge the labels that take it; none where it is plain.
    taken: Vec<Vec<String>>,
}

impl Reader {
    fn node(&mut self, name: &str) -> NodeIx {
        match self.graph.nodes.iter().position(|node| node.id == name) {
            Some(node) => node,
            None => self.graph.add_node(name.into()),
        }
    }

    fn link(&mut self, from: &str, to: &str) {
        if let Some(arms) = to.strip_prefix('<').and_then(|to| to.strip_suffix('>')) {
            for arm in split_arms(arms) {
                let (label, target) = arm.split_once(':').expect("label: target");
                self.link(&format!("{from}.{}", label.trim()), target.trim());
            }
        } else if to == "-" {
            self.source(from);
        } else if let Some(targets) = to.strip_prefix('(').and_then(|to| to.strip_suffix(')')) {
            targets.split(',').for_each(|to| self.link(from, to.trim()));
        } else {
            let from_node = from.split('.').next().unwrap_or_default();
            if !from_node.contains(['(', '|']) {
                self.node(from_node);
            }
            let to = self.node(to);
            let way = self.way(from, to);
            self.graph.nodes[to].ways.push(way);
        }
    }

    fn way(&mut self, from: &str, to: NodeIx) -> Way {
        if let Some(places) = from.strip_prefix('(').and_then(|from| from.strip_suffix(')')) {
            let place = |reader: &mut Self, place: &str| place.split('&').map(|from| reader.edge(from, to)).collect();
            return Way::All(places.split(',').map(|at| place(self, at)).collect());
        }
        if from.contains('|') {
            return Way::Any(from.split('|').map(|from| self.edge(from, to)).collect());
        }
        Way::Plain(self.edge(from, to))
    }

    fn edge(&mut self, from: &str, to: NodeIx) -> EdgeIx {
        let (node, labels) = self.source(from);
        self.taken.push(labels);
        self.graph.add_edge(node, to)
    }

    fn source(&mut self, from: &str) -> (NodeIx, Vec<String>) {
        let mut parts = from.trim().split('.');
        let node = parts.next().unwrap_or_default();
        let node = self.node(node);
        let labels: Vec<String> = parts.map(String::from).collect();
        let known = self.labels.entry(node).or_default();
        for label in &labels {
            if !known.contains(label) {
                known.push(label.clone());
            }
        }
        (node, labels)
    }

    fn finish(mut self) -> Named {
        for (node, labels) in &self.labels {
            let choice = |label: Option<&String>| {
                let takes = |edge: &EdgeIx| {
                    let taken = &self.taken[*edge];
                    self.graph.edges[*edge].from == *node
                        && (taken.is_empty() || label.is_some_and(|label| taken.contains(label)))
                };
                Choice { edges: (0..self.taken.len()).filter(takes).collect() }
            };
            self.graph.nodes[*node].choices = match labels.is_empty() {
                true => vec![choice(None)],
                false => labels.iter().map(|label| choice(Some(label))).collect(),
            };
        }
        self.graph
    }
}

/// The text of a graph. Reading it gives the graph again, but for the order of nodes and edges, and labels are numbers.
pub fn write<Id: std::fmt::Display>(graph: &Graph<Id>) -> String {
    let source = |edge: EdgeIx| {
        let from = graph.edges[edge].from;
        let choices = &graph.nodes[from].choices;
        let mut text = graph.nodes[from].id.to_string();
        let taking: Vec<usize> = (0..choices.len()).filter(|at| choices[*at].edges.contains(&edge)).collect();
        if taking.len() < choices.len() {
            taking.iter().for_each(|at| text += &format!(".{at}"));
        }
        text
    };
    let mut text = String::new();
    for node in &graph.nodes {
        for (at, choice) in node.choices.iter().enumerate() {
            let only_plain = choice.edges.iter().all(|edge| node.choices.iter().all(|all| all.edges.contains(edge)));
            if node.choices.len() > 1 && only_plain {
                write!(text, "{}.{at} => -; ", node.id).expect("a string takes everything");
            }
        }
        for way in &node.ways {
            let from = match way {
                Way::Plain(edge) => source(*edge),
                Way::All(places) => {
                    let place = |place: &Vec<EdgeIx>| place.iter().map(|e| source(*e)).collect::<Vec<_>>().join(" & ");
                    format!("({})", places.iter().map(place).collect::<Vec<_>>().join(", "))
                }
                Way::Any(edges) => edges.iter().map(|edge| source(*edge)).collect::<Vec<_>>().join(" | "),
            };
            write!(text, "{from} => {}; ", node.id).expect("a string takes everything");
        }
    }
    text.trim_end().trim_end_matches(';').into()
}
