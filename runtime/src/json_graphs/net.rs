//! Graphs from a line of text: `START>a; a>ok:b; a>err:c; (b,c)>d; x|y>e; d>END`. In a group a place may be fed by
//! several edges, `(b/c:x,d)`. Routed edges name their label, plain ones go with every label.

use std::collections::BTreeMap;

use graphweft_graph::{Choice, Graph, NodeIx, Plan, Problem, Way, analyse};

pub(crate) struct Net {
    pub(crate) graph: Graph<String>,
    pub(crate) plan: Plan,
    pub(crate) labels: Vec<Vec<String>>,
}

struct Draft {
    graph: Graph<String>,
    nodes: BTreeMap<String, NodeIx>,
    labels: Vec<Vec<String>>,
    plain: Vec<(NodeIx, usize)>,
}

pub(crate) fn net(text: &str) -> Net {
    try_net(text).unwrap_or_else(|problems| panic!("{text}: {problems:?}"))
}

pub(crate) fn try_net(text: &str) -> Result<Net, Vec<Problem>> {
    let graph = Graph::new("START".to_owned(), "END".to_owned());
    let nodes = BTreeMap::from([("START".to_owned(), 0), ("END".to_owned(), 1)]);
    let mut draft = Draft { graph, nodes, labels: vec![Vec::new(), Vec::new()], plain: Vec::new() };
    for statement in text.split(';').map(str::trim).filter(|statement| !statement.is_empty()) {
        draft.statement(statement);
    }
    let Draft { mut graph, labels, plain, .. } = draft;
    for (node, edge) in plain {
        for choice in &mut graph.nodes[node].choices {
            choice.edges.push(edge);
        }
    }
    for node in &mut graph.nodes {
        for choice in &mut node.choices {
            choice.edges.sort_unstable();
        }
    }
    let plan = analyse(&graph)?;
    Ok(Net { graph, plan, labels })
}

impl Draft {
    fn statement(&mut self, statement: &str) {
        let (sources, target) = statement.split_once('>').expect("an arrow");
        let (label, target) = match target.split_once(':') {
            Some((label, target)) => (Some(label), target.trim()),
            None => (None, target.trim()),
        };
        let sources = sources.trim();
        let to = self.node(target);
        if let Some(places) = sources.strip_prefix('(').and_then(|sources| sources.strip_suffix(')')) {
            let places: Vec<Vec<usize>> = places
                .split(',')
                .map(|place| {
                    place
                        .split('/')
                        .map(|source| {
                            let (source, label) = source.split_once(':').map_or((source, None), |(s, l)| (s, Some(l)));
                            self.edge(source.trim(), label, to)
                        })
                        .collect()
                })
                .collect();
            self.graph.nodes[to].ways.push(Way::All(places));
        } else if sources.contains('|') {
            let edges = sources.split('|').map(|source| self.edge(source.trim(), None, to)).collect();
            self.graph.nodes[to].ways.push(Way::Any(edges));
        } else {
            let edge = self.edge(sources, label, to);
            self.graph.nodes[to].ways.push(Way::Plain(edge));
        }
    }

    fn node(&mut self, name: &str) -> NodeIx {
        if let Some(node) = self.nodes.get(name) {
            return *node;
        }
        let node = self.graph.add_node(name.to_owned());
        self.nodes.insert(name.to_owned(), node);
        self.labels.push(Vec::new());
        node
    }

    fn edge(&mut self, source: &str, label: Option<&str>, to: NodeIx) -> usize {
        let from = self.node(source);
        let edge = self.graph.add_edge(from, to);
        let Some(label) = label else {
            self.plain.push((from, edge));
            return edge;
        };
        let known = self.labels[from].iter().position(|known| known == label);
        let choice = known.unwrap_or_else(|| {
            self.labels[from].push(label.to_owned());
            if self.labels[from].len() > 1 {
                self.graph.nodes[from].choices.push(Choice::default());
            }
            self.labels[from].len() - 1
        });
        self.graph.nodes[from].choices[choice].edges.push(edge);
        edge
    }
}
