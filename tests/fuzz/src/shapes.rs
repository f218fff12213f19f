//! Graphs made of bytes, and when two of them are the same but for the order of nodes and edges.

use arbitrary::{Result, Unstructured};
use graphweft_graph::picture::{EdgeKind, Picture, PictureEdge, PictureKind, PictureNode};
use graphweft_graph::{Choice, END, EdgeIx, Graph, NodeIx, START, Way};

/// A graph in which every edge stands in a choice of its source and in one way into its target, and every node has a
/// way in; sound or not.
pub(crate) fn graph(bytes: &mut Unstructured<'_>) -> Result<Graph<String>> {
    let mut graph = Graph::new("START".to_owned(), "END".to_owned());
    for node in 0..bytes.int_in_range(0..=6usize)? {
        graph.add_node(format!("n{node}"));
    }
    for node in (0..graph.nodes.len()).filter(|node| *node != END) {
        let arms = bytes.int_in_range(1..=3usize)?;
        graph.nodes[node].choices = vec![Choice::default(); arms];
    }
    for to in 1..graph.nodes.len() {
        for _ in 0..bytes.int_in_range(1..=2usize)? {
            let way = match bytes.int_in_range(0..=3u8)? {
                0 | 1 => Way::Plain(edge(bytes, &mut graph, to)?),
                2 => {
                    let mut places = Vec::new();
                    for _ in 0..bytes.int_in_range(1..=3usize)? {
                        places.push(edges(bytes, &mut graph, to)?);
                    }
                    Way::All(places)
                }
                _ => Way::Any([edges(bytes, &mut graph, to)?, edges(bytes, &mut graph, to)?].concat()),
            };
            graph.nodes[to].ways.push(way);
        }
    }
    Ok(graph)
}

fn edges(bytes: &mut Unstructured<'_>, graph: &mut Graph<String>, to: NodeIx) -> Result<Vec<EdgeIx>> {
    (0..bytes.int_in_range(1..=2usize)?).map(|_| edge(bytes, graph, to)).collect()
}

fn edge(bytes: &mut Unstructured<'_>, graph: &mut Graph<String>, to: NodeIx) -> Result<EdgeIx> {
    let sources: Vec<NodeIx> = (0..graph.nodes.len()).filter(|node| *node != END).collect();
    let from = *bytes.choose(&sources)?;
    let edge = graph.add_edge(from, to);
    let arms = graph.nodes[from].choices.len();
    let taken: u8 = bytes.arbitrary()?;
    let always = bytes.int_in_range(0..=arms - 1)?;
    for (arm, choice) in graph.nodes[from].choices.iter_mut().enumerate() {
        if arm == always || taken & (1 << arm) != 0 {
            choice.edges.push(edge);
        }
    }
    Ok(edge)
}

/// What a graph is, whatever the order of its nodes, edges and arms: for each node its ways in, place by place, and
/// what its arms take.
pub(crate) fn meaning(graph: &Graph<String>) -> Vec<String> {
    let name = |node: NodeIx| graph.nodes[node].id.as_str();
    // An edge is told by its place in the ways of its target.
    let mut keys = vec![String::new(); graph.edges.len()];
    for node in &graph.nodes {
        for (nth, way) in node.ways.iter().enumerate() {
            for (at, edge) in way.edges().enumerate() {
                keys[edge] = format!("{}/{nth}/{at}", node.id);
            }
        }
    }
    let mut lines: Vec<String> = Vec::new();
    for (at, node) in graph.nodes.iter().enumerate().filter(|(at, _)| *at != START) {
        let source = |edge: &EdgeIx| name(graph.edges[*edge].from).to_owned();
        let ways = node.ways.iter().map(|way| match way {
            Way::Plain(edge) => source(edge),
            Way::All(places) => {
                let places = places.iter().map(|place| place.iter().map(source).collect::<Vec<_>>().join(" & "));
                format!("({})", places.collect::<Vec<_>>().join(", "))
            }
            Way::Any(edges) => edges.iter().map(source).collect::<Vec<_>>().join(" | "),
        });
        lines.push(format!("{} => {}", ways.collect::<Vec<_>>().join("; "), name(at)));
    }
    for node in &graph.nodes {
        let mut arms: Vec<String> = node
            .choices
            .iter()
            .map(|choice| {
                let mut taken: Vec<&str> = choice.edges.iter().map(|edge| keys[*edge].as_str()).collect();
                taken.sort_unstable();
                taken.join(" ")
            })
            .collect();
        arms.sort_unstable();
        lines.push(format!("{}: {}", node.id, arms.join(", ")));
    }
    lines.sort_unstable();
    lines
}

/// A picture with any text on it.
pub(crate) fn picture(bytes: &mut Unstructured<'_>, deep: usize) -> Result<Picture> {
    let mut nodes = Vec::new();
    for _ in 0..bytes.int_in_range(1..=5usize)? {
        let kind = match bytes.int_in_range(0..=4u8)? {
            0 => PictureKind::Boundary,
            1 => PictureKind::Workflow,
            2 if deep > 0 => PictureKind::Each(Box::new(picture(bytes, deep - 1)?)),
            _ => PictureKind::Step,
        };
        nodes.push(PictureNode { name: bytes.arbitrary()?, kind, uses: Vec::new() });
    }
    let mut edges = Vec::new();
    for _ in 0..bytes.int_in_range(0..=6usize)? {
        let end = 0..=nodes.len() - 1;
        edges.push(PictureEdge {
            from: bytes.int_in_range(end.clone())?,
            to: bytes.int_in_range(end)?,
            label: bytes.arbitrary()?,
            kind: *bytes.choose(&[EdgeKind::Then, EdgeKind::Joins, EdgeKind::Collects])?,
        });
    }
    Ok(Picture { nodes, edges })
}
