//! Nodes that a test calls by themselves.

use std::time::Duration;

use graphweft::prelude::*;
use graphweft::testing::{Lab, TestContext, fails};
use graphweft::{Elapsed, Fault, json};

use crate::{has_line, message_of};

#[node]
async fn greet(name: String, ctx: &Context) -> String {
    ctx.message("greets");
    ctx.note("length", json!(name.len()));
    format!("Hello, {name}!")
}

#[tokio::test]
async fn a_node_with_a_context_is_called_like_any_function() {
    let ctx = Context::test();
    assert_eq!(greet("Ada".into(), &ctx).await, "Hello, Ada!");
    assert_eq!(ctx.attempt(), 1);
    assert_eq!(ctx.path(), "test/node");
    assert!(!ctx.is_cancelled());
}

#[node]
async fn wait(hours: u64, ctx: &Context) -> u64 {
    ctx.sleep(Duration::from_secs(3600 * hours)).await;
    ctx.step("add", async || Ok::<_, Never>(hours + 1)).await.unwrap_or_default()
}

#[tokio::test(start_paused = true)]
async fn timers_pass_by_the_clock_of_the_test() {
    let began = tokio::time::Instant::now();
    assert_eq!(wait(10, &Context::test()).await, 11);
    assert_eq!(began.elapsed().as_secs() / 3600, 10);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_context_works_on_several_threads() {
    assert_eq!(wait(0, &Context::test()).await, 1);
}

#[node]
async fn search(query: String) -> Result<usize, String> {
    if query.is_empty() { Err("no query".to_owned()) } else { Ok(query.len()) }
}

#[node]
async fn plan(query: String, ctx: &Context) -> Result<usize, String> {
    ctx.call::<search>(query).await.map_err(|error| error.to_string())
}

#[tokio::test(start_paused = true)]
async fn children_are_called_or_mocked() {
    assert_eq!(plan("ants".into(), &Context::test()).await, Ok(4));
    has_line(&plan(String::new(), &Context::test()).await.unwrap_err(), &["no query"]);
    let ctx = TestContext::new().mock::<search>(fails(1).then(7)).build();
    has_line(&plan("ants".into(), &ctx).await.unwrap_err(), &["the mock of `search` fails in attempt 1"]);
}

#[node]
async fn approve(cents: u32, ctx: &Context) -> bool {
    ctx.ask::<bool>("large", "Pay this back?").key(cents).await
}

#[tokio::test]
async fn questions_get_the_answers_of_the_context() {
    let ctx = TestContext::new().answer("large", true).answer("large:7", false).build();
    assert!(approve(1, &ctx).await);
    assert!(!approve(7, &ctx).await);
}

#[tokio::test]
async fn several_answers_to_one_name_come_in_turn_as_in_a_lab() {
    #[node]
    async fn ask(n: u32, ctx: &Context) -> u32 {
        ctx.ask::<u32>("much", "How much?").key(n).await
    }
    #[node]
    async fn ask_often(n: u32, ctx: &Context) -> Vec<u32> {
        let mut answers = Vec::new();
        for at in 0..n {
            answers.push(ctx.ask::<u32>("much", "How much?").key(at).await);
        }
        // The questions of a child count as well, which has the same name and key.
        answers.push(ctx.call::<ask>(0).await.unwrap_or_default());
        answers
    }
    workflow! { asked_often(u32) -> Vec<u32> { START => ask_often; } }

    let ctx = TestContext::new().answer("much", 1).answer("much:1", 9).answer("much", 2).answer("much", 3).build();
    let answers = ask_often(3, &ctx).await;
    assert_eq!(answers, [1, 9, 2, 3]);
    let lab = Lab::of::<asked_often>().answer("much", 1).answer("much:1", 9).answer("much", 2).answer("much", 3);
    assert_eq!(lab.run(3).await.output(), &answers);
    // The last one is for all further questions.
    assert_eq!(ask_often(2, &TestContext::new().answer("much", 1).answer("much", 2).build()).await, [1, 2, 2]);
}

#[tokio::test]
async fn a_missing_answer_ends_the_test() {
    let ctx = Context::test();
    let text = message_of(approve(1, &ctx)).await;
    has_line(&text, &["has no answer to `large`", ".answer(\"large\", ..)"]);
}

#[tokio::test]
async fn an_answer_of_the_wrong_type_ends_the_test() {
    let ctx = TestContext::new().answer("large", "perhaps").build();
    has_line(&message_of(approve(1, &ctx)).await, &["to `large` cannot be read", "expected a boolean"]);
}

#[tokio::test(start_paused = true)]
async fn a_question_without_an_answer_elapses() {
    #[node]
    async fn ask(n: u32, ctx: &Context) -> u32 {
        match ctx.ask::<u32>("much", "How much?").within(Duration::from_secs(3600)).await {
            Ok(answer) => answer,
            Err(Elapsed { .. }) => n,
        }
    }
    assert_eq!(ask(7, &Context::test()).await, 7);
    assert_eq!(ask(7, &TestContext::new().answer("much", 8).build()).await, 8);
}

const PAID: Signal<u64> = Signal::new("paid");

#[node]
async fn collect(due: u64, ctx: &Context) -> u64 {
    let mut paid = 0;
    while paid < due {
        paid += ctx.wait(PAID).await;
    }
    paid
}

#[tokio::test]
async fn signals_come_in_turn_and_a_missing_one_ends_the_test() {
    assert_eq!(collect(100, &TestContext::new().signal(PAID, 60).signal(PAID, 50).build()).await, 110);
    let ctx = TestContext::new().signal(PAID, 60).build();
    has_line(&message_of(collect(100, &ctx)).await, &["no further signal `paid`", ".signal(..)"]);
}

const OWNER: StateKey<String> = StateKey::new("owner");

#[node]
async fn assign(name: String, ctx: &Context, #[writes(OWNER)] owner: StateWriter<String>) -> Option<String> {
    let before = ctx.state().get(OWNER).unwrap();
    owner.set(name);
    before
}

#[tokio::test]
async fn the_state_is_read_and_written() {
    let ctx = TestContext::new().state(OWNER, "Ada".into()).build();
    assert_eq!(assign("Bob".into(), &ctx, ctx.state_writer(OWNER)).await, Some("Ada".to_owned()));
    assert_eq!(ctx.state().get(OWNER).unwrap(), Some("Bob".to_owned()));
    assert_eq!(Context::test().state().get(OWNER).unwrap(), None);
}

#[tokio::test]
async fn resources_are_those_of_the_context() {
    let ctx = TestContext::new().resource(7_u32).build();
    assert_eq!(ctx.resource::<u32>(), Some(&7));
    assert_eq!(ctx.resource::<u64>(), None);
}

#[tokio::test]
async fn what_would_end_the_attempt_ends_the_test() {
    let ctx = Context::test();
    let stop = ctx.stop::<()>(Fault::Context { message: "no more".to_owned() });
    has_line(&message_of(stop).await, &["the context of the test ends its node: no more"]);
    workflow! { other(u32) -> u32 { START => double; } }
    #[node]
    async fn double(n: u32) -> u32 {
        2 * n
    }
    has_line(&message_of(ctx.start_over::<other>(1)).await, &["cannot start over"]);
    // The context is as it was.
    let one = async || Ok::<_, Never>(1);
    assert_eq!(ctx.step("one", one).await.unwrap(), 1);
    has_line(&ctx.step("one", one).await.unwrap_err().to_string(), &["duplicate request"]);
}

#[test]
fn a_context_needs_a_runtime() {
    let text = crate::message(|| drop(Context::test()));
    has_line(&text, &["the context of the test cannot be made", "tokio"]);
}

#[tokio::test(start_paused = true)]
async fn a_question_behind_a_wait_whose_time_has_passed_is_answered() {
    const PAID: Signal<u64> = Signal::new("paid");
    #[node]
    async fn remind(cents: u64, ctx: &Context) -> bool {
        let paid = ctx.wait(PAID).within(std::time::Duration::from_secs(3600)).await;
        paid.is_err() && ctx.ask::<bool>("large", "Remind of it?").payload(cents).await
    }
    let ctx = TestContext::new().answer("large", true).build();
    assert!(remind(7, &ctx).await);
}

#[tokio::test(start_paused = true)]
async fn a_signal_whose_wait_is_dropped_is_for_the_next_one() {
    const PAID: Signal<u64> = Signal::new("paid");
    #[node]
    async fn settle(ctx: &Context) -> u64 {
        tokio::select! {
            biased;
            () = std::future::ready(()) => {}
            _ = ctx.wait(PAID).key("first") => {}
        }
        drop(tokio::time::timeout(std::time::Duration::ZERO, ctx.wait(PAID).key("second")).await);
        ctx.wait(PAID).key("third").await
    }
    assert_eq!(settle(&TestContext::new().signal(PAID, 7).build()).await, 7);
}
