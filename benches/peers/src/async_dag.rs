//! `async_dag`: a graph is made, run once, and asked for its values. It has no loops.

use async_dag::Graph;

use super::{NODES, Work, each_made};

async fn add_one(n: u64) -> u64 {
    super::add_one(n)
}

pub(super) fn chain() -> Work {
    let make = || {
        let mut graph = Graph::new();
        let mut last = graph.add_task(|| async { 1_u64 });
        for _ in 0..NODES {
            last = graph.add_child_task(last, add_one, 0).expect("it fits");
        }
        (graph, last)
    };
    each_made(make, |(mut graph, last)| async move {
        graph.run().await;
        assert_eq!(graph.get_value::<u64>(last), Some(NODES + 1));
    })
}

/// `run` ends when all have ended, so that it is the join: a task cannot have a hundred parameters.
pub(super) fn fan_out() -> Work {
    let make = || {
        let mut graph = Graph::new();
        let first = graph.add_task(|| async { 1_u64 });
        let branches: Vec<_> = (0..NODES).map(|_| graph.add_child_task(first, add_one, 0).expect("it fits")).collect();
        (graph, branches)
    };
    each_made(make, |(mut graph, branches)| async move {
        graph.run().await;
        let sum = branches.into_iter().filter_map(|branch| graph.get_value::<u64>(branch)).sum::<u64>();
        assert_eq!(sum, 2 * NODES);
    })
}
