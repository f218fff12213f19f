//! What Restate costs, with the server and all workers on this machine:
//!
//! ```sh
//! restate/tests/with_server.sh cargo bench -p graphweft-restate-tests --features server
//! ```
//!
//! Each figure is the median of five, with the least and the greatest.

use std::time::Instant;

use graphweft::prelude::*;
use graphweft_restate::Client;
use graphweft_restate_tests::cluster::{Cluster, until};
use graphweft_restate_tests::here::ONE;
use graphweft_restate_tests::workers::{Role, Workers};
use graphweft_restate_tests::workflows::{frames, long};

const ROUNDS: usize = 5;

/// The items of a run, the milliseconds that each takes, and how many a worker executes at once.
const FRAMES: (u64, u64, u32) = (960, 50, 8);

const STEPS: u64 = 500;

fn row(work: &str, mut figures: Vec<f64>, unit: &str, goal: &str) {
    figures.sort_by(f64::total_cmp);
    let (least, median, greatest) = (figures[0], figures[figures.len() / 2], figures[figures.len() - 1]);
    println!("| {work} | {median:.2}{unit} ({least:.2} to {greatest:.2}) | {goal} |");
}

/// How long a run with many nodes in a pool takes with so many workers, in seconds.
async fn seconds(cluster: &Cluster, client: &Client, workers: usize, id: String) -> f64 {
    let (items, millis, at_once) = FRAMES;
    let (program, ledger) = (env!("CARGO_BIN_EXE_restate_worker"), cluster.folder().join("ledger"));
    let pool = Workers::start_as(Role::Pool(at_once), program, &ledger, workers).await;
    until("the pool is there", || async { cluster.admin().register(&pool.address()).await.is_ok() }).await;
    let begun = Instant::now();
    let run = client.start::<frames>((items, millis), id).await.expect("a server answers");
    assert_eq!(run.outcome().await.expect("a server answers"), Outcome::Completed(items));
    begun.elapsed().as_secs_f64()
}

#[tokio::main]
async fn main() {
    let cluster = Cluster::start(ONE).await;
    let program = env!("CARGO_BIN_EXE_restate_worker");
    let workers = Workers::start(program, &cluster.folder().join("ledger"), 1).await;
    let (admin, client) = (cluster.admin(), cluster.client());
    until("the worker is there", || async { admin.register(&workers.address()).await.is_ok() }).await;
    println!("| work | figure | goal |\n| --- | --- | --- |");

    let mut steps = Vec::new();
    for round in 0..ROUNDS {
        let begun = Instant::now();
        let run = client.start::<long>(STEPS, format!("long-{round}")).await.expect("a server answers");
        assert_eq!(run.outcome().await.expect("a server answers"), Outcome::Completed(STEPS));
        steps.push(begun.elapsed().as_secs_f64() * 1e3 / STEPS as f64);
    }
    row("a step of a run, one after another", steps, " ms", "≤ 4 ms");

    let (mut ratios, mut rates) = (Vec::new(), Vec::new());
    for round in 0..ROUNDS {
        let one = seconds(&cluster, &client, 1, format!("one-{round}")).await;
        let three = seconds(&cluster, &client, 3, format!("three-{round}")).await;
        ratios.push(one / three);
        rates.push(FRAMES.0 as f64 / one);
    }
    row("nodes of a pool that take 50 ms, eight at a time in a worker: three workers, over one", ratios, "", "≥ 2.4");
    row("the same, by one worker, a second", rates, "", "at most 160");
}
