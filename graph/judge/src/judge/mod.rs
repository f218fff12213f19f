//! The judge: a plain interpreter of the meaning of graphs, as `analysis` of `graphweft-graph` gives it, that plays every
//! choice of routes.
//!
//! It shares nothing with the analysis but the model. `tags` finds the loops, and with them the tag of each token, in
//! the plainest way; `play` puts tokens on edges until nothing moves, in every way in which the nodes can choose.

mod interleavings;
mod play;
mod state;
mod tags;

use std::collections::BTreeSet;

use graphweft_graph::{EdgeIx, Graph, NodeIx, START};

pub use interleavings::interleave;
pub use state::{KeyUse, Seen, play_state};
pub use tags::Loop;

/// What the judge found out about a graph that it accepts.
pub struct Verdict {
    /// The loops, the outer ones before those inside them.
    pub loops: Vec<Loop>,
    /// For each node the loops of its tag, the outermost first.
    pub chain: Vec<Vec<usize>>,
    /// For each edge, the loop whose next turn it begins.
    pub back: Vec<Option<usize>>,
    /// For each node and each way in, every set of places that was seen to hold a value when it fired.
    pub fired: Vec<Vec<BTreeSet<u64>>>,
}

/// Plays a graph.
///
/// # Errors
/// Why the graph is not sound.
pub fn judge<Id>(graph: &Graph<Id>) -> Result<Verdict, String> {
    check_edges(graph)?;
    check_reachable(graph)?;
    check_stopping(graph)?;
    let mut tags = tags::Tags::derive(graph)?;
    loop {
        match play::play(graph, &tags) {
            play::Outcome::Sound(fired) => {
                let tags::Tags { loops, chain, back } = tags;
                return Ok(Verdict { loops, chain, back, fired });
            }
            play::Outcome::Broken(why) => return Err(why),
            // Branches on the side were seen. With their tags, play it all again.
            play::Outcome::Sides(sides) => {
                for (of, edge) in sides {
                    tags.put_on_side(graph, of, edge)?;
                }
            }
        }
    }
}

fn check_edges<Id>(graph: &Graph<Id>) -> Result<(), String> {
    for (second, b) in graph.edges.iter().enumerate() {
        for (first, a) in graph.edges[..second].iter().enumerate() {
            let choices = &graph.nodes[a.from].choices;
            let same = |edge: EdgeIx| choices.iter().map(move |choice| choice.edges.contains(&edge));
            if a == b && same(first).eq(same(second)) {
                return Err(format!("edge {second} repeats edge {first}"));
            }
        }
    }
    Ok(())
}

fn check_reachable<Id>(graph: &Graph<Id>) -> Result<(), String> {
    let reached = tags::behind(graph, START, |_| true);
    match (0..graph.nodes.len()).find(|node| *node != START && !reached.contains(node)) {
        Some(node) => Err(format!("node {node} is not reachable")),
        None => Ok(()),
    }
}

/// Some label of a node leads only to nodes that can stop; a terminal node can.
fn check_stopping<Id>(graph: &Graph<Id>) -> Result<(), String> {
    let mut stops: BTreeSet<NodeIx> = BTreeSet::new();
    loop {
        let before = stops.len();
        for (node, data) in graph.nodes.iter().enumerate() {
            let leads_only_to_stops =
                |edges: &[EdgeIx]| edges.iter().all(|edge| stops.contains(&graph.edges[*edge].to));
            if data.choices.iter().any(|choice| leads_only_to_stops(&choice.edges)) {
                stops.insert(node);
            }
        }
        if stops.len() == graph.nodes.len() {
            return Ok(());
        }
        if stops.len() == before {
            return Err("some node cannot stop".into());
        }
    }
}
