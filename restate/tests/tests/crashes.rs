//! Workers are killed and stopped, and servers crash, while runs are driven. What they record is held against a ledger outside.
//!
//! Each round makes 12 faults (`GRAPHWEFT_CRASHES`), or as many as fit into 15 s (`GRAPHWEFT_SECONDS`), by `GRAPHWEFT_SEED`. A longer
//! one: `GRAPHWEFT_CRASHES=200 GRAPHWEFT_SECONDS=600 restate/tests/with_server.sh cargo test -p graphweft-restate-tests --features server --test crashes -- --nocapture`.

use std::time::{Duration, Instant};

use graphweft::prelude::*;
use graphweft_restate::Client;
use graphweft_restate_tests::cluster::{Cluster, Shape, until};
use graphweft_restate_tests::dice::Dice;
use graphweft_restate_tests::judge::Judge;
use graphweft_restate_tests::workers::{Role, Workers};
use graphweft_restate_tests::workflows::{approval, batch, fan, of_batch, of_fan, once};

const WORKERS: usize = 3;

fn setting(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|value| value.parse().ok()).unwrap_or(default)
}

/// How many nodes of the pool a worker executes at once.
const AT_ONCE: u32 = 8;

/// Starts a run of each workflow, answers what it asks, and waits for both ends.
async fn person(client: Client, n: u64, waits: Duration) {
    let batch = client.start::<batch>(n, format!("batch-{n}")).await.expect("a server answers");
    let approval = client.start::<approval>(n, format!("approval-{n}")).await.expect("a server answers");
    let fan = client.start::<fan>(n, format!("fan-{n}")).await.expect("a server answers");
    let once = client.start::<once>(n, format!("once-{n}")).await.expect("a server answers");
    while let Outcome::Waiting(questions) = approval.outcome().await.expect("a server answers") {
        tokio::time::sleep(waits).await;
        // A server that has died may have passed it on: then nothing is open any more.
        drop(approval.answer(&questions[0].id, 10u64).await);
    }
    assert_eq!(approval.outcome().await.expect("a server answers"), Outcome::Completed(n + 13));
    assert_eq!(batch.outcome().await.expect("a server answers"), Outcome::Completed(of_batch(n)));
    assert_eq!(fan.outcome().await.expect("a server answers"), Outcome::Completed(of_fan(n)));
    match once.outcome().await.expect("a server answers") {
        Outcome::Completed(output) => assert_eq!(output, n + 1),
        Outcome::Failed(failure) => assert!(failure.cause.to_string().contains("at_most_once"), "{failure:?}"),
        other => panic!("{other:?}"),
    }
}

async fn chaos(servers: usize) {
    let seed = setting("GRAPHWEFT_SEED", 1);
    let faults = setting("GRAPHWEFT_CRASHES", 12);
    let seconds = setting("GRAPHWEFT_SECONDS", 15);
    let mut dice = Dice(seed);
    let mut cluster = Cluster::start(Shape { servers, keep_alive: Some(1), at_once: None }).await;
    let ledger = cluster.folder().join("ledger");
    let mut workers = Workers::start(env!("CARGO_BIN_EXE_restate_worker"), &ledger, WORKERS).await;
    let program = env!("CARGO_BIN_EXE_restate_worker");
    let mut pool = Workers::start_as(Role::Pool(AT_ONCE), program, &ledger, WORKERS).await;
    let (admin, client) = (cluster.admin(), cluster.client());
    until("the workers are there", || async { admin.register(&workers.address()).await.is_ok() }).await;
    until("the pool is there", || async { admin.register(&pool.address()).await.is_ok() }).await;

    let begun = Instant::now();
    let (mut killed, mut stopped, mut crashed, mut runs) = (0, 0, 0, 0);
    let mut people = tokio::task::JoinSet::new();
    while killed + stopped + crashed < faults && begun.elapsed() < Duration::from_secs(seconds) {
        for _ in 0..3 {
            people.spawn(person(client.clone(), runs, Duration::from_millis(dice.below(3_000))));
            runs += 1;
        }
        tokio::time::sleep(Duration::from_millis(200 + dice.below(600))).await;
        let at = usize::try_from(dice.below(WORKERS as u64)).expect("a few");
        let workers = if dice.below(2) == 0 { &mut workers } else { &mut pool };
        match dice.below(6) {
            0..3 => {
                killed += 1;
                workers.crash(at);
            }
            3 | 4 => {
                stopped += 1;
                workers.signal(at, "STOP");
                tokio::time::sleep(Duration::from_secs(4)).await;
                workers.signal(at, "CONT");
            }
            _ => {
                crashed += 1;
                cluster.crash(usize::try_from(dice.below(servers as u64)).expect("a few"));
            }
        }
    }
    let all = async {
        while let Some(person) = people.join_next().await {
            person.expect("all outputs are right");
        }
    };
    if tokio::time::timeout(Duration::from_secs(120), all).await.is_err() {
        let left = cluster
            .query("select target, status, retry_count, last_failure from sys_invocation where status <> 'completed'")
            .await;
        panic!("runs are left after two minutes; seed {seed}: {left}");
    }
    let took = begun.elapsed();
    let mut judge = Judge::of(workers.ledger());
    for n in 0..runs {
        judge.compare(&client.run::<batch>(format!("batch-{n}"))).await;
        judge.compare(&client.run::<approval>(format!("approval-{n}"))).await;
        judge.compare(&client.run::<fan>(format!("fan-{n}"))).await;
        judge.compare(&client.run::<once>(format!("once-{n}"))).await;
        assert!(judge.starts_of(&format!("once-{n}")) <= 1, "`once-{n}` was attempted twice");
    }
    assert!(judge.judged > 10 * runs, "the ledger knows the paths");
    println!(
        "{servers} server(s), seed {seed}: {} runs, {killed} workers killed, {stopped} stopped, {crashed} servers crashed, \
         {} records compared, {} nodes ended twice, {} begun late, {took:?}",
        4 * runs,
        judge.judged,
        judge.twice,
        judge.late
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn no_recorded_node_begins_again_whatever_crashes_around_one_server() {
    chaos(1).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn no_recorded_node_begins_again_whatever_crashes_of_three_servers() {
    chaos(3).await;
}
