//! `adk-graph`: nodes that read and write channels; with a checkpointer for the durable step.

use std::path::Path;
use std::sync::Arc;

use adk_graph::checkpoint::SqliteCheckpointer;
use adk_graph::edge::{END, START};
use adk_graph::graph::{CompiledGraph, StateGraph};
use adk_graph::node::{ExecutionConfig, NodeContext, NodeOutput};
use adk_graph::state::State;
use serde_json::json;
use tokio::runtime::Runtime;

use super::{NODES, Synchronous, TURNS, Work, add_one, file, pool};

async fn one_more(context: NodeContext) -> adk_graph::error::Result<NodeOutput> {
    let n = context.get("n").and_then(|n| n.as_u64()).unwrap_or_default();
    Ok(NodeOutput::new().with_update("n", json!(add_one(n))))
}

fn work(graph: CompiledGraph) -> Work {
    let graph = Arc::new(graph.with_recursion_limit(3 * TURNS as usize));
    let mut run = 0_u64;
    super::again(move || {
        run += 1;
        let (graph, thread) = (graph.clone(), format!("run-{run}"));
        async move {
            let config = ExecutionConfig::new(&thread).with_recursion_limit(3 * TURNS as usize);
            graph.invoke(State::from([("n".to_owned(), json!(0))]), config).await.expect("it runs")
        }
    })
}

fn chain_graph() -> CompiledGraph {
    let mut graph = StateGraph::with_channels(&["n"]);
    for n in 0..NODES {
        graph = graph.add_node_fn(&format!("n{n}"), one_more);
    }
    graph = graph.add_edge(START, "n0");
    for n in 1..NODES {
        graph = graph.add_edge(&format!("n{}", n - 1), &format!("n{n}"));
    }
    graph.add_edge(&format!("n{}", NODES - 1), END).compile().expect("it is sound")
}

pub(super) fn chain() -> Work {
    work(chain_graph())
}

pub(super) fn fan_out() -> Work {
    let mut graph = StateGraph::with_channels(&["n"]).add_node_fn("first", one_more).add_node_fn("join", one_more);
    graph = graph.add_edge(START, "first");
    for n in 0..NODES {
        let name = format!("n{n}");
        graph = graph.add_node_fn(&name, one_more).add_edge("first", &name).add_edge(&name, "join");
    }
    work(graph.add_edge("join", END).compile().expect("it is sound"))
}

pub(super) fn rounds() -> Work {
    let route = |state: &State| {
        let n = state.get("n").and_then(|n| n.as_u64()).unwrap_or_default();
        if n < TURNS { "turn".to_owned() } else { END.to_owned() }
    };
    let graph = StateGraph::with_channels(&["n"]).add_node_fn("turn", one_more).add_edge(START, "turn");
    work(graph.add_conditional_edges("turn", route, [("turn", "turn"), (END, END)]).compile().expect("it is sound"))
}

pub(super) fn durable(runtime: &Runtime, directory: &Path, synchronous: Synchronous) -> Work {
    let checkpointer = runtime.block_on(async {
        let pool = pool(&file(directory, "adk-graph", synchronous), synchronous).await;
        SqliteCheckpointer::from_pool(pool).await.expect("a new file")
    });
    work(chain_graph().with_checkpointer(checkpointer))
}
