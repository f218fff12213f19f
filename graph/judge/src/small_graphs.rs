//! Every graph of a size.

use graphweft_graph::{Choice, END, EdgeIx, Graph, NodeIx, START, Way};

/// Gives every graph of START, END and some more nodes with at most so many edges, in which a node has one choice or
/// two, and two nodes are joined by one edge at most. What comes into a node is parted into ways in every manner: plain
/// edges, and joins of two or more edges, each with its own place or with places that several feed.
///
/// A graph with a node that cannot be reached is refused however its ways are parted; it is given once, with plain edges. Of graphs that differ only in the order of a node's two choices, one is given. A collecting node is, to the proof, a
/// join of places for each edge; it is not told apart here.
pub fn every_graph(nodes: usize, edges: usize, give: &mut impl FnMut(&Graph<String>)) {
    let names = ["a", "b", "c", "d", "e"];
    let mut graph = Graph::new("START".to_string(), "END".to_string());
    for name in &names[..nodes] {
        graph.add_node(name.to_string());
    }
    choose(&mut graph, 0, edges, give);
}

/// The edges out of a node, and out of those after it.
fn choose(graph: &mut Graph<String>, node: NodeIx, most: usize, give: &mut impl FnMut(&Graph<String>)) {
    if node == graph.nodes.len() {
        if all_on_the_way(graph) {
            return part(graph, 1, give);
        }
        for to in 1..graph.nodes.len() {
            let into = (0..graph.edges.len()).filter(|edge| graph.edges[*edge].to == to);
            graph.nodes[to].ways = into.map(Way::Plain).collect();
        }
        return give(graph);
    }
    if node == END {
        return choose(graph, node + 1, most, give);
    }
    let targets = graph.nodes.len() - 1;
    let sets = 1u32 << targets;
    for first in 0..sets {
        // The second choice; `sets` stands for none.
        for second in (first + 1..sets).chain([sets]) {
            let taken = if second == sets { first } else { first | second };
            let before = graph.edges.len();
            if before + taken.count_ones() as usize > most {
                continue;
            }
            let mut choices = vec![Choice::default(); if second == sets { 1 } else { 2 }];
            for target in 0..targets {
                if taken & 1 << target != 0 {
                    let edge = graph.add_edge(node, target + 1);
                    for (choice, set) in choices.iter_mut().zip([first, second]) {
                        if set & 1 << target != 0 {
                            choice.edges.push(edge);
                        }
                    }
                }
            }
            graph.nodes[node].choices = choices;
            choose(graph, node + 1, most, give);
            graph.edges.truncate(before);
        }
    }
}

fn all_on_the_way(graph: &Graph<String>) -> bool {
    let mut reached = vec![false; graph.nodes.len()];
    reached[START] = true;
    for _ in &graph.nodes {
        graph.edges.iter().for_each(|edge| reached[edge.to] |= reached[edge.from]);
    }
    reached.into_iter().all(|reached| reached)
}

/// The ways into a node, and into those after it.
fn part(graph: &mut Graph<String>, node: NodeIx, give: &mut impl FnMut(&Graph<String>)) {
    if node == graph.nodes.len() {
        return give(graph);
    }
    let into: Vec<EdgeIx> = (0..graph.edges.len()).filter(|edge| graph.edges[*edge].to == node).collect();
    for parts in partitions(&into) {
        for ways in ways_of(&parts) {
            graph.nodes[node].ways = ways;
            part(graph, node + 1, give);
        }
    }
}

/// Every way to part edges into non-empty sets.
fn partitions(edges: &[EdgeIx]) -> Vec<Vec<Vec<EdgeIx>>> {
    let Some((last, rest)) = edges.split_last() else { return vec![vec![]] };
    let mut all = Vec::new();
    for parts in partitions(rest) {
        for at in 0..parts.len() {
            let mut with = parts.clone();
            with[at].push(*last);
            all.push(with);
        }
        let mut with = parts;
        with.push(vec![*last]);
        all.push(with);
    }
    all
}

/// A single edge is plain; several are a join, with every manner of parting them into places.
fn ways_of(parts: &[Vec<EdgeIx>]) -> Vec<Vec<Way>> {
    let Some((last, rest)) = parts.split_last() else { return vec![vec![]] };
    let of_last: Vec<Way> = match last[..] {
        [edge] => vec![Way::Plain(edge)],
        _ => partitions(last).into_iter().map(Way::All).collect(),
    };
    let mut all = Vec::new();
    for ways in ways_of(rest) {
        for way in &of_last {
            all.push(ways.iter().cloned().chain([way.clone()]).collect());
        }
    }
    all
}
