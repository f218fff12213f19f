//! `durare` with its SQLite provider. The one that it connects by itself writes with synchronous=NORMAL; it also takes a pool
//! of connections that write otherwise.

use std::path::Path;
use std::sync::Arc;

use durare::{DurableContext, DurableEngine, Result, SqliteProvider, WorkflowOptions};
use sqlx::sqlite::SqliteSynchronous;
use tokio::runtime::Runtime;

use super::{NODES, Work, add_one, sqlite};

#[durare::step]
async fn one_more(context: &DurableContext, n: u64) -> Result<u64> {
    Ok(add_one(n))
}

#[durare::workflow]
async fn steps(context: DurableContext, mut n: u64) -> Result<u64> {
    for _ in 0..NODES {
        n = one_more(&context, n).await?;
    }
    Ok(n)
}

pub(super) fn durable(runtime: &Runtime, directory: &Path, synchronous: SqliteSynchronous) -> Work {
    let file = sqlite::file(directory, "durare", &synchronous);
    let engine = runtime.block_on(async {
        let provider = match synchronous {
            SqliteSynchronous::Normal => SqliteProvider::connect(&format!("sqlite://{}", file.display())).await,
            other => Ok(SqliteProvider::from_pool(sqlite::pool(&file, other).await)),
        };
        let builder = DurableEngine::builder(Arc::new(provider.expect("a new file")));
        Arc::new(builder.build().await.expect("an engine"))
    });
    super::again(move || {
        let engine = engine.clone();
        async move {
            let run = engine.start_with(Steps, 0, WorkflowOptions::default()).await.expect("it starts");
            assert_eq!(run.await.expect("it runs"), NODES);
        }
    })
}
