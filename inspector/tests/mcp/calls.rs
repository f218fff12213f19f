//! Calls, and what becomes of their runs.

use graphweft::Outcome;
use serde_json::json;

use crate::client::Client;
use crate::flows::engine;

#[tokio::test]
async fn a_workflow_that_cannot_be_started_is_no_tool() {
    let (engine, _gate) = engine();
    let mut client = Client::of(&engine, json!({})).await;
    assert_eq!(client.tools().await, ["answer", "decided", "held", "invoice", "graphweft.answer"]);
    let refused = client.request("tools/call", json!({"name": "owned", "arguments": {}})).await;
    assert_eq!(refused["error"]["code"], -32602);
}

#[tokio::test]
async fn arguments_are_checked_before_anything_runs() {
    let (engine, _gate) = engine();
    let mut client = Client::of(&engine, json!({})).await;
    let cases = [
        ("answer", json!({"input": [1, "x"]}), "at `[1]`"),
        ("answer", json!({"inputs": [1]}), "at `inputs`: there is no such argument"),
        ("answer", json!({"input": [1], "run_id": 7}), "at `run_id`"),
        ("answer", json!({"input": [1], "run_id": ""}), "1 to 1024 bytes"),
        ("held", json!({"input": 1}), "at `input`"),
        ("graphweft.answer", json!({"run_id": "x", "answer": 1}), "at `question`: it is missing"),
        ("graphweft.answer", json!({"run_id": "x", "question": "q"}), "at `answer`: it is missing"),
        ("graphweft.answer", json!({"run_id": "x", "question": "q", "answer": null}), "there is no run `x`"),
    ];
    for (tool, arguments, what) in cases {
        let result = client.call(tool, arguments.clone()).await;
        assert_eq!(result["isError"], true, "{arguments}");
        let text = result["content"][0]["text"].as_str().unwrap();
        assert!(text.replace(',', "").contains(&what.replace(',', "")), "{arguments}: {text}");
    }
    assert_eq!(engine.count_runs(graphweft::RunFilter::default()).await.unwrap(), 0);
}

#[tokio::test]
async fn the_id_of_a_run_may_be_in_the_metadata() {
    let (engine, _gate) = engine();
    let mut client = Client::of(&engine, json!({})).await;
    let meta = json!({"graphweft/run_id": "sum-1"});
    let params = json!({"name": "answer", "arguments": {"input": [1, 2]}, "_meta": meta});
    let response = client.request("tools/call", params).await;
    let expected = json!({"run": "sum-1", "status": "completed", "output": 3});
    assert_eq!(response["result"]["structuredContent"], expected);
    assert!(engine.get_run("sum-1").await.unwrap().is_some());
}

#[tokio::test]
async fn a_run_that_waits_for_a_signal_says_so() {
    let (engine, _gate) = engine();
    let mut client = Client::of(&engine, json!({})).await;
    let result = client.call("invoice", json!({"input": 2, "run_id": "i"})).await;
    let waiting = &result["structuredContent"];
    assert_eq!((&waiting["run"], &waiting["status"]), (&json!("i"), &json!("waiting")));
    let signal = &waiting["signals"][0];
    assert_eq!((&signal["name"], &signal["path"]), (&json!("paid"), &json!("invoice/wait_for_it")));
    assert_eq!(signal["schema"]["format"], "uint32");
    engine.signal("i", crate::flows::PAID, 5).await.unwrap();
    let result = client.call("invoice", json!({"input": 2, "run_id": "i"})).await;
    assert_eq!(result["structuredContent"]["output"], 7);
}

#[tokio::test]
async fn a_run_that_was_cancelled_is_an_error() {
    let (engine, _gate) = engine();
    let mut client = Client::of(&engine, json!({})).await;
    let id = client.begin("tools/call", json!({"name": "held", "arguments": {"run_id": "h"}})).await;
    let run = loop {
        if let Some(run) = engine.get_run("h").await.unwrap() {
            break run;
        }
        tokio::task::yield_now().await;
    };
    run.cancel().await.unwrap();
    let response = client.next().await.unwrap();
    assert_eq!((&response["id"], &response["result"]["isError"]), (&json!(id), &json!(true)));
    assert_eq!(response["result"]["structuredContent"], json!({"run": "h", "status": "cancelled"}));
}

/// The server does not wait for the call, and the run continues.
#[tokio::test]
async fn the_end_of_the_streams_ends_the_server_and_no_run() {
    let (engine, gate) = engine();
    let mut client = Client::of(&engine, json!({})).await;
    let meta = json!({"progressToken": 1});
    client.begin("tools/call", json!({"name": "held", "arguments": {"run_id": "h"}, "_meta": meta})).await;
    let progress = client.next().await.unwrap();
    assert_eq!(progress["method"], "notifications/progress");
    assert_eq!(progress["params"]["message"], "`held/hold` started");
    client.close().await.unwrap();
    gate.add_permits(1);
    let run = engine.get_run("h").await.unwrap().unwrap();
    assert_eq!(run.outcome().await.unwrap(), Outcome::Completed(json!(7)));
}

#[tokio::test]
async fn a_client_that_does_not_speak_mcp_is_an_error() {
    let (engine, _gate) = engine();
    let mut client = Client::of_2026(&engine, json!({})).await;
    client.send(json!({"jsonrpc": "2.0", "id": 1, "result": {}})).await;
    let error = client.close().await.unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::InvalidData);
}

/// It is put into the context of a model.
#[tokio::test]
async fn an_error_does_not_repeat_all_that_was_sent() {
    let (engine, _gate) = engine();
    let mut client = Client::of(&engine, json!({})).await;
    let long = "A".repeat(2 << 20);
    let misfit = client.call("invoice", json!({"input": long})).await;
    let text = misfit["content"][0]["text"].as_str().unwrap();
    assert!(text.len() < 1200, "{}", text.len());
    assert!(text.contains("invalid input of `invoice`") && text.ends_with("expected u32"), "{text}");
    client.call("decided", json!({"input": "lamp", "run_id": "l"})).await;
    let answer = json!({"run_id": "l", "question": "fine", "answer": {"fine": long}});
    let misfit = client.call("graphweft.answer", answer).await;
    assert!(misfit.to_string().len() < 1500);
    for params in [json!({"name": long}), json!({"name": "invoice", "arguments": {long.clone(): 1}})] {
        let refused = client.request("tools/call", params).await;
        assert!(refused.to_string().len() < 1500);
    }
    let refused = client.request(&long, json!({})).await;
    assert!(refused.to_string().len() < 1500);
}

#[tokio::test]
async fn a_call_that_is_none_says_what_is_wrong_with_its_parameters() {
    let (engine, _gate) = engine();
    let mut client = Client::of(&engine, json!({})).await;
    let cases = [
        (json!({"name": "invoice", "arguments": [1]}), "at `arguments`"),
        (json!({"name": "invoice", "arguments": "x"}), "at `arguments`"),
        (json!({"name": 7}), "at `name`"),
        (json!({"arguments": {"input": 1}}), "missing field `name`"),
    ];
    for (params, what) in cases {
        let refused = client.request("tools/call", params.clone()).await;
        assert_eq!(refused["error"]["code"], -32602, "{params}: {refused}");
        let message = refused["error"]["message"].as_str().unwrap();
        assert!(message.contains(what), "{params}: {message}");
    }
    let unknown = client.request("tools/fly", json!({})).await;
    assert_eq!(unknown["error"]["code"], -32601, "{unknown}");
}
