//! Every small graph with every placement of a reader, a writer and a failure.

use graphweft_graph::{END, START, analyse};
use graphweft_judge::judge::KeyUse;
use graphweft_judge::small_graphs;

use crate::case::{Agreed, Case};

/// Every graph of so many nodes besides START and END, with at most so many edges: one node reads, one or two others
/// write, and each choice of a writer that has two may be a failure.
fn agree(nodes: usize, edges: usize) {
    let mut total = Agreed::default();
    let mut cases = 0u64;
    small_graphs::every_graph(nodes, edges, &mut |graph| {
        if analyse(graph).is_err() {
            return;
        }
        let mut graphs = vec![graph.clone()];
        // `every_graph` leaves collecting nodes out: each join whose places have one edge is one as well.
        for node in 0..graph.nodes.len() {
            if let [graphweft_graph::Way::All(places)] = &graph.nodes[node].ways[..]
                && places.iter().all(|place| place.len() == 1)
                && node != END
            {
                let mut collecting = graph.clone();
                collecting.nodes[node].ways = vec![graphweft_graph::Way::Any(places.concat())];
                graphs.push(collecting);
            }
        }
        for graph in graphs {
            for failing in 0..1 << nodes {
                let is_used = (0..nodes).all(|at| failing & 1 << at == 0 || graph.nodes[2 + at].choices.len() > 1);
                if !is_used {
                    continue;
                }
                // Each node reads the first key and writes one of the other two; so every writer meets every reader.
                for writers in 0..1 << nodes {
                    let mut uses = vec![KeyUse::default(); graph.nodes.len()];
                    for (node, uses) in uses.iter_mut().enumerate().filter(|(node, _)| *node != START && *node != END) {
                        let at = node - 2;
                        uses.reads = 1;
                        uses.writes = u8::from(writers & 1 << at != 0);
                        uses.is_watched = true;
                        uses.failures = vec![failing & 1 << at != 0];
                    }
                    let case = Case { graph: graph.clone(), uses };
                    cases += 1;
                    match case.compare(100_000) {
                        Ok(Some(agreed)) => total.add(agreed),
                        Ok(None) => panic!("a sound graph is refused: {}", case.text()),
                        Err(why) => panic!("{}\n  {why}", case.text()),
                    }
                }
            }
        }
    });
    println!("{nodes} nodes, at most {edges} edges: {cases} cases, {total:?}");
    assert!(total.unwritten > 0 && total.unplayed == 0);
    assert!(nodes == 1 || (total.unwritten < total.reads && total.overlaps > 0));
}

/// The number for a build with optimisations, or a smaller one for one without.
const fn sized(optimised: usize, otherwise: usize) -> usize {
    if cfg!(debug_assertions) { otherwise } else { optimised }
}

#[test]
fn proofs_and_judge_agree_on_every_graph_of_one_node() {
    agree(1, 4);
}

#[test]
fn proofs_and_judge_agree_on_every_small_graph_of_two_nodes() {
    agree(2, sized(7, 4));
}

#[test]
fn proofs_and_judge_agree_on_every_small_graph_of_three_nodes() {
    agree(3, sized(5, 4));
}
