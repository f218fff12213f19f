//! An agent in the test kit of graphweft: crashed at every commit, with its tool mocked.

use graphweft::json;
use graphweft::prelude::*;
use graphweft::testing::Lab;
use graphweft_agents::{Agent, Message, Models, Scripted, Tool};

use crate::scene::call;

/// What the tool would need, and the lab does not have.
#[derive(Debug)]
struct Bank;

/// Pays money back.
#[node]
async fn pay_back(cents: u32, #[resource] bank: &Bank) -> String {
    panic!("{cents} for real, by {bank:?}")
}

workflow! {
    desk(u32) -> String {
        let clerk: Agent<u32, String> = Agent::new("You pay back.").tool(Tool::of::<pay_back>().at_most_once());
        START => clerk;
    }
}

fn pays_once() -> Models {
    Models::new(Scripted::turns([call("pay_back", json!({ "cents": 400 })), Message::assistant("Paid.")]))
}

#[tokio::test]
async fn an_agent_survives_a_crash_at_every_commit() {
    let lab = Lab::of::<desk>().resource(pays_once()).repeatable::<Agent<u32, String>>().repeatable_child("model");
    let lab = lab.mock::<pay_back>("done".to_owned()).answer("went_through", json!({ "done": "done" }));
    let run = lab.run(7).await;
    assert_eq!(run.output(), "Paid.");
    assert_eq!(run.called::<pay_back>().count(), 1);
    let crashes = lab.crash_at_every_commit(7).await;
    assert!(crashes.count >= 3, "{crashes:?}");
}
