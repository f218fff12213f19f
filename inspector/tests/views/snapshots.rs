//! What views of real runs have, compared with what a person has read and found right.

use graphweft::RunError;
use graphweft::Workflow;
use graphweft::prelude::*;

use crate::flows::*;
use crate::read::Read;
use crate::{History, engine, engine_of_one};

/// `GRAPHWEFT_WRITE=1 cargo test -p graphweft-inspector --test views` writes the texts, to be read before they are committed.
fn compare(name: &str, history: &History) {
    let path = format!("{}/tests/views/snapshots/{name}.txt", env!("CARGO_MANIFEST_DIR"));
    let mut text = String::new();
    for event in &history.events {
        let derived = if event.derived { "+" } else { "" };
        text.push_str(&format!("#{}{derived} {} {}\n", event.seq, event.path, event.kind.name()));
    }
    text.push('\n');
    text.push_str(&Read::of(&history.view()).text());
    if std::env::var_os("GRAPHWEFT_WRITE").is_some() {
        std::fs::write(&path, &text).unwrap();
    }
    let read = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(text == read, "{name} differs from {path}:\n{text}");
}

async fn finished<W: Workflow<Input = u32>>(engine: &Engine, input: u32) -> History {
    let run = engine.start::<W>(input).id(W::NAME).await.unwrap();
    let _outcome = run.outcome().await.unwrap();
    History::of::<W>(engine, W::NAME).await
}

#[tokio::test(start_paused = true)]
async fn a_run_with_arms_has_the_one_that_was_taken_and_what_was_skipped() {
    compare("routed", &finished::<routed>(&engine(), 20).await);
}

#[tokio::test(start_paused = true)]
async fn turns_of_a_loop_are_things_of_their_own() {
    compare("looped", &finished::<looped>(&engine(), 0).await);
}

#[tokio::test(start_paused = true)]
async fn items_around_a_single_node_are_its_visits() {
    compare("items", &finished::<items>(&engine_of_one(), 3).await);
}

#[tokio::test(start_paused = true)]
async fn items_around_several_nodes_are_things() {
    compare("long_items", &finished::<long_items>(&engine_of_one(), 12).await);
}

#[tokio::test(start_paused = true)]
async fn nested_workflows_and_items_of_them_are_scopes() {
    compare("outer", &finished::<outer>(&engine_of_one(), 1).await);
}

#[tokio::test(start_paused = true)]
async fn items_may_have_items() {
    compare("items_of_items", &finished::<items_of_items>(&engine_of_one(), 3).await);
}

#[tokio::test(start_paused = true)]
async fn attempts_wait_for_each_other() {
    compare("retrying", &finished::<retrying>(&engine(), 3).await);
}

#[tokio::test(start_paused = true)]
async fn a_failure_inside_fails_what_is_around_it() {
    compare("fails", &finished::<fails>(&engine(), 0).await);
}

#[tokio::test(start_paused = true)]
async fn a_retry_takes_back_what_it_voids() {
    let engine = engine();
    finished::<fails>(&engine, 0).await;
    let again = engine.retry("fails").await.unwrap();
    assert!(matches!(again.result().await, Err(RunError::Failed(_))));
    let last = engine.retry("fails").from_node("fails/add_one").await.unwrap();
    assert!(last.result().await.is_err());
    compare("retried", &History::of::<fails>(&engine, "fails").await);
}

#[tokio::test(start_paused = true)]
async fn a_run_waits_as_long_as_all_that_is_under_way_does() {
    let engine = engine();
    let waiting = finished::<asking>(&engine, 7).await;
    assert_eq!(waiting.view().status(), Some(RunStatus::Waiting));
    engine.answer("asking", "approve", true).by("ada").comment("it is fine").await.unwrap();
    let run = engine.get_run_of::<asking>("asking").await.unwrap().unwrap();
    assert_eq!(run.result().await.unwrap(), 14);
    compare("asked", &History::of::<asking>(&engine, "asking").await);
}

#[tokio::test(start_paused = true)]
async fn what_is_open_is_cancelled_with_the_run() {
    let engine = engine();
    finished::<asking>(&engine, 7).await;
    let run = engine.get_run("asking").await.unwrap().unwrap();
    run.cancel().await.unwrap();
    run.outcome().await.unwrap();
    compare("cancelled", &History::of::<asking>(&engine, "asking").await);
}

#[tokio::test(start_paused = true)]
async fn a_wait_gets_its_signal() {
    let engine = engine();
    finished::<signalled>(&engine, 7).await;
    engine.signal("signalled", PAID, 5).id("evt_77").by("the bank").await.unwrap();
    let run = engine.get_run_of::<signalled>("signalled").await.unwrap().unwrap();
    assert_eq!(run.result().await.unwrap(), 10);
    compare("signalled", &History::of::<signalled>(&engine, "signalled").await);
}

#[tokio::test(start_paused = true)]
async fn what_a_node_asks_for_is_in_the_node() {
    compare("children", &finished::<children>(&engine(), 1).await);
}

#[tokio::test(start_paused = true)]
async fn a_child_that_is_a_workflow_has_the_edges_of_its_graph() {
    compare("judging", &finished::<judging>(&engine_of_one(), 1).await);
}

#[tokio::test(start_paused = true)]
async fn what_is_skipped_in_a_child_and_in_a_child_of_it_is_shown() {
    compare("deep", &finished::<deep>(&engine_of_one(), 20).await);
}

#[tokio::test(start_paused = true)]
async fn a_collecting_node_waits_for_its_next_arrival() {
    compare("raced", &finished::<raced>(&engine(), 1).await);
}

#[tokio::test(start_paused = true)]
async fn a_fork_has_the_events_that_it_was_given() {
    let engine = engine();
    finished::<looped>(&engine, 0).await;
    engine.fork("looped").before(6).id("fork").await.unwrap().outcome().await.unwrap();
    compare("forked", &History::of::<looped>(&engine, "fork").await);
}
