//! Very many runs under way at once.

use std::path::Path;
use std::time::Instant;

use futures::future::join_all;
use graphweft::prelude::*;
use graphweft::store::{Durability, SqliteStore};
use serde_json::{Value, json};
use tokio::sync::Semaphore;

use super::{resident, runtime};

/// How many runs have come to the gate.
static CAME: Semaphore = Semaphore::const_new(0);
static GATE: Semaphore = Semaphore::const_new(0);

#[node]
async fn gate(n: u64) -> u64 {
    CAME.add_permits(1);
    GATE.acquire().await.expect("nobody closes it").forget();
    n + 1
}

workflow! { gated(u64) -> u64 { START => gate; } }

/// So many runs, each with a node under way.
pub(super) fn at_once(count: u64, directory: Option<&Path>) -> Value {
    runtime().block_on(async {
        let mut builder = Engine::builder().register::<gated>();
        if let Some(directory) = directory {
            let store = SqliteStore::builder().durability(Durability::Relaxed).open(directory.join("at-once.db")).await;
            builder = builder.store(store.expect("a new file"));
        }
        let engine = builder.build().expect("an engine");
        let permits = u32::try_from(count).expect("not that many");
        let begin_all = || async {
            let runs = join_all((0..count).map(|n| engine.start::<gated>(n).into_future())).await;
            CAME.acquire_many(permits).await.expect("nobody closes it").forget();
            runs
        };
        let before = resident();
        let begun = Instant::now();
        let runs = begin_all().await;
        let bytes = (resident() - before) / count as f64;
        GATE.add_permits(permits as usize);
        join_all(runs.iter().map(|run| run.as_ref().expect("a store that works").result())).await;
        json!({ "bytes": bytes, "ns": begun.elapsed().as_nanos() as f64 / count as f64 })
    })
}
