//! A server that hangs, dies and changes.

use std::time::Duration;

use graphweft::json;
use graphweft::prelude::*;
use graphweft_agents::{Agent, AgentError, McpClient, Message, Models, Scripted};
use graphweft_tests::{Death, OnDisk};

use crate::scene::{Unreliable, desk, is_alive, notes, results, until};

#[tokio::test]
async fn a_call_that_hangs_ends_at_its_time_limit_and_the_server_is_used_further() {
    let unreliable = Unreliable::new();
    let server = unreliable.server().call_timeout(Duration::from_secs(2)).connect().await.unwrap();
    let calls = [("hangs", json!({})), ("echo", json!({ "word": "still here" }))];
    let results = results(server, calls).await;
    assert!(results[0].starts_with("error: MCP server `node` did not answer within 2s"), "{results:?}");
    assert_eq!(results[1], "still here");
    assert_eq!(unreliable.processes().len(), 1);
    until("the server is to stop the call", || unreliable.ledger().contains(&"cancelled".to_owned())).await;
}

#[tokio::test]
async fn a_server_that_answers_no_ping_either_is_started_again() {
    let unreliable = Unreliable::new();
    let server = unreliable.server().call_timeout(Duration::from_secs(2)).connect().await.unwrap();
    let results = results(server, [("sticks", json!({})), ("echo", json!({ "word": "a new one" }))]).await;
    assert!(results[0].starts_with("error: MCP server `node` did not answer"), "{results:?}");
    assert_eq!(results[1], "a new one");
    let processes = unreliable.processes();
    assert_eq!(processes.len(), 2);
    until("the process that hangs is ended", || !is_alive(&processes[0])).await;
}

#[tokio::test]
async fn a_server_that_dies_during_a_call_is_started_again_by_the_next_one() {
    let unreliable = Unreliable::new();
    let server = unreliable.server().connect().await.unwrap();
    let calls = [("dies", json!({ "word": "now" })), ("fails", json!({})), ("process", json!({}))];
    let results = results(server, calls).await;
    assert!(results[0].starts_with("error: MCP server `node` was lost during the call"), "{results:?}");
    assert_eq!(results[1], "error: the disk is full");
    assert_eq!(results[2], unreliable.processes()[1]);
    assert_eq!(unreliable.calls().len(), 3, "the call that was lost is not made again");
}

#[tokio::test]
async fn the_program_ends_with_the_last_clone_of_the_client_and_its_tools() {
    let unreliable = Unreliable::new();
    let server = unreliable.server().connect().await.unwrap();
    let process = unreliable.processes().remove(0);
    let tool = server.tool("echo").unwrap();
    drop(server);
    assert!(is_alive(&process));
    drop(tool);
    until("the process is ended", || !is_alive(&process)).await;
}

/// Says of no tool that it may be repeated, except of those of which the server does.
async fn once(unreliable: &Unreliable) -> McpClient {
    unreliable.server().at_most_once().connect().await.unwrap()
}

#[tokio::test]
async fn a_call_that_was_lost_is_a_question_to_a_person_if_it_may_not_be_repeated() {
    let unreliable = Unreliable::new();
    let model = Scripted::turns([
        Scripted::calls([("dies", json!({ "word": "pay" })), ("process", json!({}))]),
        Message::assistant("Done."),
    ]);
    let models = Models::new(model.clone());
    let engine = Engine::builder().resource(models).resource(once(&unreliable).await).build().unwrap();
    let run = engine.start::<desk>("Go".into()).await.unwrap();
    let Outcome::Waiting(questions) = run.outcome().await.unwrap() else { panic!("a person is asked") };
    assert_eq!(questions[0].id, "desk/clerk/dies:1.0/went_through");
    assert!(questions[0].prompt.contains("was lost during the call"), "{}", questions[0].prompt);
    run.answer("went_through", json!({ "done": "paid" })).await.unwrap();
    assert_eq!(run.result().await.unwrap(), "Done.");
    let Some(Message::Tool { content, .. }) = model.requests()[1].messages.get(2).cloned() else { panic!("a result") };
    assert_eq!(content, "paid");
}

