//! Questions to a person, by forms.

use serde_json::{Value, json};

use crate::client::Client;
use crate::flows::engine;

fn arguments() -> Value {
    json!({"input": "lamp", "run_id": "lamp-1"})
}

/// Takes the request of the server for an elicitation: its id, and what it shows.
async fn asked(client: &mut Client) -> (Value, Value) {
    let request = client.next().await.unwrap();
    assert_eq!(request["method"], "elicitation/create", "{request}");
    (request["id"].clone(), request["params"].clone())
}

async fn fill_in(client: &mut Client, id: &Value, content: Value) {
    let result = json!({"action": "accept", "content": content});
    client.send(json!({"jsonrpc": "2.0", "id": id, "result": result})).await;
}

#[tokio::test]
async fn an_answer_that_does_not_fit_is_asked_for_again() {
    let (engine, _gate) = engine();
    let mut client = Client::of(&engine, json!({"elicitation": {}})).await;
    client.begin("tools/call", json!({"name": "decided", "arguments": arguments()})).await;
    let (id, params) = asked(&mut client).await;
    assert_eq!(params["message"], "Order lamp?");
    fill_in(&mut client, &id, json!({"fine": "maybe"})).await;
    let (id, params) = asked(&mut client).await;
    let message = params["message"].as_str().unwrap();
    assert!(message.starts_with("invalid answer to `decided/decide/fine`: at `fine`"), "{message}");
    fill_in(&mut client, &id, json!({"fine": true, "cents": 3})).await;
    let response = client.next().await.unwrap();
    assert_eq!(response["result"]["structuredContent"]["output"], "lamp: true Some(3)");
    let events = engine.history("lamp-1").await.unwrap().unwrap();
    let by = events.iter().find_map(|event| match &event.kind {
        graphweft::EventKind::Answered { by, .. } => by.clone(),
        _ => None,
    });
    assert_eq!(by.as_deref(), Some("test (MCP)"));
}

/// A client that always answers the same would be asked for ever.
#[tokio::test]
async fn after_three_answers_that_do_not_fit_the_question_is_left_open() {
    let (engine, _gate) = engine();
    let mut client = Client::of(&engine, json!({"elicitation": {"form": {}}})).await;
    client.begin("tools/call", json!({"name": "decided", "arguments": arguments()})).await;
    for _ in 0..3 {
        let (id, _) = asked(&mut client).await;
        fill_in(&mut client, &id, json!({})).await;
    }
    let response = client.next().await.unwrap();
    assert_eq!(response["result"]["structuredContent"]["status"], "waiting");
}

#[tokio::test]
async fn a_question_that_is_answered_elsewhere_is_withdrawn() {
    let (engine, _gate) = engine();
    let mut client = Client::of(&engine, json!({"elicitation": {}})).await;
    client.begin("tools/call", json!({"name": "decided", "arguments": arguments()})).await;
    let (id, _) = asked(&mut client).await;
    engine.answer("lamp-1", "fine", json!({"fine": false})).await.unwrap();
    let withdrawn = client.next().await.unwrap();
    assert_eq!(withdrawn["method"], "notifications/cancelled");
    assert_eq!(withdrawn["params"]["requestId"], id);
    let response = client.next().await.unwrap();
    assert_eq!(response["result"]["structuredContent"]["output"], "lamp: false None");
}

#[tokio::test]
async fn a_client_that_only_opens_addresses_cannot_show_a_form() {
    let (engine, _gate) = engine();
    let mut client = Client::of(&engine, json!({"elicitation": {"url": {}}})).await;
    assert!(client.tools().await.contains(&"graphweft.answer".to_owned()));
    let waiting = client.call("decided", arguments()).await;
    assert_eq!(waiting["structuredContent"]["questions"][0]["id"], "decided/decide/fine");
}

#[tokio::test]
async fn a_client_that_gets_no_requests_is_asked_by_the_result() {
    let (engine, _gate) = engine();
    let mut client = Client::of_2026(&engine, json!({"elicitation": {"form": {}}})).await;
    let first = client.call("decided", json!({"input": "lamp"})).await;
    assert_eq!(first["resultType"], "input_required", "{first}");
    let id = "decided/decide/fine";
    assert_eq!(first["inputRequests"][id]["params"]["message"], "Order lamp?");
    let again = |content: Value| {
        let answers = json!({id: {"action": "accept", "content": content}});
        json!({"name": "decided", "arguments": {"input": "lamp"}, "requestState": first["requestState"],
            "inputResponses": answers})
    };
    let wrong = client.request("tools/call", again(json!({"fine": 1}))).await;
    let message = wrong["result"]["inputRequests"][id]["params"]["message"].as_str().unwrap();
    assert!(message.contains("at `fine`"), "{message}");
    let right = client.request("tools/call", again(json!({"fine": true}))).await;
    assert_eq!(right["result"]["structuredContent"]["output"], "lamp: true None", "{right}");
    assert_eq!(right["result"]["structuredContent"]["run"], first["requestState"]);
}

#[tokio::test]
async fn a_person_who_declines_leaves_the_question_open() {
    let (engine, _gate) = engine();
    let mut client = Client::of_2026(&engine, json!({"elicitation": {}})).await;
    let first = client.call("decided", arguments()).await;
    let answers = json!({"decided/decide/fine": {"action": "decline"}});
    let params = json!({"name": "decided", "arguments": arguments(), "requestState": first["requestState"],
        "inputResponses": answers});
    let declined = client.request("tools/call", params).await;
    assert_eq!(declined["result"]["structuredContent"]["status"], "waiting", "{declined}");
}
