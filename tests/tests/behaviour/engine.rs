//! Starting and finding runs, what is checked before, and how much runs at once.

use graphweft::prelude::*;
use graphweft::store::SqliteStore;
use graphweft::{BuildError, RunFilter, RunToEndError, StartError};
use graphweft_tests::{Gauge, Journal, started};
use tokio::sync::{Barrier, Notify};

#[value]
#[derive(Debug, PartialEq)]
struct Line {
    name: String,
    price: u32,
}

#[value]
#[derive(Debug, PartialEq)]
struct Order {
    id: u32,
    lines: Vec<Line>,
}

#[node]
async fn price(order: Order) -> u32 {
    order.lines.iter().map(|line| line.price).sum()
}

#[node]
async fn number(n: u32) -> u32 {
    n
}

#[node]
async fn note(n: u32, #[resource] journal: &Journal) -> u32 {
    journal.note(n.to_string());
    n
}

#[node]
async fn wait(n: u32, #[resource] go: &Notify) -> u32 {
    go.notified().await;
    n
}

#[node]
async fn count(n: u32) -> Vec<u32> {
    (0..n).collect()
}

#[node]
async fn gauged(n: u32, #[resource] gauge: &Gauge) -> u32 {
    gauge.stay_inside().await;
    n
}

workflow! { pricing(Order) -> u32 { START => price; } }
workflow! { numbers(u32) -> u32 { START => number; } }
workflow! { noting(u32) -> u32 { START => number => note; } }
workflow! { waiting_note(u32) -> u32 { START => (note, wait) => sum; } }
workflow! { gauging(u32) -> Vec<u32> { START => count => [gauged]; } }

#[node]
async fn sum(a: u32, b: u32) -> u32 {
    a + b
}

fn engine() -> Engine {
    Engine::builder().register::<pricing>().register::<numbers>().build().unwrap()
}

fn order() -> serde_json::Value {
    serde_json::json!({ "id": 1, "lines": [{ "name": "tea", "price": 3 }, { "name": "pot", "price": 20 }] })
}

#[tokio::test]
async fn a_run_gives_its_output() {
    let run = engine().start::<numbers>(4).await.unwrap();
    assert_eq!(run.outcome().await.unwrap(), Outcome::Completed(4));
}

#[tokio::test]
async fn an_output_may_be_asked_for_twice() {
    let run = engine().start::<numbers>(4).await.unwrap();
    run.outcome().await.unwrap();
    assert_eq!(run.outcome().await.unwrap(), Outcome::Completed(4));
}

#[tokio::test]
async fn runs_without_an_id_get_one_each() {
    let engine = engine();
    let (one, other) = (engine.start::<numbers>(1).await.unwrap(), engine.start::<numbers>(1).await.unwrap());
    assert_ne!(one.id(), other.id());
}

#[tokio::test]
async fn the_same_id_again_gives_the_same_run() {
    let journal = Journal::default();
    let engine = Engine::builder().resource(journal.clone()).build().unwrap();
    engine.start::<noting>(1).id("a").await.unwrap().outcome().await.unwrap();
    engine.start::<noting>(1).id("a").await.unwrap().outcome().await.unwrap();
    assert_eq!(journal.lines(), ["1"]);
}

#[tokio::test]
async fn the_same_id_gives_the_run_that_still_goes_on() {
    let journal = Journal::default();
    let engine = Engine::builder().resource(journal.clone()).resource(Notify::new()).build().unwrap();
    let first = engine.start::<waiting_note>(1).id("a").await.unwrap();
    let second = engine.start::<waiting_note>(1).id("a").await.unwrap();
    first.cancel().await.expect("it is recorded");
    assert_eq!(second.outcome().await.unwrap(), Outcome::Cancelled);
}

#[tokio::test]
async fn the_same_id_with_another_input_is_refused() {
    let engine = engine();
    engine.start::<numbers>(1).id("a").await.unwrap();
    assert_eq!(
        engine.start::<numbers>(2).id("a").await.unwrap_err(),
        StartError::OtherInput { id: "a".to_owned(), workflow: "numbers".to_owned() }
    );
}

#[tokio::test]
async fn the_same_id_for_another_workflow_is_refused() {
    let engine = engine();
    engine.start::<numbers>(1).id("a").await.unwrap();
    let refused = engine.start_json("pricing", order()).id("a").await.unwrap_err();
    assert!(matches!(refused, StartError::OtherWorkflow { .. }), "{refused}");
}

#[tokio::test]
async fn starting_one_id_from_many_tasks_runs_it_once() {
    let journal = Journal::default();
    let engine = Engine::builder().resource(journal.clone()).build().unwrap();
    let starts = (0..8).map(|_| engine.start::<noting>(1).id("a").into_future());
    for run in futures::future::join_all(starts).await {
        run.unwrap().outcome().await.unwrap();
    }
    assert_eq!(journal.lines(), ["1"]);
}

