//! Workflows as nodes of other workflows.

use std::sync::Arc;

use graphweft::prelude::*;
use graphweft::state::{StateKey, Sum};
use graphweft_tests::{Journal, failure, paths, records, records_of, started};
use tokio::sync::Notify;

const CALLS: StateKey<u32, Sum> = StateKey::new("calls");

#[node]
async fn double(n: u32) -> u32 {
    n * 2
}

#[node]
async fn add_one(n: u32) -> u32 {
    n + 1
}

#[node]
async fn small(n: u32) -> Result<u32, String> {
    if n < 10 { Ok(n) } else { Err(format!("{n} is too big")) }
}

workflow! {
    /// Twice and one more.
    inner(u32) -> u32 { START => double => add_one; }
}

workflow! {
    fragile(u32) -> u32 { START => small => double; }
}

#[tokio::test]
async fn a_workflow_is_a_node() {
    workflow! { outer(u32) -> u32 { START => add_one => inner => double; } }
    assert_eq!(outer(1).await.unwrap(), 10);
}

#[tokio::test]
async fn a_workflow_may_be_nested_twice_under_two_names() {
    let flow = workflow! { START => inner => again; let again = inner(); };
    assert_eq!(flow.run(1).await.unwrap(), 7);
}

#[tokio::test]
async fn nodes_inside_have_paths_below_the_node_that_they_run_in() {
    workflow! { outer(u32) -> u32 { let step = inner(); START => step; } }
    let inside: Vec<String> =
        started(&records_of::<outer>(1).await).into_iter().filter(|path| path.matches('/').count() == 2).collect();
    assert_eq!(inside, ["outer/step/double", "outer/step/add_one"]);
}

#[tokio::test]
async fn nesting_goes_as_deep_as_it_likes() {
    workflow! { second(u32) -> u32 { START => inner => add_one; } }
    workflow! { third(u32) -> u32 { START => second => fragile; } }
    assert_eq!(third(1).await.unwrap(), 8);
}

#[tokio::test]
async fn a_nested_workflow_that_fails_fails_the_run() {
    workflow! { outer(u32) -> u32 { START => fragile => add_one; } }
    assert_eq!(failure(outer(10).await).cause.to_string(), "10 is too big");
}

#[tokio::test]
async fn the_failure_names_the_node_inside() {
    workflow! { outer(u32) -> u32 { START => fragile => add_one; } }
    assert_eq!(failure(outer(10).await).path, "outer/fragile/small");
}

#[tokio::test]
async fn the_failure_of_a_nested_workflow_may_be_routed() {
    #[node]
    async fn handle(failure: Failure) -> u32 {
        failure.attempts + 100
    }
    workflow! { outer(u32) -> u32 { START => fragile => <ok: add_one, err: handle>; } }
    assert_eq!(outer(10).await.unwrap(), 101);
}

#[tokio::test]
async fn a_routed_failure_says_where_it_was() {
    #[node]
    async fn where_it_was(failure: Failure) -> String {
        failure.path
    }
    #[node]
    async fn text(n: u32) -> String {
        n.to_string()
    }
    workflow! { outer(u32) -> String { START => fragile => <ok: text, err: where_it_was>; } }
    assert_eq!(outer(10).await.unwrap(), "outer/fragile/small");
}

