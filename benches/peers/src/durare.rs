//! `durare`: a workflow of a hundred steps.

use std::path::Path;
use std::sync::Arc;

use durare::{DurableContext, DurableEngine, Result, SqliteProvider, WorkflowOptions};
use tokio::runtime::Runtime;

use super::{NODES, Synchronous, Work, file, pool};

#[durare::step]
async fn add_one(_ctx: &DurableContext, n: u64) -> Result<u64> {
    Ok(super::add_one(n))
}

#[durare::workflow]
async fn chain(ctx: DurableContext, mut n: u64) -> Result<u64> {
    for _ in 0..NODES {
        n = add_one(&ctx, n).await?;
    }
    Ok(n)
}

pub(super) fn durable(runtime: &Runtime, directory: &Path, synchronous: Synchronous) -> Work {
    let engine = runtime.block_on(async {
        let pool = pool(&file(directory, "durare", synchronous), synchronous).await;
        DurableEngine::new(Arc::new(SqliteProvider::from_pool(pool))).await.expect("a new file")
    });
    let engine = Arc::new(engine);
    let mut run = 0_u64;
    super::again(move || {
        run += 1;
        let (engine, id) = (engine.clone(), format!("run-{run}"));
        async move {
            let handle = engine.start_with(Chain, 0, WorkflowOptions::with_id(&id)).await.expect("it starts");
            assert_eq!(handle.await.expect("it runs"), NODES);
        }
    })
}
