//! Outputs of tools and replies of models that are too large or too deep to be recorded.

use graphweft::prelude::*;
use graphweft::{Fault, Json, json};
use graphweft_agents::{Agent, AgentError, Message, Models, Scripted, Tool};
use graphweft_tests::{Death, Journal, OnDisk, failure};

use crate::scene::{call, results};

/// How large a value may be in these tests.
const LIMIT: usize = 10_000;

/// Prints an order. Some prints do not fit into a record.
#[node]
async fn print(order: String, #[resource] journal: &Journal) -> Json {
    journal.note(format!("printed {order}"));
    match order.as_str() {
        "long" => "x".repeat(2 * LIMIT).into(),
        "deep" => (0..200).fold(json!("x"), |inside, _| json!([inside])),
        _ => "ok".into(),
    }
}

fn printer() -> Agent<String, String> {
    Agent::new("You print.").tool(Tool::of::<print>().at_most_once())
}

workflow! {
    office(String) -> String {
        let printer: Agent<String, String> = printer();
        START => printer;
    }
}

workflow! {
    shop(String) -> String {
        let printer: Agent<String, String> = Agent::new("You print.").tool(Tool::of::<print>());
        START => printer;
    }
}

async fn engine(disk: &OnDisk, model: &Scripted) -> Engine {
    let builder = disk.engine(&Death::default()).await.max_value_size(LIMIT);
    builder.resource(Models::new(model.clone())).register::<office>().register::<shop>().build().unwrap()
}

fn prints(order: &str) -> Scripted {
    Scripted::turns([call("print", json!({ "order": order })), Message::assistant("Printed.")])
}

#[tokio::test]
async fn a_call_at_most_once_whose_output_cannot_be_recorded_is_a_question_and_not_made_again() {
    for (order, why) in [("long", "more than 10000 bytes"), ("deep", "nested more than 100 levels deep")] {
        let (disk, model) = (OnDisk::default(), prints(order));
        let engine = engine(&disk, &model).await;
        let run = engine.start::<office>("Go".into()).id("run").await.unwrap();
        let Outcome::Waiting(asked) = run.outcome().await.unwrap() else { panic!("a person is asked: {order}") };
        assert_eq!(asked[0].id, "office/printer/print:1.0/went_through");
        assert!(asked[0].prompt.starts_with("A call of `print` has no recorded output (the output"), "{:?}", asked[0]);
        assert!(asked[0].prompt.contains(why), "{:?}", asked[0]);

        run.cancel().await.unwrap();
        assert!(matches!(run.outcome().await.unwrap(), Outcome::Cancelled));
        let run = engine.retry("run").await.unwrap();
        assert!(matches!(run.outcome().await.unwrap(), Outcome::Waiting(_)));
        run.answer("went_through", json!({ "done": "by hand" })).await.unwrap();
        assert_eq!(run.result().await.unwrap(), "Printed.");
        assert_eq!(disk.journal.lines(), [format!("printed {order}")]);
        assert_eq!(results(&model.requests()[1]), ["by hand"]);
    }
}

#[tokio::test]
async fn a_reply_that_is_larger_than_a_value_may_be_is_asked_for_once() {
    let (disk, model) = (OnDisk::default(), Scripted::text("x".repeat(2 * LIMIT)));
    let engine = engine(&disk, &model).await;
    let run = engine.start::<office>("Go".into()).await.unwrap();
    let failure = failure(run.result().await);
    let Some(AgentError::ReplyTooLarge { size, limit }) = failure.error_as::<AgentError>() else {
        panic!("a typed error: {failure}")
    };
    assert!(size > 2 * LIMIT as u64 && limit == LIMIT as u64, "{size} of {limit}");
    assert!(failure.to_string().contains("bytes, and a recorded value may take 10000"), "{failure}");
    assert_eq!(model.requests().len(), 1);
}

#[tokio::test]
async fn the_output_of_a_repeatable_tool_that_cannot_be_recorded_fails_the_agent_after_one_call() {
    let disk = OnDisk::default();
    let run = engine(&disk, &prints("long")).await.start::<shop>("Go".into()).await.unwrap();
    let failure = failure(run.result().await);
    let error = failure.error_as::<AgentError>();
    let Some(AgentError::Tool { fault: Fault::Unrecordable { at_most_once: false, .. }, .. }) = error else {
        panic!("a typed error: {failure}")
    };
    assert_eq!(disk.journal.lines(), ["printed long"]);
}
