//! The runs that are looked at.

use std::error::Error;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use futures::future::try_join_all;
use graphweft::Signal;
use graphweft::prelude::*;
use graphweft::store::{NewRun, Store};
use serde_json::json;

/// Begins a run, once all who watch are there.
pub(crate) const GO: Signal<()> = Signal::new("go");

#[node]
async fn gate(n: u32, ctx: &Context) -> u32 {
    ctx.wait(GO).await;
    n
}

#[node]
async fn many(n: u32) -> Vec<u32> {
    (0..n).collect()
}

#[node]
async fn one(n: u32) -> u32 {
    n + 1
}

#[node]
async fn count(all: Vec<u32>) -> u32 {
    all.len() as u32
}

workflow! {
    /// Two events an item, as fast as they come.
    pub(crate) wide(u32) -> u32 { START => gate => many => [one] => count; }
}

#[node]
async fn say(seconds: u32, ctx: &Context) -> u32 {
    let mut tick = tokio::time::interval(Duration::from_millis(1));
    for n in 0..seconds * 1000 {
        tick.tick().await;
        ctx.message(format!("message {n}"));
    }
    seconds
}

workflow! {
    /// A thousand events a second.
    pub(crate) talks(u32) -> u32 { START => gate => say; }
}

pub(crate) async fn engine(store: &Path) -> Result<Engine, Box<dyn Error>> {
    let store = SqliteStore::open(store).await?;
    Ok(Engine::builder().store(store).register::<wide>().register::<talks>().build()?)
}

/// Adds runs of which nothing is recorded but that they exist.
pub(crate) async fn add_runs(store: &Path, runs: usize) -> Result<(), Box<dyn Error>> {
    let store = SqliteStore::open(store).await?;
    let graph = Arc::new((7, json!({})));
    let begin = SystemTime::now();
    for first in (0..runs).step_by(1000) {
        let created = (first..runs.min(first + 1000)).map(|n| {
            let workflow = ["checkout", "refund", "audit"][n % 3];
            let mut run = NewRun::new(format!("run-{n}"), workflow, Arc::clone(&graph), begin);
            run.tags = [("tenant".to_owned(), format!("t{}", n % 50))].into();
            store.create(run)
        });
        try_join_all(created).await?;
    }
    Ok(())
}
