//! `adk-graph`: super-steps over one map of values, in memory and with its SQLite checkpointer.
//!
//! How the file is written is up to whoever makes the pool of connections that the checkpointer is given. Where nothing is
//! said, SQLite writes with synchronous=FULL.

use std::path::Path;
use std::sync::Arc;

use adk_graph::prelude::*;
use sqlx::sqlite::SqliteSynchronous;
use tokio::runtime::Runtime;

use super::{NODES, TURNS, Work, add_one, sqlite};

async fn one_more(context: NodeContext) -> Result<NodeOutput> {
    let n = context.get_as::<u64>("n").unwrap_or_default();
    Ok(NodeOutput::new().with_update("n", json!(add_one(n))))
}

/// Each run is a thread of its own, and leaves a number in a channel.
fn work(graph: CompiledGraph, channel: &'static str, n: u64) -> Work {
    let graph = Arc::new(graph);
    let mut run = 0_u64;
    super::again(move || {
        run += 1;
        let (graph, thread) = (graph.clone(), format!("run-{run}"));
        async move {
            // In a loop it takes one step more to come to its end.
            let config = ExecutionConfig::new(&thread).with_recursion_limit(TURNS as usize + 1);
            let state = graph.invoke(State::new(), config).await.expect("it runs");
            assert_eq!(state[channel].as_f64(), Some(n as f64));
        }
    })
}

fn chain_of_nodes() -> CompiledGraph {
    let mut graph = StateGraph::with_channels(&["n"]);
    let mut last = START.to_owned();
    for n in 0..NODES {
        let name = format!("n{n}");
        graph = graph.add_node_fn(&name, one_more).add_edge(&last, &name);
        last = name;
    }
    graph.add_edge(&last, END).compile().expect("it is sound")
}

pub(super) fn chain() -> Work {
    work(chain_of_nodes(), "n", NODES)
}

/// The branches' values are summed where they are written, which makes a float of them.
pub(super) fn fan_out() -> Work {
    let schema = StateSchema::builder().channel_with_reducer("n", Reducer::Sum).channel("joined").build();
    let mut graph = StateGraph::new(schema);
    for n in 0..NODES {
        let name = format!("n{n}");
        graph = graph.add_node_fn(&name, one_more).add_edge(START, &name).add_edge(&name, "join");
    }
    let join = |context: NodeContext| async move {
        let sum = context.get_as::<f64>("n").unwrap_or_default();
        Ok(NodeOutput::new().with_update("joined", json!(sum)))
    };
    let graph = graph.add_node_fn("join", join).add_edge("join", END);
    work(graph.compile().expect("it is sound"), "joined", NODES)
}

pub(super) fn rounds() -> Work {
    let again = |state: &State| if state["n"].as_u64() < Some(TURNS) { "turn" } else { END }.to_owned();
    let graph = StateGraph::with_channels(&["n"])
        .add_node_fn("turn", one_more)
        .add_edge(START, "turn")
        .add_conditional_edges("turn", again, [("turn", "turn"), (END, END)]);
    work(graph.compile().expect("it is sound"), "n", TURNS)
}

pub(super) fn durable(runtime: &Runtime, directory: &Path, synchronous: SqliteSynchronous) -> Work {
    let file = sqlite::file(directory, "adk-graph", &synchronous);
    let checkpointer = runtime.block_on(async {
        let pool = sqlite::pool(&file, synchronous).await;
        SqliteCheckpointer::from_pool(pool).await.expect("a new file")
    });
    work(chain_of_nodes().with_checkpointer(checkpointer), "n", NODES)
}
