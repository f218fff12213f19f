//! Makes a graph smaller while something holds of it.

use graphweft_graph::{EdgeIx, Graph, NodeIx, Way};

/// A graph from which nothing can be taken away without losing what holds.
pub fn shrink(mut graph: Graph<String>, holds: impl Fn(&Graph<String>) -> bool) -> Graph<String> {
    loop {
        let smaller = smaller(&graph).into_iter().find(|graph| holds(graph));
        match smaller {
            Some(smaller) => graph = smaller,
            None => return graph,
        }
    }
}

/// Graphs from which one thing has been taken.
pub fn smaller(graph: &Graph<String>) -> Vec<Graph<String>> {
    let mut all = Vec::new();
    for node in 2..graph.nodes.len() {
        all.push(without_node(graph, node));
    }
    for edge in 0..graph.edges.len() {
        let mut graph = graph.clone();
        without_edge(&mut graph, edge);
        all.push(graph);
    }
    for (node, data) in graph.nodes.iter().enumerate() {
        for choice in 0..data.choices.len() {
            if data.choices.len() > 1 {
                let mut graph = graph.clone();
                graph.nodes[node].choices.remove(choice);
                let taken =
                    |graph: &Graph<String>, edge| graph.nodes[node].choices.iter().any(|c| c.edges.contains(&edge));
                while let Some(edge) =
                    (0..graph.edges.len()).find(|edge| graph.edges[*edge].from == node && !taken(&graph, *edge))
                {
                    without_edge(&mut graph, edge);
                }
                all.push(graph);
            }
        }
    }
    // A node that only hands on: its way in goes to where it leads.
    for node in 2..graph.nodes.len() {
        if let ([way @ Way::Plain(into)], [choice]) = (&graph.nodes[node].ways[..], &graph.nodes[node].choices[..])
            && let [out] = choice.edges[..]
            && graph.edges[out].to != node
        {
            let (into, out, _) = (*into, out, way);
            let mut graph = graph.clone();
            graph.edges[out].from = graph.edges[into].from;
            let from = graph.edges[into].from;
            for choice in &mut graph.nodes[from].choices {
                if choice.edges.contains(&into) {
                    choice.edges.push(out);
                }
            }
            graph.nodes[node].choices[0].edges.clear();
            without_edge(&mut graph, into);
            all.push(without_node(&graph, node));
        }
    }
    all
}

/// Takes an edge out of the table, its choices and its way.
pub fn without_edge(graph: &mut Graph<String>, gone: EdgeIx) {
    graph.edges.remove(gone);
    let moved = |edge: EdgeIx| if edge > gone { edge - 1 } else { edge };
    let keep = |edges: &mut Vec<EdgeIx>| {
        edges.retain(|edge| *edge != gone);
        edges.iter_mut().for_each(|edge| *edge = moved(*edge));
    };
    for node in &mut graph.nodes {
        node.choices.iter_mut().for_each(|choice| keep(&mut choice.edges));
        node.ways.retain_mut(|way| match way {
            Way::Plain(edge) => {
                let stays = *edge != gone;
                *edge = moved(*edge);
                stays
            }
            Way::All(places) => {
                places.iter_mut().for_each(keep);
                places.retain(|place| !place.is_empty());
                !places.is_empty()
            }
            Way::Any(edges) => {
                keep(edges);
                !edges.is_empty()
            }
        });
    }
}

fn without_node(graph: &Graph<String>, gone: NodeIx) -> Graph<String> {
    let mut graph = graph.clone();
    while let Some(edge) = graph.edges.iter().position(|edge| edge.from == gone || edge.to == gone) {
        without_edge(&mut graph, edge);
    }
    graph.nodes.remove(gone);
    for edge in &mut graph.edges {
        edge.from -= usize::from(edge.from > gone);
        edge.to -= usize::from(edge.to > gone);
    }
    graph
}
