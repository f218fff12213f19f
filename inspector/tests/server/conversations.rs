//! What agents have said, by the API.

use graphweft::prelude::*;
use graphweft_agents::{Agent, Message, Models, Scripted, Tool};
use serde_json::{Value, json};

use crate::Server;

/// Looks up the orders of a customer.
#[node]
async fn orders(customer: String) -> Vec<String> {
    vec![format!("order 7 of {customer}: {}", "x".repeat(5000))]
}

fn clerk() -> Agent<String, String> {
    Agent::new("You decide on refunds.").tool(Tool::of::<orders>())
}

workflow! {
    desk(String) -> String {
        let clerk: Agent<String, String> = clerk();
        START => clerk;
    }
}

#[tokio::test]
async fn a_conversation_is_read_whole_and_cut_and_up_to_an_event_and_that_of_one_call() {
    let model = Scripted::turns([
        Scripted::calls([("orders", json!({ "customer": "Ada" }))]),
        Message::assistant("There is one."),
    ]);
    let engine = Engine::builder().resource(Models::new(model)).register::<desk>().build().unwrap();
    engine.start::<desk>("What has Ada?".into()).id("run").await.unwrap().result().await.unwrap();
    let server = Server::of(&engine).await;
    let at = async |query: &str| server.get(&format!("/api/runs/run/conversation?path={query}")).await.ok();
    let types = |conversation: &Value| -> Vec<String> {
        conversation["said"].as_array().unwrap().iter().map(|said| said["type"].as_str().unwrap().to_owned()).collect()
    };

    let whole = at("desk%2Fclerk").await;
    assert_eq!(types(&whole), ["asked", "replied", "returned", "replied"]);
    let result = &whole["said"][2];
    assert_eq!((&result["tool"], &result["cut"]), (&json!("orders"), &json!(true)));
    assert!(result["output"].as_str().unwrap().starts_with("[\"order 7 of Ada: xxx"), "{result}");
    let described: graphweft_inspector::view::Conversation = serde_json::from_value(whole.clone()).unwrap();
    assert_eq!(serde_json::to_value(described).unwrap(), whole);

    let seq = whole["said"][1]["seq"].as_u64().unwrap();
    assert_eq!(types(&at(&format!("desk%2Fclerk&at={seq}")).await), ["asked", "replied"]);
    assert!(types(&at(&format!("desk%2Fclerk&at={}", seq - 1)).await).is_empty());
    assert_eq!(at("desk%2Fclerk%2Fmodel%3A2").await["said"], json!([whole["said"][3]]));
    assert!(types(&at("desk%2Fclerk%2Forders%3A1.0").await).is_empty());
    assert_eq!(server.get("/api/runs/run/conversation?path=desk%2Fboss").await.problem(404).0, "unknown_path");
    assert_eq!(server.get("/api/runs/run/conversation").await.status, 400);
}
