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

/// Cancels a call, and takes the cancellation of its elicitation.
async fn cancel(client: &mut Client, call: u64, asked: &Value) {
    client.send(json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": call}})).await;
    let withdrawn = client.next().await.unwrap();
    assert_eq!(withdrawn["method"], "notifications/cancelled", "{withdrawn}");
    assert_eq!(&withdrawn["params"]["requestId"], asked);
}

#[tokio::test]
async fn an_elicitation_is_cancelled_with_its_call_and_a_late_answer_is_recorded() {
    let (engine, _gate) = engine();
    let mut client = Client::of(&engine, json!({"elicitation": {}})).await;
    let call = client.begin("tools/call", json!({"name": "decided", "arguments": arguments()})).await;
    let (id, _) = asked(&mut client).await;
    cancel(&mut client, call, &id).await;
    fill_in(&mut client, &id, json!({"fine": true, "cents": 9})).await;
    let run = engine.get_run("lamp-1").await.unwrap().unwrap();
    let output = async {
        loop {
            match run.outcome().await.unwrap() {
                graphweft::Outcome::Completed(output) => return output,
                _ => tokio::task::yield_now().await,
            }
        }
    };
    let output = tokio::time::timeout(std::time::Duration::from_secs(30), output).await.expect("it is recorded");
    assert_eq!(output, "lamp: true Some(9)");
}

#[tokio::test]
async fn after_a_cancelled_call_the_question_is_asked_again() {
    let (engine, _gate) = engine();
    let mut client = Client::of(&engine, json!({"elicitation": {}})).await;
    let call = client.begin("tools/call", json!({"name": "decided", "arguments": arguments()})).await;
    let (first, _) = asked(&mut client).await;
    cancel(&mut client, call, &first).await;
    client.begin("tools/call", json!({"name": "decided", "arguments": arguments()})).await;
    let (second, _) = asked(&mut client).await;
    fill_in(&mut client, &second, json!({"fine": false})).await;
    // The form of the cancelled call is withdrawn for good, before or after the result.
    let messages = [client.next().await.unwrap(), client.next().await.unwrap()];
    assert!(messages.iter().any(|it| it["params"]["requestId"] == first), "{messages:?}");
    let output = messages.iter().find_map(|it| it["result"]["structuredContent"].get("output"));
    assert_eq!(output, Some(&json!("lamp: false None")));
}

#[tokio::test]
async fn a_second_answer_says_what_was_answered_before_and_by_whom() {
    let (engine, _gate) = engine();
    let mut client = Client::of(&engine, json!({})).await;
    let waiting = client.call("decided", arguments()).await;
    let question = waiting["structuredContent"]["questions"][0]["id"].clone();
    let answer = |given: Value| json!({"run_id": "lamp-1", "question": question, "answer": given});
    for _twice in 0..2 {
        let right = client.call("graphweft.answer", answer(json!({"fine": true}))).await;
        assert_eq!(right["structuredContent"]["output"], "lamp: true None", "{right}");
    }
    for other in [json!({"fine": false}), json!({"fine": "maybe"}), json!(7)] {
        let refused = client.call("graphweft.answer", answer(other)).await;
        assert_eq!(refused["isError"], true, "{refused}");
        let text = refused["content"][0]["text"].as_str().unwrap();
        assert!(
            text.contains(r#"was not taken: the question was answered before, with {"fine":true}, by test (MCP)"#),
            "{text}"
        );
    }
}

#[tokio::test]
async fn of_two_clients_with_a_form_the_later_one_learns_what_was_answered() {
    let (engine, _gate) = engine();
    let mut first = Client::of(&engine, json!({"elicitation": {}})).await;
    let mut second = Client::of(&engine, json!({"elicitation": {}})).await;
    let mut forms = Vec::new();
    for client in [&mut first, &mut second] {
        client.begin("tools/call", json!({"name": "decided", "arguments": arguments()})).await;
        forms.push(asked(client).await.0);
    }
    fill_in(&mut first, &forms[0], json!({"fine": true})).await;
    let won = first.next().await.unwrap();
    assert_eq!(won["result"]["content"].as_array().unwrap().len(), 1, "{won}");
    // It may answer before it has read that its form was withdrawn.
    fill_in(&mut second, &forms[1], json!({"fine": false})).await;
    let lost = loop {
        let message = second.next().await.unwrap();
        if message.get("result").is_some() {
            break message;
        }
    };
    assert_eq!(lost["result"]["structuredContent"]["output"], "lamp: true None");
    let note = lost["result"]["content"][1]["text"].as_str().unwrap();
    assert!(note.contains(r#"with {"fine":true}, by test (MCP)"#), "{note}");
}

#[tokio::test]
async fn an_answer_with_a_repeated_call_that_comes_too_late_is_reported() {
    let (engine, _gate) = engine();
    let mut client = Client::of_2026(&engine, json!({"elicitation": {"form": {}}})).await;
    let first = client.call("decided", arguments()).await;
    engine.answer("lamp-1", "fine", json!({"fine": false})).await.unwrap();
    let again = |content: Value| {
        let answers = json!({"decided/decide/fine": {"action": "accept", "content": content}});
        json!({"name": "decided", "arguments": {"input": "lamp"}, "requestState": first["requestState"],
            "inputResponses": answers})
    };
    let same = client.request("tools/call", again(json!({"fine": false}))).await;
    assert_eq!(same["result"]["content"].as_array().unwrap().len(), 1, "{same}");
    let other = client.request("tools/call", again(json!({"fine": true}))).await;
    assert_eq!(other["result"]["structuredContent"]["output"], "lamp: false None");
    let note = other["result"]["content"][1]["text"].as_str().unwrap();
    assert!(note.contains(r#"was answered before, with {"fine":false}"#), "{note}");
}
