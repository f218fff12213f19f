//! What a run of many steps costs, and what a crash in the middle of one.

use std::time::{Duration, Instant, SystemTime};

use graphweft::prelude::*;
use graphweft_restate_tests::cluster::{Cluster, until};
use graphweft_restate_tests::here::ONE;
use graphweft_restate_tests::workers::Workers;
use graphweft_restate_tests::workflows::long;

#[tokio::test(flavor = "multi_thread")]
async fn a_run_of_many_steps_is_resumed_in_the_middle() {
    let steps = std::env::var("GRAPHWEFT_STEPS").ok().and_then(|steps| steps.parse().ok()).unwrap_or(2_000u64);
    let cluster = Cluster::start(ONE).await;
    let mut workers = Workers::start(env!("CARGO_BIN_EXE_restate_worker"), &cluster.folder().join("ledger"), 1).await;
    let (admin, client) = (cluster.admin(), cluster.client());
    until("the worker is there", || async { admin.register(&workers.address()).await.is_ok() }).await;

    let begun = Instant::now();
    let run = client.start::<long>(steps, "long").await.unwrap();
    let records = || async { run.status().await.unwrap().map_or(0, |progress| progress.records) };
    while records().await < steps {
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    let killed = SystemTime::now();
    workers.crash(0);
    assert_eq!(run.outcome().await.unwrap(), Outcome::Completed(steps));
    let took = begun.elapsed();

    let events = run.events_from(0).await.unwrap();
    let resumed =
        events.iter().find(|event| matches!(event.kind, EventKind::RunResumed { .. })).expect("it was killed");
    let completed = events.iter().filter(|event| matches!(event.kind, EventKind::NodeCompleted { .. })).count();
    assert_eq!(completed as u64, steps + 1, "each step and the node once");
    println!(
        "{steps} steps, {} records: {took:?}, {:?} a step; taken over at record {}, {:?} after the kill",
        events.len(),
        took / u32::try_from(steps).unwrap(),
        resumed.seq,
        resumed.time.duration_since(killed).unwrap_or_default()
    );
}
