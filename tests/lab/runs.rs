//! Runs, and what is asserted of them.

use std::collections::BTreeMap;

use graphweft::prelude::*;
use graphweft::testing::{Lab, fails};

use crate::shop::{charge, checkout};
use crate::{has_line, message};

#[tokio::test(start_paused = true)]
async fn the_third_attempt_of_a_mock_that_fails_twice_completes() {
    let lab = Lab::of::<checkout>().mock::<charge>(fails(2).then("a receipt".to_owned()));
    let run = lab.run(4000).await;
    run.took(["validate", "charge#3", "notify"]);
    assert_eq!(run.output(), "Dear customer: a receipt");
    assert_eq!(run.called::<charge>().inputs(), [4000; 3]);
}

#[tokio::test(start_paused = true)]
async fn another_way_is_reported_with_both_lists_and_the_place() {
    let run = Lab::of::<checkout>().mock::<charge>(fails(1).then("a receipt".to_owned())).run(4000).await;
    let text = message(|| run.took(["validate", "charge", "notify"]));
    has_line(&text, &["expected:", r#"["validate", "charge", "notify"]"#]);
    has_line(&text, &["took:", r#"["validate", "charge#2", "notify"]"#]);
    has_line(&text, &["at 1", "`charge` was expected", "`charge#2` came"]);
    has_line(&text, &["it has completed"]);
}

#[tokio::test(start_paused = true)]
async fn a_run_that_ends_early_is_reported_with_its_failure() {
    let run = Lab::of::<checkout>().run(4000).await;
    has_line(&message(|| run.took(["validate", "charge"])), &["`charge` was expected and its end came"]);
    has_line(
        &message(|| drop(run.output().clone())),
        &["`checkout` has no output", "`checkout/charge` failed after 3 attempts"],
    );
    assert_eq!(run.error().attempts, 3);
}

#[tokio::test]
async fn the_error_of_a_run_that_has_completed_is_a_mistake_of_the_test() {
    let run = Lab::of::<checkout>().run(0).await;
    run.took(["validate", "refuse", "notify"]);
    has_line(&message(|| drop(run.error().clone())), &["`checkout` has not failed: it has completed"]);
    has_line(&message(|| drop(run.called::<charge>())), &["calls of `charge` are not counted", ".mock::<charge>"]);
}

#[node]
async fn negate(n: u128) -> i128 {
    -(n >> 1).cast_signed()
}

#[node]
async fn pair(n: i128) -> BTreeMap<(u8, bool), i128> {
    BTreeMap::from([((1, true), n)])
}

workflow! { negated(u128) -> BTreeMap<(u8, bool), i128> { START => negate => pair; } }

#[tokio::test(start_paused = true)]
async fn an_output_that_plain_json_cannot_express_is_read_exactly() {
    let lab = Lab::of::<negated>().repeatable::<(negate, pair)>();
    let output = BTreeMap::from([((1, true), -(u128::MAX >> 1).cast_signed())]);
    assert_eq!(lab.run(u128::MAX).await.output(), &output);
    lab.crash_at_every_commit(u128::MAX).await;
}

#[node]
async fn draft(text: String) -> String {
    text
}

#[node]
async fn is_long(text: String) -> Result<String, String> {
    if text.len() > 3 { Err(text[1..].to_owned()) } else { Ok(text) }
}

#[node]
async fn pack(text: String) -> String {
    format!("[{text}]")
}

#[node]
async fn words(text: String) -> Vec<String> {
    text.split(' ').map(str::to_owned).collect()
}

#[node]
async fn join(texts: Vec<String>) -> String {
    texts.join(" ")
}

workflow! { shorten(String) -> String { START => draft => is_long => <ok: END, err: draft>; } }
workflow! { digest(String) -> String { START => words => [shorten => pack] => join; } }

#[tokio::test]
async fn turns_items_and_nested_workflows_are_in_the_list() {
    let run = Lab::of::<digest>().run("a quick ant".into()).await;
    let mut took: Vec<String> = Vec::new();
    for event in run.journal() {
        if matches!(event.kind, EventKind::NodeCompleted { .. }) {
            took.push(event.path.clone());
        }
    }
    assert_eq!(run.output(), "[a] [ick] [ant]");
    // The second item takes three turns.
    let text = message(|| run.took(["words"]));
    has_line(&text, &["took:", "shorten[1]/draft#3", "shorten[1]/is_long#3", "pack[1]", "join"]);
    assert!(took.contains(&"digest/shorten[1]/draft#3".to_owned()), "{took:?}");
}

#[tokio::test]
async fn a_nested_workflow_that_is_mocked_is_a_node() {
    let run = Lab::of::<digest>().mock_fn::<shorten>(|text| Ok(text.to_uppercase())).run("a b".into()).await;
    assert_eq!(run.output(), "[A] [B]");
    assert_eq!(run.called::<shorten>().paths(), ["digest/shorten[0]", "digest/shorten[1]"]);
}

#[tokio::test]
async fn a_run_that_cannot_be_started_says_why_and_where() {
    #[node]
    async fn needs(n: u32, #[resource] pool: &String) -> usize {
        pool.len() + n as usize
    }
    workflow! { needy(u32) -> usize { START => needs; } }
    let text = crate::message_of(Lab::of::<needy>().run(1)).await;
    has_line(&text, &["tests/lab/runs.rs:", "`needy`: the run cannot be started", "String", ".resource("]);
}

#[node(pool = "gpu")]
async fn render(n: u32) -> u32 {
    n * 2
}

workflow! { rendered(u32) -> u32 { START => render; } }

#[tokio::test(start_paused = true)]
async fn nodes_of_a_pool_are_executed_in_the_lab() {
    let lab = Lab::of::<rendered>().repeatable::<render>();
    assert_eq!(lab.run(4).await.output(), &8);
    lab.crash_at_every_commit(4).await;
}

#[node(retry(max_attempts = 3))]
async fn paris(n: u32) -> u32 {
    n
}

#[node(retry(max_attempts = 3))]
async fn london(n: u32) -> u32 {
    n
}

#[node(collect)]
async fn first(n: u32) -> Option<u32> {
    Some(n)
}

workflow! { race(u32) -> u32 { START => (paris, london); paris | london => first => END; } }

/// Both are retried after the same delay, to which a policy adds up to as much again by chance elsewhere.
#[tokio::test(start_paused = true)]
async fn retries_have_no_jitter() {
    for _ in 0..20 {
        let lab = Lab::of::<race>().mock::<paris>(fails(1).then(1)).mock::<london>(fails(1).then(2));
        assert_eq!(lab.run(0).await.output(), &1);
    }
}
