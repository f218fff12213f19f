//! Arms that no input takes.

use graphweft::prelude::*;
use graphweft::testing::Lab;

use crate::{has_line, message_of};

#[node]
async fn validate(cents: u64) -> Result<u64, String> {
    if cents > 0 { Ok(cents) } else { Err("nothing to pay".to_owned()) }
}

#[node]
async fn charge(cents: u64) -> String {
    cents.to_string()
}

#[node]
async fn refuse(why: String) -> String {
    why
}

#[derive(Route)]
#[value]
enum Verdict {
    Redo(String),
    Good(String),
}

#[node]
async fn draft(text: String) -> String {
    format!("{text}.")
}

#[node]
async fn review(text: String) -> Verdict {
    if text.len() < 4 { Verdict::Redo(text) } else { Verdict::Good(text) }
}

#[node]
async fn give_up(text: String) -> String {
    text
}

workflow! {
    write(String) -> String {
        START => draft => review => <redo (at most 2): draft, good: END, spent: give_up>;
        give_up => END;
    }
}

workflow! {
    checkout(u64) -> String {
        START => validate => <ok: charge, err: refuse> => write;
    }
}

#[tokio::test]
async fn every_arm_that_is_not_taken_is_named_as_it_is_written() {
    let text = message_of(Lab::of::<checkout>().covers_every_arm([4000])).await;
    has_line(&text, &["tests/lab/arms.rs:", "`checkout`: 3 arms are not taken by the run of the input"]);
    has_line(&text, &["checkout: validate => <err: refuse>"]);
    has_line(&text, &["write: review => <redo (at most 2): draft>"]);
    has_line(&text, &["write: review => <spent: give_up>"]);
    assert!(!text.contains("<good"), "{text}");
    has_line(&text, &["help: add an input"]);
}

#[tokio::test]
async fn all_arms_are_taken_by_inputs_and_mocks() {
    let lab = Lab::of::<checkout>().mock_fn::<draft>(Ok);
    lab.covers_every_arm([0, 4000, 1]).await;
    let text = message_of(lab.covers_every_arm([4000, 1])).await;
    has_line(&text, &["1 arm is not taken by any of the runs of 2 inputs"]);
}

#[tokio::test]
async fn a_mocked_workflow_has_no_arms() {
    Lab::of::<checkout>().mock_fn::<write>(Ok).covers_every_arm([0, 1]).await;
}

#[tokio::test]
async fn arms_at_start_and_in_items_count() {
    #[node]
    async fn double(n: u32) -> u32 {
        2 * n
    }
    #[node]
    async fn keep(n: u32) -> u32 {
        n
    }
    #[node]
    async fn numbers(n: u32) -> Vec<u32> {
        (0..n).collect()
    }
    workflow! { even(u32) -> u32 { START => <0: keep, _: double> => END; } }
    workflow! { evens(u32) -> Vec<u32> { START => <0..=1: numbers, _: numbers>; numbers => [even]; } }
    Lab::of::<even>().covers_every_arm([0, 1]).await;
    has_line(&message_of(Lab::of::<even>().covers_every_arm([1])).await, &["even: START => <0: keep>"]);
    has_line(&message_of(Lab::of::<evens>().covers_every_arm([1])).await, &["even: START => <_: double>"]);
}