#[tokio::test]
async fn a_run_is_found_by_its_id() {
    let engine = engine();
    engine.start::<numbers>(6).id("a").await.unwrap();
    assert_eq!(engine.get_run("a").await.unwrap().unwrap().result().await.unwrap(), serde_json::json!(6));
}

#[tokio::test]
async fn an_unknown_id_is_no_run() {
    assert!(engine().get_run("nobody").await.unwrap().is_none());
}

#[tokio::test]
async fn a_registered_workflow_may_be_started_from_json() {
    let run = engine().start_json("pricing", order()).await.unwrap();
    assert_eq!(run.result().await.unwrap(), serde_json::json!(23));
}

#[tokio::test]
async fn json_of_a_wrong_type_names_the_field() {
    let mut json = order();
    json["lines"][1]["price"] = "much".into();
    let Err(StartError::InvalidInput { field, .. }) = engine().start_json("pricing", json).await else {
        panic!("it was not refused")
    };
    assert_eq!(field, "lines[1].price");
}

#[tokio::test]
async fn json_without_a_field_names_the_field() {
    let mut json = order();
    json["lines"][0].as_object_mut().unwrap().remove("name");
    let refused = engine().start_json("pricing", json).await.unwrap_err();
    assert!(refused.to_string().contains("lines[0]") && refused.to_string().contains("name"), "{refused}");
}

#[tokio::test]
async fn refused_json_runs_nothing() {
    let engine = engine();
    engine.start_json("pricing", serde_json::json!({})).id("a").await.unwrap_err();
    assert!(engine.get_run("a").await.unwrap().is_none());
}

#[tokio::test]
async fn an_unknown_workflow_is_told_with_those_that_there_are() {
    let refused = engine().start_json("princing", order()).await.unwrap_err();
    assert_eq!(refused.to_string(), "workflow `princing` is not registered; registered: `numbers`, `pricing`");
}

#[tokio::test]
async fn a_missing_resource_is_reported_before_anything_runs() {
    let engine = Engine::builder().build().unwrap();
    engine.start::<noting>(1).id("a").await.unwrap_err();
    assert!(engine.get_run("a").await.unwrap().is_none());
}

#[tokio::test]
async fn all_missing_resources_are_reported_with_the_nodes_that_want_them() {
    let engine = Engine::builder().build().unwrap();
    let refused = engine.start::<waiting_note>(1).await.unwrap_err().to_string();
    let said = ["Journal", "Notify", "`waiting_note/note`", "`waiting_note/wait`"];
    assert!(said.iter().all(|one| refused.contains(one)), "{refused}");
}

#[tokio::test]
async fn a_resource_that_a_nested_workflow_misses_is_reported_too() {
    workflow! { outer(u32) -> u32 { START => number => noting; } }
    let refused = Engine::builder().build().unwrap().start::<outer>(1).await.unwrap_err();
    assert!(matches!(refused, StartError::MissingResources(_)), "{refused}");
}

#[test]
fn two_resources_of_one_type_are_refused() {
    let refused = Engine::builder().resource(1_u8).resource(2_u8).build().unwrap_err();
    assert_eq!(refused, BuildError::DuplicateResource { type_name: "u8" });
}

#[test]
fn two_workflows_of_one_name_are_refused() {
    mod elsewhere {
        use graphweft::prelude::*;
        #[node]
        async fn nothing(n: u8) -> u8 {
            n
        }
        workflow! { pub(super) numbers(u8) -> u8 { START => nothing; } }
    }
    let refused = Engine::builder().register::<numbers>().register::<elsewhere::numbers>().build().unwrap_err();
    assert_eq!(refused, BuildError::DuplicateWorkflow { name: "numbers".to_owned() });
}

#[test]
fn registering_a_workflow_twice_is_no_mistake() {
    assert!(Engine::builder().register::<numbers>().register::<numbers>().build().is_ok());
}

#[tokio::test]
async fn no_more_nodes_than_max_concurrency_run_at_once() {
    let gauge = Gauge::expecting(4);
    let engine = Engine::builder().resource(gauge.clone()).max_concurrency(4).build().unwrap();
    engine.start::<gauging>(30).await.unwrap().result().await.unwrap();
    assert_eq!(gauge.highest(), 4);
}

#[tokio::test]
async fn without_max_concurrency_all_run_at_once() {
    let gauge = Gauge::expecting(30);
    let engine = Engine::builder().resource(gauge.clone()).build().unwrap();
    engine.start::<gauging>(30).await.unwrap().result().await.unwrap();
    assert_eq!(gauge.highest(), 30);
}

#[tokio::test]
async fn a_concurrency_of_zero_is_rejected_when_the_engine_is_built() {
    let error = Engine::builder().max_concurrency(0).build().unwrap_err();
    assert_eq!(error, BuildError::ZeroConcurrency);
}

