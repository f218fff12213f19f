//! Every small graph: the analysis and the judge agree.

use crate::compare::{Agreed, compare};
use crate::{notation, small_graphs};

/// Compares every graph of so many nodes besides START and END, with at most so many edges.
fn agree(nodes: usize, edges: usize) {
    let (mut all, mut accepted, mut with_loops) = (0u64, 0u64, 0u64);
    small_graphs::every_graph(nodes, edges, &mut |graph| {
        all += 1;
        match compare(graph) {
            Ok(Agreed::Refused) => {}
            Ok(Agreed::Accepted { loops, .. }) => {
                accepted += 1;
                with_loops += u64::from(loops > 0);
            }
            Err(why) => panic!("{}\n  {why}", notation::write(graph)),
        }
    });
    println!(
        "{nodes} nodes, at most {edges} edges: {all} graphs, {accepted} accepted, {with_loops} of them with loops"
    );
    assert!(accepted > 0);
}

/// The number for a build with optimisations, or a smaller one for one without.
const fn sized(optimised: usize, otherwise: usize) -> usize {
    if cfg!(debug_assertions) { otherwise } else { optimised }
}

#[test]
fn the_analysis_and_the_judge_agree_on_every_graph_of_one_node() {
    agree(1, 4);
}

#[test]
fn the_analysis_and_the_judge_agree_on_every_small_graph_of_two_nodes() {
    agree(2, sized(7, 5));
}

#[test]
fn the_analysis_and_the_judge_agree_on_every_small_graph_of_three_nodes() {
    agree(3, sized(5, 4));
}
