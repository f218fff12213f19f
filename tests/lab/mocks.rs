//! What mocks do.

use std::time::Duration;

use graphweft::prelude::*;
use graphweft::testing::{Lab, fails, fails_with, hangs, panics, sequence, waits};
use graphweft::{Fault, OnClose};

use crate::has_line;

#[node(retry(max_attempts = 4), timeout = "5s")]
async fn fetch(url: String) -> Result<String, String> {
    Err(format!("{url} for real"))
}

#[node]
async fn explain(error: String) -> String {
    format!("no page: {error}")
}

workflow! { page(String) -> String { START => fetch => <ok: END, err: explain>; explain => END; } }

#[tokio::test(start_paused = true)]
async fn attempts_fail_panic_and_hang_before_one_succeeds() {
    let script = fails_with(1, || "busy".to_owned()).panics(1).hangs(1).then("<html>".to_owned());
    let run = Lab::of::<page>().mock::<fetch>(script).run("a".into()).await;
    run.took(["fetch#4"]);
    let causes: Vec<String> = run
        .journal()
        .iter()
        .filter_map(|event| match &event.kind {
            EventKind::NodeFailed { cause, .. } => Some(cause.to_string()),
            _ => None,
        })
        .collect();
    assert_eq!(causes[0], "busy");
    has_line(&causes[1], &["panicked: the mock of `fetch` panics in attempt 2"]);
    assert_eq!(causes[2], "timed out after 5s");
}

#[tokio::test(start_paused = true)]
async fn an_error_of_the_node_takes_its_arm() {
    let run =
        Lab::of::<page>().mock::<fetch>(fails_with(4, || "gone".to_owned()).then(String::new())).run("a".into()).await;
    assert_eq!(run.output(), "no page: gone");
}

#[tokio::test(start_paused = true)]
async fn a_mock_that_takes_too_long_meets_the_time_limit_of_the_node() {
    let slow = waits(Duration::from_secs(6)).then("<html>".to_owned());
    let run = Lab::of::<page>().mock::<fetch>(slow).run("a".into()).await;
    assert!(matches!(run.error().cause.fault, Some(Fault::Timeout { .. })), "{}", run.error());
    let quick = waits(Duration::from_secs(4)).then("<html>".to_owned());
    assert_eq!(Lab::of::<page>().mock::<fetch>(quick).run("a".into()).await.output(), "<html>");
}

#[tokio::test(start_paused = true)]
async fn a_script_begins_anew_for_each_execution() {
    #[node]
    async fn urls(count: u32) -> Vec<String> {
        (0..count).map(|n| n.to_string()).collect()
    }
    #[node(retry(max_attempts = 2, jitter = 0))]
    async fn get(url: String) -> String {
        panic!("{url} for real")
    }
    workflow! { pages(u32) -> Vec<String> { START => urls => [get]; } }
    let run = Lab::of::<pages>().mock::<get>(panics(1).then_each(["a".to_owned(), "b".to_owned()])).run(2).await;
    assert_eq!(run.output(), &["a", "b"]);
    run.took(["urls", "get[0]#2", "get[1]#2"]);
}

#[tokio::test]
async fn a_sequence_that_is_too_short_says_so() {
    #[node]
    async fn review(text: String) -> Result<String, String> {
        Ok(text)
    }
    #[node]
    async fn draft(text: String) -> String {
        text
    }
    workflow! { publish(String) -> String { START => draft => review => <ok: END, err: draft>; } }
    #[node]
    async fn ask(text: String) -> String {
        text
    }
    workflow! { twice(String) -> String { START => ask => again; } }
    #[node]
    async fn again(text: String) -> String {
        text
    }
    let run = Lab::of::<twice>().mock::<ask>(sequence(Vec::<String>::new())).run("a".into()).await;
    has_line(&run.error().to_string(), &["`twice/ask`", "no value for execution 1", "add one to its sequence"]);
    assert_eq!(Lab::of::<publish>().run("a".into()).await.output(), "a");
}

#[tokio::test(start_paused = true)]
async fn an_attempt_that_hangs_without_a_time_limit_ends_by_the_patience_of_the_lab() {
    #[node]
    async fn hang(n: u32) -> u32 {
        n
    }
    workflow! { stuck(u32) -> u32 { START => hang; } }
    let lab = Lab::of::<stuck>().mock::<hang>(hangs(1).then(2)).patience(Duration::from_millis(50));
    let text = crate::message_of(lab.run(1)).await;
    has_line(&text, &["`stuck`: the run has not ended after 50ms of real time"]);
    has_line(&text, &["under way: `stuck/hang`"]);
    has_line(&text, &["help:", "start_paused = true", ".patience("]);
}

#[tokio::test(start_paused = true)]
async fn a_run_that_waits_for_a_started_run_says_what_was_asked_there() {
    #[node]
    async fn ask(ctx: &Context) -> u32 {
        ctx.ask("how many", "How many?").await
    }
    workflow! { asking(()) -> u32 { START => ask; } }
    #[node]
    async fn start(ctx: &Context) -> u32 {
        let started = ctx.start::<asking>(()).id("other").on_close(OnClose::Wait);
        started.await.map_or(0, |_| 1)
    }
    workflow! { starting(()) -> u32 { START => start; } }
    let lab = Lab::of::<starting>().register::<asking>().repeatable::<(start, ask)>();
    let text = crate::message_of(lab.patience(Duration::from_millis(50)).answer("how many", 1).run(())).await;
    has_line(&text, &["asked:", "`asking/ask/how many` in run `other`"]);
    has_line(&text, &["help:", "mock the nodes that ask there"]);
}

#[tokio::test]
async fn a_mock_of_a_node_that_the_workflow_does_not_have_is_refused() {
    #[node]
    async fn other(n: u32) -> u32 {
        n
    }
    let text = crate::message_of(Lab::of::<page>().mock::<other>(1).run("a".into())).await;
    has_line(&text, &["the engine cannot be built", "other"]);
}

#[tokio::test(start_paused = true)]
async fn attempts_of_a_script_have_no_end_if_there_are_as_many_as_can_be() {
    let script = fails(1).hangs(u32::MAX);
    has_line(&format!("{script:?}"), &["attempts: 4294967295"]);
    let run = Lab::of::<page>().mock::<fetch>(script.then(String::new())).run("a".into()).await;
    assert_eq!(run.error().attempts, 4);
}
