//! What agents have said, on a terminal. The run is that of a real agent.

use graphweft::json;
use graphweft::prelude::*;
use graphweft_agents::{Agent, Message, Models, Scripted, Tool};

use super::{Runs, without_times};

/// Looks up the orders of a customer.
#[node]
async fn orders(customer: String) -> Vec<String> {
    vec![format!("order 7 of {customer}")]
}

/// Pays money back.
#[node]
async fn pay(order: String, cents: u32) -> String {
    format!("{cents} cents for {order}")
}

fn clerk() -> Agent<String, String> {
    Agent::new("You decide on refunds.").tool(Tool::of::<orders>()).tool(Tool::of::<pay>().approve())
}

workflow! {
    desk(String) -> String {
        let clerk: Agent<String, String> = clerk();
        START => clerk;
    }
}

async fn desk_run() -> Runs {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("runs.db");
    let model = Scripted::turns([
        Scripted::calls([("orders", json!({ "customer": "Ada" }))]),
        Scripted::calls([("pay", json!({ "cents": 1200, "order": "7" })), ("fly", json!({}))]),
        Message::assistant(format!("It is \u{1b}[2J\u{202e}paid.\nAnything else? {}", "no ".repeat(200))),
    ]);
    let store = SqliteStore::open(&file).await.unwrap();
    let engine = Engine::builder().store(store).resource(Models::new(model)).register::<desk>().build().unwrap();
    let run = engine.start::<desk>("Ada wants her money back".into()).id("talk").await.unwrap();
    assert!(matches!(run.outcome().await.unwrap(), Outcome::Waiting(_)));
    run.answer("approve", "approve").by("Eve").await.unwrap();
    run.result().await.unwrap();
    Runs { _folder: folder, file, engine }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_agents_have_said_is_shown_and_nothing_in_it_moves_the_cursor() {
    let runs = desk_run().await;
    let shown = runs.ran(&["show", "talk", "--bars", "0"]).await;
    assert_eq!(shown.err, "");
    assert!(!shown.out.contains(['\u{1b}', '\u{202e}']), "{}", shown.out);
    insta::assert_snapshot!("conversation", without_times(&shown.out));
    let long = runs.ran(&["show", "talk", "--long"]).await;
    assert!(long.out.len() > shown.out.len() + 300 && long.out.contains(&"no ".repeat(199)), "{}", long.out);
    let before = runs.ran(&["show", "talk", "--at", "2"]).await;
    assert!(!before.out.contains("conversation of"), "{}", before.out);

    let json = Runs::json(&runs.ran(&["show", "talk", "--json"]).await);
    let said = json["conversations"][0]["said"].as_array().unwrap();
    assert_eq!((&said[0]["type"], &said[0]["text"]), (&"asked".into(), &"Ada wants her money back".into()));
    runs.engine.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_event_of_a_model_says_what_it_has_replied_and_its_json_is_a_flag_away() {
    let runs = desk_run().await;
    let tail = runs.ran(&["tail", "talk"]).await;
    assert!(!tail.out.contains(['\u{1b}', '\u{202e}']), "{}", tail.out);
    insta::assert_snapshot!("conversation_tail", without_times(&tail.out));
    let raw = runs.ran(&["tail", "talk", "--json"]).await;
    assert!(raw.out.contains(r#""gen_ai":"chat""#), "{}", raw.out);
}
