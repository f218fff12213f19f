//! Nodes that may run at most once, in runs that are retried after they were stopped in the middle.

use std::future::pending;
use std::sync::Arc;

use graphweft::prelude::*;
use graphweft::store::{MemoryStore, SqliteStore, Store};
use graphweft::{Fault, RunError};
use graphweft_tests::Journal;
use tokio::sync::Notify;

#[node(at_most_once)]
async fn pay(n: u32, #[resource] journal: &Journal, #[resource] begun: &Arc<Notify>) -> u32 {
    journal.note("pays");
    begun.notify_one();
    if journal.count("pays") == 1 {
        pending::<()>().await;
    }
    n
}

#[node]
async fn mail(n: u32, #[resource] journal: &Journal, #[resource] begun: &Arc<Notify>) -> Result<u32, String> {
    if journal.count("fails") > 0 {
        return Ok(n);
    }
    begun.notified().await;
    journal.note("fails");
    Err("no mail".to_owned())
}

#[node]
async fn both(a: u32, b: u32) -> u32 {
    a + b
}

workflow! { order(u32) -> u32 { START => (pay, mail) => both; } }
workflow! { paid(u32) -> u32 { START => pay; } }

fn engine(store: impl Store, journal: &Journal) -> Engine {
    let begun = Arc::new(Notify::new());
    let builder = Engine::builder().register::<order>().register::<paid>().store(store);
    builder.resource(journal.clone()).resource(begun).build().unwrap()
}

async fn is_reported_and_paid_again_on_demand(store: impl Store + Clone) {
    let journal = Journal::default();
    let first = engine(store.clone(), &journal);
    let failed = first.start::<order>(1).id("run").await.unwrap().result().await;
    assert!(matches!(&failed, Err(RunError::Failed(failure)) if failure.path == "order/mail"), "{failed:?}");

    for _ in 0..2 {
        let again = first.retry("run").await.unwrap().result().await;
        let Err(RunError::Failed(failure)) = &again else { panic!("{again:?}") };
        assert_eq!((&*failure.path, &failure.cause.fault), ("order/pay", &Some(Fault::Interrupted)));
        assert_eq!(journal.count("pays"), 1);
    }
    first.shutdown().await;

    let second = engine(store, &journal);
    let run = second.retry("run").from_node("order/pay").await.unwrap();
    assert_eq!(run.result().await.unwrap(), 2);
    assert_eq!(journal.count("pays"), 2);
}

#[tokio::test]
async fn what_was_cut_off_since_another_node_failed_is_not_done_again_by_a_retry() {
    is_reported_and_paid_again_on_demand(MemoryStore::new()).await;
    let directory = tempfile::tempdir().unwrap();
    is_reported_and_paid_again_on_demand(SqliteStore::open(directory.path().join("runs.db")).await.unwrap()).await;
}

#[tokio::test]
async fn what_was_cancelled_in_the_middle_is_not_done_again_by_a_retry() {
    let journal = Journal::default();
    let engine = engine(MemoryStore::new(), &journal);
    let run = engine.start::<paid>(1).id("run").await.unwrap();
    while journal.count("pays") == 0 {
        tokio::task::yield_now().await;
    }
    run.cancel().await.unwrap();
    assert!(matches!(run.result().await, Err(RunError::Cancelled)));

    let again = engine.retry("run").await.unwrap().result().await;

    let Err(RunError::Failed(failure)) = &again else { panic!("{again:?}") };
    assert_eq!(failure.cause.fault, Some(Fault::Interrupted));
    assert_eq!(journal.count("pays"), 1);
}
