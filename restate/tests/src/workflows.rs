//! Workflows whose nodes leave a line in a ledger outside before and after their work.

use std::fs::OpenOptions;
use std::io::Write;
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use graphweft::prelude::*;

/// The file that every attempt at a node adds its lines to.
#[must_use]
pub fn ledger() -> PathBuf {
    PathBuf::from(std::env::var_os("GRAPHWEFT_LEDGER").expect("the harness sets it"))
}

/// Adds a line to the ledger.
pub(crate) fn note(what: &str, run: &str, path: &str) {
    let micros = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_micros();
    let line = format!("{what} {micros} {run} {path} {}\n", std::process::id());
    let mut file = OpenOptions::new().create(true).append(true).open(ledger()).expect("the ledger can be written to");
    file.write_all(line.as_bytes()).expect("the ledger can be written to");
}

/// The number after its work, which takes some time.
async fn works(n: u64, ctx: &Context) -> u64 {
    works_for(n, ctx.run_id(), &ctx.path()).await
}

async fn works_for(n: u64, run: &str, path: &str) -> u64 {
    note("start", run, path);
    tokio::time::sleep(Duration::from_millis(15)).await;
    note("end", run, path);
    n + 1
}

#[node]
async fn one(n: u64, ctx: &Context) -> u64 {
    works(n, ctx).await
}
#[node]
async fn two(n: u64, ctx: &Context) -> u64 {
    works(n, ctx).await
}
#[node]
async fn split(n: u64) -> Vec<u64> {
    (0..8).map(|i| n + i).collect()
}
#[node]
async fn each(n: u64, ctx: &Context) -> u64 {
    works(n, ctx).await
}
#[node]
async fn sum(all: Vec<u64>) -> u64 {
    all.iter().sum()
}
#[node]
async fn rests(n: u64, ctx: &Context) -> u64 {
    ctx.sleep(Duration::from_secs(2)).await;
    works(n, ctx).await
}
#[node]
async fn asks(n: u64, ctx: &Context) -> u64 {
    let more: u64 = ctx.ask("more", "How many more?").await;
    works(n + more, ctx).await
}
#[node]
async fn counts(n: u64, ctx: &Context) -> Result<u64, String> {
    let mut sum = 0;
    for step in 0..n {
        let counted = ctx.step("count", || async { Ok::<u64, String>(1) }).key(step).await;
        sum += counted.map_err(|error| error.to_string())?;
    }
    Ok(sum)
}

#[node(pool = "far")]
async fn far(n: u64, ctx: &PoolContext) -> u64 {
    works_for(n, ctx.run_id(), &ctx.path()).await
}
#[node(pool = "far", at_most_once)]
async fn far_once(n: u64, ctx: &PoolContext) -> u64 {
    works_for(n, ctx.run_id(), &ctx.path()).await
}

workflow! {
    /// Nodes here and in a pool.
    pub fan(u64) -> u64 {
        START => split => [far] => sum;
        sum => END;
    }
}

workflow! {
    /// A node in a pool that is attempted once.
    pub once(u64) -> u64 {
        START => far_once;
        far_once => END;
    }
}

#[node(pool = "far")]
async fn naps(millis: u64) -> u64 {
    tokio::time::sleep(Duration::from_millis(millis)).await;
    1
}
#[node]
async fn same((count, millis): (u64, u64)) -> Vec<u64> {
    (0..count).map(|_| millis).collect()
}

workflow! {
    /// So many nodes in a pool that take so many milliseconds.
    pub frames((u64, u64)) -> u64 {
        START => same => [naps] => sum;
        sum => END;
    }
}

workflow! {
    /// Nodes one after another, side by side, and over a wait.
    pub batch(u64) -> u64 {
        START => one => two => split => [each] => sum => rests;
        rests => END;
    }
}

workflow! {
    /// Waits for a person.
    pub approval(u64) -> u64 {
        START => one => asks => two;
        two => END;
    }
}

workflow! {
    /// As many steps as the input says.
    pub long(u64) -> u64 {
        START => counts;
        counts => END;
    }
}

#[node]
async fn grow(bytes: usize) -> String {
    "x".repeat(bytes)
}
#[node]
async fn measure(text: String) -> usize {
    text.len()
}

workflow! {
    /// Has a large value between two nodes.
    pub large(usize) -> usize {
        START => grow => measure;
        measure => END;
    }
}

/// What the workflow `fan` gives.
#[must_use]
pub fn of_fan(n: u64) -> u64 {
    (0..8).map(|i| n + i + 1).sum()
}

/// What the workflow `batch` gives.
#[must_use]
pub fn of_batch(n: u64) -> u64 {
    (0..8).map(|i| n + 2 + i + 1).sum::<u64>() + 1
}