#[node]
async fn approving(text: String, #[resource] server: &McpClient, ctx: &Context) -> Result<String, AgentError> {
    let echo = server.tool("echo").map_err(|error| Fault::Panic { message: error.to_string() })?;
    let process = server.tool("process").map_err(|error| Fault::Panic { message: error.to_string() })?;
    Agent::new("You use tools.").tool(echo.approve()).tool(process).run(text, ctx).await
}

workflow! { approved(String) -> String { START => approving; } }

#[tokio::test]
async fn a_completed_call_is_not_made_again_by_a_resumed_run_and_an_approval_waits_over_a_restart() {
    let (unreliable, disk) = (Unreliable::new(), OnDisk::default());
    let model = Scripted::turns([
        Scripted::calls([("process", json!({})), ("echo", json!({ "word": "hi" }))]),
        Message::assistant("Done."),
    ]);
    let engine = async || {
        let builder = disk.engine(&Death::default()).await.resource(Models::new(model.clone()));
        let server = unreliable.server().connect().await.unwrap();
        builder.resource(server).register::<approved>().build().unwrap()
    };
    let first = engine().await;
    let run = first.start::<approved>("Go".into()).id("run").await.unwrap();
    let Outcome::Waiting(questions) = run.outcome().await.unwrap() else { panic!("a person is asked") };
    assert_eq!(questions[0].payload, json!({ "word": "hi" }));
    first.shutdown().await;

    let second = engine().await;
    second.recover().await.unwrap();
    second.answer("run", "approve", json!({ "edit": { "word": "ho" } })).await.unwrap();
    let run = second.get_run("run").await.unwrap().unwrap();
    run.result().await.unwrap();
    assert_eq!(unreliable.calls(), ["call process {}", r#"call echo {"word":"ho"}"#]);
    let history = second.history("run").await.unwrap().unwrap();
    assert!(notes(&history, "tools_changed").is_empty(), "the tools are the same");
}

#[tokio::test]
async fn a_resumed_run_reports_by_name_which_tools_have_changed_and_continues() {
    let (unreliable, disk) = (Unreliable::new(), OnDisk::default());
    let model = Scripted::turns([
        Scripted::calls([("dies", json!({ "word": "x" }))]),
        Scripted::calls([("stale", json!({})), ("fresh", json!({}))]),
        Message::assistant("Done."),
    ]);
    let engine = async |schema: &str| {
        let builder = disk.engine(&Death::default()).await.resource(Models::new(model.clone()));
        let server = unreliable.server().env("SCHEMA", schema).at_most_once().connect().await.unwrap();
        builder.resource(server).register::<desk>().build().unwrap()
    };
    let first = engine("1").await;
    let run = first.start::<desk>("Go".into()).id("run").await.unwrap();
    let Outcome::Waiting(_) = run.outcome().await.unwrap() else { panic!("a person is asked") };
    first.shutdown().await;

    let second = engine("2").await;
    second.recover().await.unwrap();
    second.answer("run", "went_through", json!({ "fail": "it did not" })).await.unwrap();
    let run = second.get_run("run").await.unwrap().unwrap();
    assert_eq!(run.result().await.unwrap(), json!("Done."));
    let history = second.history("run").await.unwrap().unwrap();
    let expected = json!({ "changed": ["echo"], "removed": ["stale"], "added": ["fresh"] });
    assert_eq!(notes(&history, "tools_changed"), [expected]);
    let results: Vec<String> = model
        .requests()
        .last()
        .unwrap()
        .messages
        .iter()
        .filter_map(|message| match message {
            Message::Tool { content, .. } => Some(content.clone()),
            _ => None,
        })
        .collect();
    assert!(results[1].starts_with("error: there is no tool `stale`"), "{results:?}");
    assert_eq!(results[2], "here");
}