#[tokio::test]
async fn what_runs_beside_a_nested_failure_inside_is_cancelled() {
    #[node]
    async fn parked(_n: u32, #[resource] journal: &Journal, #[resource] started: &Notify) -> u32 {
        let _told = journal.when_dropped("stopped");
        started.notify_one();
        std::future::pending().await
    }
    #[node]
    async fn fails(_n: u32, #[resource] started: &Notify) -> Result<u32, String> {
        started.notified().await;
        Err("down".to_owned())
    }
    #[node]
    async fn sum(a: u32, b: u32) -> u32 {
        a + b
    }
    #[node]
    async fn handle(failure: Failure, #[resource] journal: &Journal) -> String {
        format!("{} after {:?}", failure.cause, journal.lines())
    }
    #[node]
    async fn text(n: u32) -> String {
        n.to_string()
    }
    workflow! { both(u32) -> u32 { START => (parked, fails) => sum; } }
    workflow! { outer(u32) -> String { START => both => <ok: text, err: handle>; } }
    let engine = Engine::builder().resource(Journal::default()).resource(Notify::new()).build().unwrap();
    let run = engine.start::<outer>(1).await.unwrap();
    assert_eq!(run.result().await.unwrap(), r#"down after ["stopped"]"#);
}

#[tokio::test(start_paused = true)]
async fn a_nested_workflow_is_tried_again_from_its_start() {
    #[node]
    async fn count(n: u32, #[resource] journal: &Journal) -> u32 {
        journal.note("begun");
        n
    }
    #[node]
    async fn third_time(n: u32, #[resource] journal: &Journal) -> Result<u32, String> {
        if journal.count("begun") < 3 { Err("not yet".to_owned()) } else { Ok(n) }
    }
    workflow! { unsure(u32) -> u32 { START => count => third_time; } }
    workflow! {
        outer(u32) -> u32 {
            let unsure = unsure(retry(max_attempts = 3, initial_delay = "1s", jitter = 0.0));
            START => unsure;
        }
    }
    let journal = Journal::default();
    let engine = Engine::builder().resource(journal.clone()).build().unwrap();
    engine.start::<outer>(1).await.unwrap().result().await.unwrap();
    assert_eq!(journal.count("begun"), 3);
}

#[tokio::test]
async fn nodes_of_one_name_inside_and_outside_do_not_meet() {
    workflow! { outer(u32) -> u32 { START => double => inner; } }
    let completed =
        paths(&records_of::<outer>(1).await, |kind| matches!(kind, graphweft::EventKind::NodeCompleted { .. }));
    assert_eq!(completed, ["outer/double", "outer/inner/double", "outer/inner/add_one", "outer/inner"]);
}

#[tokio::test]
async fn a_nested_workflow_may_run_in_a_loop() {
    workflow! { outer(u32) -> u32 { START => inner => enough => <err: inner, ok: END>; } }
    #[node]
    async fn enough(n: u32) -> Result<u32, u32> {
        if n < 10 { Err(n) } else { Ok(n) }
    }
    assert_eq!(outer(1).await.unwrap(), 15);
}

#[tokio::test]
async fn each_turn_of_a_loop_has_a_nested_run_of_its_own() {
    #[node]
    async fn enough(n: u32) -> Result<u32, u32> {
        if n < 7 { Err(n) } else { Ok(n) }
    }
    workflow! { outer(u32) -> u32 { START => inner => enough => <err: inner, ok: END>; } }
    let doubles: Vec<String> =
        started(&records_of::<outer>(1).await).into_iter().filter(|path| path.contains("double")).collect();
    assert_eq!(doubles, ["outer/inner/double", "outer/inner#2/double"]);
}

#[tokio::test]
async fn a_loop_inside_ends_inside() {
    #[node]
    async fn enough(n: u32) -> Result<u32, u32> {
        if n < 100 { Err(n) } else { Ok(n) }
    }
    workflow! { growing(u32) -> u32 { START => double => enough => <err: double, ok: END>; } }
    workflow! { outer(u32) -> u32 { START => (growing, add_one) => sum; } }
    #[node]
    async fn sum(a: u32, b: u32) -> u32 {
        a + b
    }
    assert_eq!(outer(1).await.unwrap(), 130);
}

#[tokio::test]
async fn a_nested_workflow_shares_the_state_of_the_run() {
    #[node]
    async fn call(n: u32, #[writes(CALLS)] calls: StateWriter<u32, Sum>) -> u32 {
        calls.merge(1);
        n
    }
    #[node]
    async fn calls(#[state] calls: u32) -> u32 {
        calls
    }
    workflow! { calling(u32) -> u32 { START => call; } }
    let flow = workflow! { START => calling => again => calls; let again = calling(); };
    assert_eq!(flow.run(0).await.unwrap(), 2);
}

#[tokio::test]
async fn nodes_inside_have_the_resources_of_the_engine() {
    #[node]
    async fn write(n: u32, #[resource] journal: &Journal) -> u32 {
        journal.note(n.to_string());
        n
    }
    workflow! { writing(u32) -> u32 { START => write; } }
    workflow! { outer(u32) -> u32 { START => double => writing; } }
    let journal = Journal::default();
    let engine = Engine::builder().resource(journal.clone()).build().unwrap();
    engine.start::<outer>(4).await.unwrap().result().await.unwrap();
    assert_eq!(journal.lines(), ["8"]);
}

#[tokio::test]
async fn cancelling_the_run_reaches_the_nodes_inside() {
    #[node]
    async fn parked(_n: u32, #[resource] journal: &Journal, #[resource] started: &Arc<Notify>) -> u32 {
        let _told = journal.when_dropped("stopped");
        started.notify_one();
        std::future::pending().await
    }
    workflow! { deep(u32) -> u32 { START => parked; } }
    workflow! { outer(u32) -> u32 { START => deep; } }
    let (journal, started) = (Journal::default(), Arc::new(Notify::new()));
    let engine = Engine::builder().resource(journal.clone()).resource(Arc::clone(&started)).build().unwrap();
    let run = engine.start::<outer>(1).await.unwrap();
    started.notified().await;
    run.cancel().await.expect("it is recorded");
    run.outcome().await.unwrap();
    assert_eq!(journal.lines(), ["stopped"]);
}

#[tokio::test]
async fn a_workflow_without_output_may_be_a_node() {
    #[node]
    async fn note(n: u32, #[resource] journal: &Journal) {
        journal.note(n.to_string());
    }
    #[node]
    async fn after(#[resource] journal: &Journal) -> usize {
        journal.lines().len()
    }
    workflow! { noting(u32) { START => (note, also); let also = note(); } }
    workflow! { outer(u32) -> usize { START => noting => after; } }
    let engine = Engine::builder().resource(Journal::default()).build().unwrap();
    assert_eq!(engine.start::<outer>(1).await.unwrap().result().await.unwrap(), 2);
}

#[tokio::test]
async fn a_workflow_may_be_awaited_inside_a_node() {
    #[node]
    async fn calls(n: u32) -> Result<u32, graphweft::RunError> {
        inner(n).await
    }
    let flow = workflow! { START => calls => add_one };
    assert_eq!(flow.run(3).await.unwrap(), 8);
}

#[tokio::test]
async fn a_nested_workflow_collects_as_any_other_node() {
    #[node]
    async fn never(_n: u32) -> u32 {
        std::future::pending().await
    }
    #[node(collect)]
    async fn first(n: u32) -> Option<u32> {
        Some(n)
    }
    workflow! { stuck(u32) -> u32 { START => never; } }
    workflow! { race(u32) -> u32 { START => (stuck, inner); stuck | inner => first; } }
    let engine = Engine::builder().build().unwrap();
    let run = engine.start::<race>(1).await.unwrap();
    let stopped = paths(&records(&run).await, |kind| matches!(kind, graphweft::EventKind::NodeCancelled));
    assert_eq!(stopped, ["race/stuck/never", "race/stuck"]);
}
