//! The loop of model calls and tool calls.

use std::num::NonZeroUsize;

use graphweft::json;
use graphweft::prelude::*;
use graphweft_agents::{Agent, AgentError, Message, Models, Scripted, Tool};
use graphweft_tests::{Gauge, Journal, failure};

use crate::scene::{call, results, run};

/// Looks up a word.
#[node]
async fn look_up(word: String, limit: Option<u32>) -> Result<String, String> {
    if word == "void" { Err("there is no such word".to_owned()) } else { Ok(format!("{word} {limit:?}")) }
}

#[node]
async fn breaks(word: String) -> String {
    panic!("{word} is out of order")
}

#[node]
async fn reads(path: String) -> std::io::Result<String> {
    Err(std::io::Error::other(format!("no file {path}")))
}

fn reader() -> Agent<String, String> {
    Agent::new("You read.")
        .tool(Tool::of::<look_up>())
        .tool(Tool::of::<breaks>())
        .tool(Tool::error_as_text::<reads>())
        .max_turns(3)
}

workflow! {
    read(String) -> String {
        let reader: Agent<String, String> = reader();
        START => reader;
    }
}

#[tokio::test]
async fn the_model_gets_the_results_of_its_calls_in_their_order() {
    let calls = [("look_up", json!({ "word": "ant" })), ("look_up", json!({ "word": "bee", "limit": 2 }))];
    let model = Scripted::turns([Scripted::calls(calls), Message::assistant("Two insects.")]);
    assert_eq!(run::<read>(model.clone(), "Go".into()).await.unwrap(), "Two insects.");
    let requests = model.requests();
    assert_eq!(results(&requests[1]), ["ant None", "bee Some(2)"]);
    assert_eq!(requests[0].messages[..], [Message::user("Go")]);
    assert_eq!(&*requests[0].instructions, "You read.");
}

#[tokio::test]
async fn a_model_knows_a_tool_by_the_name_the_doc_comment_and_the_parameters_of_the_function() {
    let model = Scripted::text("Nothing to do.");
    run::<read>(model.clone(), "Go".into()).await.unwrap();
    let tool = &model.requests()[0].tools[0];
    assert_eq!((tool.name.as_str(), tool.description.as_str()), ("look_up", "Looks up a word."));
    assert_eq!(tool.parameters["required"], json!(["word"]));
    assert_eq!(tool.parameters["properties"]["word"]["type"], "string");
}

#[tokio::test]
async fn arguments_that_do_not_fit_go_to_the_model_with_the_field_and_nothing_runs() {
    let model = Scripted::turns([
        call("look_up", json!({ "word": "ant", "limit": "many" })),
        call("look_up", json!({ "limit": 1 })),
        Message::assistant("Sorry."),
    ]);
    let engine = Engine::builder().resource(Models::new(model.clone())).build().unwrap();
    let run = engine.start::<read>("Go".into()).await.unwrap();
    assert_eq!(run.result().await.unwrap(), "Sorry.");
    let requests = model.requests();
    let [first, second] = &results(&requests[2])[..] else { panic!("two results") };
    assert!(first.starts_with("error: `look_up` does not take this input: at `limit`: invalid type"), "{first}");
    assert!(second.contains("at `word`: it is missing"), "{second}");
    let history = engine.history(run.id()).await.unwrap().unwrap();
    assert!(!history.iter().any(|event| event.path.contains("look_up")), "a tool has run");
}

#[tokio::test]
async fn arguments_that_are_no_json_go_to_the_model_with_the_reason_until_its_turns_are_spent() {
    let model = Scripted::new(|_| Ok(call("look_up", json!("{\"word\": an"))));
    let engine = Engine::builder().resource(Models::new(model.clone())).build().unwrap();
    let run = engine.start::<read>("Go".into()).await.unwrap();
    let failure = failure(run.result().await);
    assert!(matches!(failure.error_as(), Some(AgentError::TooManyTurns { .. })), "{failure}");
    let requests = model.requests();
    let got = results(requests.last().unwrap());
    assert_eq!(got.len(), requests.len() - 1);
    let expected = "error: `look_up` does not take this input: its arguments have to be a JSON object, and they are no JSON: expected value at \
                    line 1 column 10";
    assert!(got.iter().all(|result| result == expected), "{got:?}");
    let history = engine.history(run.id()).await.unwrap().unwrap();
    assert!(!history.iter().any(|event| event.path.contains("look_up")), "a tool has run");

    let twice = Scripted::turns([call("look_up", json!("{\"word\": \"ant\"}")), Message::assistant("Sorry.")]);
    assert_eq!(crate::scene::run::<read>(twice.clone(), "Go".into()).await.unwrap(), "Sorry.");
    let result = &results(&twice.requests()[1])[0];
    assert!(result.contains("they are a text that has JSON in it"), "{result}");
}

#[tokio::test]
async fn an_unknown_tool_and_the_error_of_a_tool_go_to_the_model() {
    let calls = [("dig", json!({})), ("look_up", json!({ "word": "void" })), ("reads", json!({ "path": "x" }))];
    let model = Scripted::turns([Scripted::calls(calls), Message::assistant("Sorry.")]);
    assert_eq!(run::<read>(model.clone(), "Go".into()).await.unwrap(), "Sorry.");
    let expected = [
        "error: there is no tool `dig`; there are `look_up`, `breaks`, `reads`",
        "error: there is no such word",
        "error: no file x",
    ];
    assert_eq!(results(&model.requests()[1]), expected);
}

