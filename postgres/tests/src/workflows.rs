//! Workflows whose nodes leave a line in a ledger outside before and after their work.

use std::fs::OpenOptions;
use std::io::Write;
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use graphweft::prelude::*;
use graphweft::{ChildError, ErrorText, RetryPolicy};
use graphweft_postgres::{PostgresContext, Transaction};

/// The file that every attempt at a node adds its lines to.
#[must_use]
pub fn ledger() -> PathBuf {
    PathBuf::from(std::env::var_os("GRAPHWEFT_LEDGER").expect("the harness sets it"))
}

fn note(what: &str, run: &str, path: &str) {
    let micros = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_micros();
    let line = format!("{what} {micros} {run} {path}\n");
    let mut file = OpenOptions::new().create(true).append(true).open(ledger()).expect("the ledger can be written to");
    file.write_all(line.as_bytes()).expect("the ledger can be written to");
}

/// The number after its work, which takes some time.
async fn works(n: u64, ctx: &Context) -> u64 {
    work(n, ctx.run_id(), &ctx.path(), Duration::from_millis(15)).await
}

async fn work(n: u64, run: &str, path: &str, time: Duration) -> u64 {
    note("start", run, path);
    tokio::time::sleep(time).await;
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

/// The tables of a bank, in a schema of this name: what is taken from an account is given to another one.
#[must_use]
pub fn bank_tables(schema: &str) -> String {
    format!(
        "create schema {schema};
         create table {schema}.accounts (id bigint primary key, cents bigint not null);
         create table {schema}.entries (run text not null, step text not null);
         create table {schema}.orders (run text primary key);
         insert into {schema}.accounts select id, 0 from generate_series(0, 3) as id"
    )
}

/// Adds to an account, and says so in a row that nothing keeps from being there twice.
async fn enter(
    tx: Transaction,
    schema: &str,
    step: &str,
    account: i64,
    cents: i64,
    ctx: &Context,
) -> Result<(), graphweft_postgres::tokio_postgres::Error> {
    let add = format!("update {schema}.accounts set cents = cents + $2 where id = $1");
    tx.execute(&add, &[&account, &cents]).await?;
    let entry = format!("insert into {schema}.entries values ($1, $2)");
    tx.execute(&entry, &[&ctx.run_id(), &step]).await?;
    tokio::time::sleep(Duration::from_millis(5)).await;
    Ok(())
}

/// Moves money in two steps, with side by side a third one that moves nothing.
#[node]
async fn transfer((schema, n): (String, u64), ctx: &Context) -> Result<u64, ChildError<ErrorText>> {
    let account = |n: u64| i64::try_from(n % 4).unwrap_or_default();
    let (from, to, cents) = (account(n), account(n + 1), i64::try_from(n + 1).unwrap_or_default());
    // What the server says while it is away is an error of the body.
    let again = || RetryPolicy::with_max_attempts(100).max_delay(Duration::from_millis(300));
    let take = ctx.transaction("take", async |tx| enter(tx, &schema, "take", from, -cents, ctx).await);
    let look = ctx.transaction("look", async |tx| enter(tx, &schema, "look", to, 0, ctx).await);
    let (taken, looked) = futures::join!(take.retry(again()).error_as_text(), look.retry(again()).error_as_text());
    taken.and(looked)?;
    ctx.transaction("give", async |tx| enter(tx, &schema, "give", to, cents, ctx).await)
        .retry(again())
        .error_as_text()
        .await?;
    Ok(n)
}

workflow! {
    /// Writes to tables of the program.
    pub bank((String, u64)) -> u64 {
        START => transfer;
        transfer => END;
    }
}

/// As one that waits for a service.
async fn wait(millis: u64) -> u64 {
    tokio::time::sleep(Duration::from_millis(millis)).await;
    millis
}

#[node]
async fn first(millis: u64) -> u64 {
    wait(millis).await
}
#[node]
async fn second(millis: u64) -> u64 {
    wait(millis).await
}
#[node]
async fn third(millis: u64) -> u64 {
    wait(millis).await
}
#[node]
async fn fourth(millis: u64) -> u64 {
    wait(millis).await
}

workflow! {
    /// Four nodes that wait so many milliseconds each.
    pub waits(u64) -> u64 { START => first => second => third => fourth; fourth => END; }
}

/// What the workflow `batch` gives.
#[must_use]
pub fn of_batch(n: u64) -> u64 {
    (0..8).map(|i| n + 2 + i + 1).sum::<u64>() + 1
}

/// How long an attempt at a node of the pool takes.
pub const RENDERS: Duration = Duration::from_millis(50);

#[node(pool = "gpu")]
async fn render(n: u64, ctx: &PoolContext) -> u64 {
    ctx.progress(n);
    work(n, ctx.run_id(), &ctx.path(), RENDERS).await
}

#[node(pool = "gpu", at_most_once)]
async fn print(n: u64, ctx: &PoolContext) -> u64 {
    note("start", ctx.run_id(), &ctx.path());
    // Until it is killed or cancelled.
    ctx.cancelled().await;
    note("stopped", ctx.run_id(), &ctx.path());
    n
}

#[node(pool = "gpu", at_most_once)]
async fn stamp(n: u64, ctx: &PoolContext) -> u64 {
    work(n, ctx.run_id(), &ctx.path(), RENDERS).await
}

workflow! {
    /// A node that is attempted once.
    pub stamped(u64) -> u64 {
        START => stamp => END;
    }
}

workflow! {
    /// Nodes here and in a pool.
    pub scene(u64) -> u64 {
        START => split => [render] => sum => END;
    }
}

#[node]
async fn cut(frames: u64) -> Vec<u64> {
    (0..frames).collect()
}

#[node]
async fn play(frames: Vec<u64>) -> u64 {
    frames.into_iter().sum()
}

workflow! {
    /// So many nodes in a pool.
    pub frames(u64) -> u64 {
        START => cut => [render] => play => END;
    }
}

workflow! {
    /// A node that never ends, and is attempted once.
    pub poster(u64) -> u64 {
        START => print => END;
    }
}

/// What the workflow `scene` gives.
#[must_use]
pub fn of_scene(n: u64) -> u64 {
    (0..8).map(|i| n + i + 1).sum()
}
