//! Retries that name what is to run again.

use std::sync::atomic::{AtomicBool, Ordering};

use graphweft::prelude::*;
use graphweft::{ChildError, Engine, RetryError, json};
use graphweft_tests::{Gauge, Journal};

#[node]
async fn numbers(n: u32) -> Vec<u32> {
    (0..n).collect()
}

#[node(max_parallel = 1)]
async fn careful(n: u32, #[resource] gauge: &Gauge, #[resource] journal: &Journal) -> u32 {
    journal.note("careful");
    gauge.stay_inside().await;
    n
}

#[node]
async fn early(n: u32, #[resource] journal: &Journal) -> u32 {
    journal.note("early");
    n
}

#[node]
async fn late(n: u32, #[resource] gauge: &Gauge, #[resource] journal: &Journal) -> u32 {
    journal.note("late");
    gauge.stay_inside().await;
    n
}

#[node]
async fn breaks(all: Vec<u32>, #[resource] broken: &Broken) -> Result<u32, String> {
    if broken.0.swap(false, Ordering::SeqCst) { Err("broken".to_owned()) } else { Ok(all.iter().sum()) }
}

/// Whether the last node fails, once.
struct Broken(AtomicBool);

workflow! {
    two(u32) -> u32 { START => early => late; }
}

workflow! {
    one_by_one(u32) -> u32 { START => numbers => [careful] => breaks; }
}

workflow! {
    nested_one_by_one(u32) -> u32 {
        let two = two(max_parallel = 1);
        START => numbers => [two] => breaks;
    }
}

#[node]
async fn calls(n: u32, ctx: &Context) -> Result<Vec<u32>, ChildError<String>> {
    let two = ctx.call::<two>(n).await.map_err(|error| ChildError::Error(error.to_string()))?;
    Ok(vec![two])
}

workflow! {
    calling(u32) -> u32 { START => calls => breaks; }
}

fn engine(gauge: &Gauge, journal: &Journal) -> Engine {
    let builder = Engine::builder().resource(gauge.clone()).resource(journal.clone());
    let builder = builder.register::<one_by_one>().register::<nested_one_by_one>().register::<calling>();
    builder.resource(Broken(AtomicBool::new(true))).build().unwrap()
}

#[tokio::test]
async fn items_that_are_run_again_keep_to_max_parallel() {
    let (gauge, journal) = (Gauge::expecting(1), Journal::default());
    let engine = engine(&gauge, &journal);
    let run = engine.start::<one_by_one>(4).id("x").await.unwrap();
    assert!(matches!(run.outcome().await.unwrap(), Outcome::Failed(_)));

    let mut retry = engine.retry("x");
    for item in 0..4 {
        retry = retry.rerun(format!("one_by_one/careful[{item}]"));
    }

    assert_eq!(retry.await.unwrap().result().await.unwrap(), json!(6));
    assert_eq!((journal.count("careful"), gauge.highest()), (8, 1));
}

#[tokio::test]
async fn nested_workflows_in_items_keep_to_max_parallel_when_a_node_in_them_is_run_again() {
    let (gauge, journal) = (Gauge::expecting(1), Journal::default());
    let engine = engine(&gauge, &journal);
    let run = engine.start::<nested_one_by_one>(4).id("x").await.unwrap();
    assert!(matches!(run.outcome().await.unwrap(), Outcome::Failed(_)));

    let mut retry = engine.retry("x");
    for item in 0..4 {
        retry = retry.rerun(format!("nested_one_by_one/two[{item}]/late"));
    }

    assert_eq!(retry.await.unwrap().result().await.unwrap(), json!(6));
    assert_eq!((journal.count("early"), journal.count("late"), gauge.highest()), (4, 8, 1));
}

#[tokio::test]
async fn what_is_inside_a_child_workflow_is_refused_and_the_child_workflow_is_not() {
    let (gauge, journal) = (Gauge::expecting(1), Journal::default());
    let engine = engine(&gauge, &journal);
    let run = engine.start::<calling>(3).id("x").await.unwrap();
    assert!(matches!(run.outcome().await.unwrap(), Outcome::Failed(_)));
    let (inside, child) = ("calling/calls/two/early", "calling/calls/two");
    let before = engine.history("x").await.unwrap();

    for retry in [engine.retry("x").rerun(inside), engine.retry("x").from_node(inside)] {
        let refused = RetryError::InsideChildWorkflow { run: "x".into(), path: inside.into(), child: child.into() };
        assert_eq!(retry.await.unwrap_err(), refused);
    }
    assert_eq!(engine.history("x").await.unwrap(), before);

    let again = engine.retry("x").rerun(child).await.unwrap();
    assert_eq!(again.result().await.unwrap(), json!(3));
    assert_eq!((journal.count("early"), journal.count("late")), (2, 2));
}
