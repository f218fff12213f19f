//! `takeln` with its SQLite checkpointer, which writes as SQLite does where nothing is said: synchronous=FULL. That the file
//! has a write-ahead log is told to it beforehand.

use std::path::Path;
use std::sync::Arc;

use async_trait::async_trait;
use takeln::{Graph, GraphError, Node, NodeContext, NodeOutput, SqliteCheckpointer};

use super::{NODES, Work, add_one};

#[derive(Clone, Default, serde::Serialize, serde::Deserialize)]
struct State {
    n: u64,
}

struct AddOne;

#[async_trait]
impl Node<State> for AddOne {
    async fn call(&self, _context: NodeContext, mut state: State) -> Result<NodeOutput<State>, GraphError> {
        state.n = add_one(state.n);
        Ok(NodeOutput::bare(state))
    }
}

pub(super) fn durable(directory: &Path) -> Work {
    let file = directory.join("takeln.db");
    let connection = rusqlite::Connection::open(&file).expect("a new file");
    connection.pragma_update(None, "journal_mode", "WAL").expect("SQLite knows it");
    let checkpointer = Arc::new(SqliteCheckpointer::new(&file.to_string_lossy()).expect("a new file"));
    let mut graph = Graph::new();
    for n in 0..NODES {
        graph.add_node(format!("n{n}"), AddOne);
        let next = if n + 1 < NODES { format!("n{}", n + 1) } else { "__END__".to_owned() };
        graph.add_edge(&format!("n{n}"), &next);
    }
    let graph = Arc::new(graph);
    let mut run = 0_u64;
    super::again(move || {
        run += 1;
        let (graph, checkpointer, thread) = (graph.clone(), checkpointer.clone(), format!("run-{run}"));
        async move {
            let state = graph.run(&thread, State::default(), "n0", &*checkpointer, None).await.expect("it runs");
            assert_eq!(state.n, NODES);
        }
    })
}