#[tokio::test]
async fn a_fault_of_a_tool_fails_the_agent_and_does_not_go_to_the_model() {
    let model = Scripted::turns([call("breaks", json!({ "word": "ant" })), Message::assistant("Well.")]);
    let failure = failure(run::<read>(model.clone(), "Go".into()).await);
    let Some(AgentError::Tool { tool, fault: Fault::Panic { message } }) = failure.error_as() else {
        panic!("{failure}")
    };
    assert_eq!((tool.as_str(), message.as_str()), ("breaks", "ant is out of order"));
    assert_eq!(model.requests().len(), 1);
}

#[tokio::test]
async fn a_model_that_only_calls_tools_is_stopped_and_its_last_calls_are_not_executed() {
    let model = Scripted::new(|_| Ok(call("look_up", json!({ "word": "ant" }))));
    let engine = Engine::builder().resource(Models::new(model.clone())).build().unwrap();
    let run = engine.start::<read>("Go".into()).await.unwrap();
    let failure = failure(run.result().await);
    assert_eq!(failure.error_as::<AgentError>(), Some(AgentError::TooManyTurns { turns: 3 }));
    assert_eq!(failure.cause.to_string(), "no output after 3 turns; allow more with `Agent::max_turns`");
    let history = engine.history(run.id()).await.unwrap().unwrap();
    let executed = |event: &graphweft::Event| {
        event.path.contains("look_up:") && matches!(event.kind, EventKind::NodeCompleted { .. })
    };
    assert_eq!(history.iter().filter(|event| executed(event)).count(), 2);
}

#[node]
async fn meets(number: u32, #[resource] gauge: &Gauge) -> u32 {
    gauge.stay_inside().await;
    number
}

fn many() -> Agent<String, String> {
    Agent::new("You call.").tool(Tool::of::<meets>())
}

workflow! {
    meeting(String) -> String {
        let many: Agent<String, String> = many();
        START => many;
    }
}

#[tokio::test]
async fn the_tools_of_one_turn_run_at_the_same_time() {
    let calls = (0..4).map(|number| ("meets", json!({ "number": number })));
    let model = Scripted::turns([Scripted::calls(calls), Message::assistant("All.")]);
    let gauge = Gauge::expecting(4);
    let engine = Engine::builder().resource(Models::new(model.clone())).resource(gauge.clone()).build().unwrap();
    let run = engine.start::<meeting>("Go".into()).await.unwrap();
    assert_eq!(run.result().await.unwrap(), "All.");
    assert_eq!(gauge.highest(), 4);
    assert_eq!(results(&model.requests()[1]), ["0", "1", "2", "3"]);
}

fn in_pairs() -> Agent<String, String> {
    many().max_parallel(const { NonZeroUsize::new(2).unwrap() })
}

workflow! {
    meeting_in_pairs(String) -> String {
        let in_pairs: Agent<String, String> = in_pairs();
        START => in_pairs;
    }
}

#[tokio::test]
async fn an_agent_limits_how_many_of_its_tools_run_at_the_same_time() {
    let calls = (0..6).map(|number| ("meets", json!({ "number": number })));
    let model = Scripted::turns([Scripted::calls(calls), Message::assistant("All.")]);
    let gauge = Gauge::expecting(2);
    let engine = Engine::builder().resource(Models::new(model.clone())).resource(gauge.clone()).build().unwrap();
    let run = engine.start::<meeting_in_pairs>("Go".into()).await.unwrap();
    assert_eq!(run.result().await.unwrap(), "All.");
    assert_eq!(gauge.highest(), 2);
    assert_eq!(results(&model.requests()[1]), ["0", "1", "2", "3", "4", "5"]);
}

fn twice() -> Agent<String, String> {
    Agent::new("").tool(Tool::of::<look_up>()).tool(Tool::of::<look_up>())
}

fn elsewhere() -> Agent<String, String> {
    Agent::new("").model("large")
}

workflow! {
    with_two(String) -> String {
        let twice: Agent<String, String> = twice();
        START => twice;
    }
}

workflow! {
    with_another_model(String) -> String {
        let elsewhere: Agent<String, String> = elsewhere();
        START => elsewhere;
    }
}

#[tokio::test]
async fn two_tools_of_one_name_and_a_model_that_the_engine_lacks_are_reported() {
    let two = failure(run::<with_two>(Scripted::text(""), "Go".into()).await);
    assert_eq!(two.error_as::<AgentError>(), Some(AgentError::DuplicateTool { tool: "look_up".into() }));
    let other = failure(run::<with_another_model>(Scripted::text(""), "Go".into()).await);
    let text = "there is no model `large`; the engine has `default`; add it with `Models::with`";
    assert_eq!(other.cause.to_string(), text);
}

#[tokio::test]
async fn an_engine_without_models_does_not_start_the_run() {
    let engine = Engine::builder().resource(Journal::default()).build().unwrap();
    let error = engine.start::<read>("Go".into()).await.expect_err("there are no models").to_string();
    assert!(error.contains("Models") && error.contains("`read/reader`"), "{error}");
}
