//! What a host of runs needs: the program over other stores, and runs that leave the memory when the host wants it.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use futures::FutureExt;
use graphweft::prelude::*;
use graphweft::store::MemoryStore;
use tokio::sync::Notify;

#[derive(Default)]
struct Probe {
    now: AtomicUsize,
    most: AtomicUsize,
}

#[node]
async fn works(n: u32, #[resource] probe: &Arc<Probe>) -> u32 {
    probe.most.fetch_max(probe.now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
    tokio::time::sleep(Duration::from_millis(5)).await;
    probe.now.fetch_sub(1, Ordering::SeqCst);
    n + 1
}
workflow! { working(u32) -> u32 { START => works; } }

#[tokio::test(start_paused = true)]
async fn engines_of_one_program_share_its_resources_and_its_limits_and_no_run() {
    let probe = Arc::new(Probe::default());
    let program =
        Engine::builder().register::<working>().resource(Arc::clone(&probe)).max_concurrency(2).build().unwrap();
    let engines: Vec<Engine> = (0..4).map(|_| program.with_store(MemoryStore::new())).collect();
    let mut runs = Vec::new();
    for engine in &engines {
        runs.push(engine.start::<working>(1).id("same").await.unwrap());
    }
    for run in runs {
        assert_eq!(run.result().await.unwrap(), 2);
    }
    assert_eq!(probe.most.load(Ordering::SeqCst), 2);
    assert!(program.get_run("same").await.unwrap().is_none());

    engines[0].shutdown().await;
    assert!(engines[1].start::<working>(1).await.is_ok());
}

#[node]
async fn review(gate: bool, ctx: &Context, #[resource] opens: &Arc<Notify>) -> bool {
    if gate {
        opens.notified().await;
    }
    ctx.ask("approve", "Ship it?").await
}
workflow! { publish(bool) -> bool { START => review; } }

#[tokio::test]
async fn a_run_that_waits_leaves_the_memory_and_one_that_works_stays() {
    let opens = Arc::new(Notify::new());
    let engine = Engine::builder().register::<publish>().resource(Arc::clone(&opens)).build().unwrap();
    let run = engine.start::<publish>(true).id("poem").await.unwrap();
    engine.unload("poem");
    assert!(engine.until_not_driven("poem").now_or_never().is_none(), "it works");

    opens.notify_one();
    run.outcome().await.unwrap();
    assert!(engine.until_not_driven("poem").now_or_never().is_none(), "it may stay");
    engine.unload("poem");
    engine.until_not_driven("poem").await.unwrap();

    // It runs again from its top.
    opens.notify_one();
    run.answer("approve", true).await.unwrap();
    assert!(run.result().await.unwrap());
    let resumed = engine.history("poem").await.unwrap().unwrap().into_iter();
    assert_eq!(resumed.filter(|event| matches!(event.kind, EventKind::RunResumed { .. })).count(), 1);
    engine.until_not_driven("poem").await.unwrap();
    engine.until_not_driven("another").await.unwrap();
}

#[tokio::test]
async fn a_run_that_was_stopped_is_reported_as_such() {
    let opens = Arc::new(Notify::new());
    let engine = Engine::builder().register::<publish>().resource(Arc::clone(&opens)).build().unwrap();
    engine.start::<publish>(true).id("poem").await.unwrap();
    engine.shutdown().await;
    assert!(matches!(engine.until_not_driven("poem").await, Err(RunError::ShutDown)));
}
