//! `dagrs`: a graph of nodes with channels between them, run once and asked for its values.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use dagrs::async_trait::async_trait;
use dagrs::loop_node::CountLoopCondition;
use dagrs::{
    Action, Content, DefaultNode, EnvVar, Graph, InChannels, LoopNode, Node, NodeId, NodeTable, OutChannels, Output,
};

use super::{NODES, TURNS, Work, add_one, each_made};

/// Adds one to the sum of what comes in.
struct AddOne;

#[async_trait]
impl Action for AddOne {
    async fn run(&self, input: &mut InChannels, output: &mut OutChannels, _env: Arc<EnvVar>) -> Output {
        let inputs = input.map(|content| content.ok().and_then(Content::into_inner::<u64>)).await;
        let n = add_one(inputs.into_iter().flatten().map(|n| *n).sum());
        output.broadcast(Content::new(n)).await;
        Output::Out(Some(Content::new(n)))
    }
}

/// Runs a graph and holds one node's value against what it has to be.
async fn run(mut graph: Graph, last: NodeId, n: u64) {
    graph.async_start().await.expect("it runs");
    assert_eq!(graph.get_results::<u64>()[&last].as_deref(), Some(&n));
}

pub(super) fn chain() -> Work {
    let make = || {
        let (mut graph, mut table) = (Graph::new(), NodeTable::new());
        let mut last = None;
        for n in 0..NODES {
            let node = DefaultNode::with_action(format!("n{n}"), AddOne, &mut table);
            let id = graph.add_node(node).expect("a new node");
            if let Some(last) = last.replace(id) {
                graph.add_edge(last, [id]).expect("both are there");
            }
        }
        (graph, last.expect("there are some"))
    };
    each_made(make, |(graph, last)| run(graph, last, NODES))
}

pub(super) fn fan_out() -> Work {
    let make = || {
        let (mut graph, mut table) = (Graph::new(), NodeTable::new());
        let mut add = |name: String| {
            let node = DefaultNode::with_action(name, AddOne, &mut table);
            graph.add_node(node).expect("a new node")
        };
        let (first, join) = (add("first".to_owned()), add("join".to_owned()));
        let branches: Vec<_> = (0..NODES).map(|n| add(format!("n{n}"))).collect();
        graph.add_edge(first, branches.clone()).expect("all are there");
        for branch in branches {
            graph.add_edge(branch, [join]).expect("both are there");
        }
        (graph, join)
    };
    // Each branch has the first one's one, and adds one to it.
    each_made(make, |(graph, join)| run(graph, join, 2 * NODES + 1))
}

/// Adds one to what its last turn has left: a jump back brings no value along.
struct Turn(AtomicU64);

#[async_trait]
impl Action for Turn {
    async fn run(&self, _input: &mut InChannels, _output: &mut OutChannels, _env: Arc<EnvVar>) -> Output {
        let n = add_one(self.0.load(Ordering::Relaxed));
        self.0.store(n, Ordering::Relaxed);
        Output::Out(Some(Content::new(n)))
    }
}

pub(super) fn rounds() -> Work {
    let make = || {
        let (mut graph, mut table) = (Graph::new(), NodeTable::new());
        let turn = DefaultNode::with_action("turn".to_owned(), Turn(AtomicU64::new(0)), &mut table);
        let turn_id = turn.id();
        // It jumps back so often: the first turn is before that.
        let jumps = CountLoopCondition::new(TURNS as usize - 1);
        let back = LoopNode::new("back".to_owned(), turn_id, jumps, &mut table);
        let back_id = back.id();
        graph.add_node(turn).expect("a new node");
        graph.add_node(back).expect("a new node");
        graph.add_edge(turn_id, [back_id]).expect("both are there");
        graph.set_max_loop_count(TURNS as usize);
        (graph, turn_id)
    };
    each_made(make, |(graph, turn)| run(graph, turn, TURNS))
}
