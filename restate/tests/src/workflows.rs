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

fn note(what: &str, ctx: &Context) {
    let micros = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_micros();
    let line = format!("{what} {micros} {} {} {}\n", ctx.run_id(), ctx.path(), std::process::id());
    let mut file = OpenOptions::new().create(true).append(true).open(ledger()).expect("the ledger can be written to");
    file.write_all(line.as_bytes()).expect("the ledger can be written to");
}

/// The number after its work, which takes some time.
async fn works(n: u64, ctx: &Context) -> u64 {
    note("start", ctx);
    tokio::time::sleep(Duration::from_millis(15)).await;
    note("end", ctx);
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

/// What the workflow `batch` gives.
#[must_use]
pub fn of_batch(n: u64) -> u64 {
    (0..8).map(|i| n + 2 + i + 1).sum::<u64>() + 1
}