#[tokio::test]
async fn a_nested_workflow_runs_under_a_concurrency_of_one() {
    workflow! { outer(u32) -> u32 { START => (numbers, number) => sum; } }
    let engine = Engine::builder().max_concurrency(1).build().unwrap();
    assert_eq!(engine.start::<outer>(4).await.unwrap().result().await.unwrap(), 8);
}

#[tokio::test(start_paused = true)]
async fn a_node_that_waits_for_its_next_attempt_takes_no_place() {
    #[node(retry(max_attempts = 2, initial_delay = "1h", max_delay = "1h", jitter = 0.0))]
    async fn flaky(n: u32, ctx: &Context, #[resource] journal: &Journal) -> Result<u32, String> {
        journal.note(format!("flaky {}", ctx.attempt()));
        if ctx.attempt() == 1 { Err("once".to_owned()) } else { Ok(n) }
    }
    #[node]
    async fn steady(n: u32, #[resource] journal: &Journal) -> u32 {
        journal.note("steady");
        n
    }
    workflow! { outer(u32) -> u32 { START => (flaky, steady) => sum; } }
    let journal = Journal::default();
    let engine = Engine::builder().max_concurrency(1).resource(journal.clone()).build().unwrap();
    engine.start::<outer>(1).await.unwrap().result().await.unwrap();
    assert_eq!(journal.lines(), ["flaky 1", "steady", "flaky 2"]);
}

#[tokio::test]
async fn runs_of_one_engine_go_on_side_by_side() {
    #[node]
    async fn meet(n: u32, #[resource] meeting: &Barrier) -> u32 {
        meeting.wait().await;
        n
    }
    workflow! { meetings(u32) -> u32 { START => meet; } }
    let engine = Engine::builder().resource(Barrier::new(2)).build().unwrap();
    let (one, other) = (engine.start::<meetings>(1).await.unwrap(), engine.start::<meetings>(2).await.unwrap());
    assert_eq!((one.result().await.unwrap(), other.result().await.unwrap()), (1, 2));
}

#[tokio::test]
async fn a_flow_in_expression_position_may_be_started_with_resources() {
    let flow = workflow! { START => note => number };
    let journal = Journal::default();
    let engine = Engine::builder().resource(journal.clone()).build().unwrap();
    engine.start_flow(&flow, 3).await.unwrap().result().await.unwrap();
    assert_eq!(journal.lines(), ["3"]);
}

/// Otherwise no program could resume it after the process has died.
#[tokio::test]
async fn a_run_in_a_file_is_one_of_a_registered_workflow() {
    let directory = tempfile::tempdir().unwrap();
    let store = SqliteStore::open(directory.path().join("runs.db")).await.unwrap();
    let engine = Engine::builder().store(store).resource(Journal::default()).build().unwrap();

    let started = engine.start::<numbers>(1).await.unwrap_err();
    assert_eq!(started, StartError::NotRegistered { workflow: "numbers".to_owned() });
    assert!(started.to_string().contains("`.register::<numbers>()`"), "{started}");
    let driven = engine.run_to_end::<numbers>(1).await;
    assert_eq!(driven.unwrap_err(), RunToEndError::Start(started));
    let flow = workflow! { START => note => number };
    assert_eq!(engine.start_flow(&flow, 3).await.unwrap_err(), StartError::FlowInStore);

    assert!(engine.list_runs(RunFilter::default()).await.unwrap().is_empty());
}

#[tokio::test]
async fn only_as_many_ended_runs_are_kept_as_were_asked_for() {
    let engine = Engine::builder().max_resident_finished(1).build().unwrap();
    engine.start::<numbers>(1).id("old").await.unwrap().outcome().await.unwrap();
    let newer = engine.start::<numbers>(1).id("new").await.unwrap();
    graphweft_tests::records(&newer).await;
    newer.outcome().await.unwrap();
    tokio::task::yield_now().await;
    assert!(engine.get_run("old").await.unwrap().is_none());
}

#[tokio::test]
async fn nothing_starts_before_the_start_is_awaited() {
    let engine = engine();
    let start = engine.start::<numbers>(1).id("a");
    let there = engine.get_run("a").await.unwrap().is_some();
    drop(start);
    assert!(!there);
}

#[tokio::test]
async fn the_path_of_a_node_begins_with_its_workflow() {
    let run = engine().start::<numbers>(1).await.unwrap();
    assert_eq!(started(&graphweft_tests::records(&run).await), ["numbers/number"]);
}

#[tokio::test]
async fn max_concurrency_counts_over_all_runs_of_an_engine() {
    workflow! { one_each(u32) -> u32 { START => gauged; } }
    let gauge = Gauge::expecting(2);
    let engine = Engine::builder().resource(gauge.clone()).max_concurrency(2).build().unwrap();
    let runs = futures::future::join_all((0..6).map(|n| engine.start::<one_each>(n).into_future())).await;
    for run in runs {
        run.unwrap().outcome().await.unwrap();
    }
    assert_eq!(gauge.highest(), 2);
}
