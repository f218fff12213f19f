//! Typed output: repairs and their bound, checks, replies that are cut off.

use graphweft::prelude::*;
use graphweft::{Json, json};
use graphweft_agents::{Agent, AgentError, Message, Misfit, Scripted, Tool};
use graphweft_tests::failure;

use crate::scene::{call, last_text, results, run};

#[value]
#[derive(Debug, PartialEq)]
struct Offer {
    item: String,
    cents: u32,
}

#[node]
async fn price(item: String) -> u32 {
    item.len() as u32 * 100
}

fn seller() -> Agent<String, Offer> {
    Agent::new("You sell.").tool(Tool::of::<price>()).check(|offer: &Offer| match offer.cents {
        0 => Err("nothing is free".to_owned()),
        _ => Ok(()),
    })
}

fn guesser() -> Agent<String, Vec<u32>> {
    Agent::new("You guess.").repairs(1)
}

workflow! {
    sell(String) -> Offer {
        let seller: Agent<String, Offer> = seller();
        START => seller;
    }
}

workflow! {
    guess(String) -> Vec<u32> {
        let guesser: Agent<String, Vec<u32>> = guesser();
        START => guesser;
    }
}

fn offer(cents: impl Into<graphweft::Json>) -> Message {
    Message::assistant(format!("Here it is: {}", json!({ "item": "lamp", "cents": cents.into() })))
}

#[tokio::test]
async fn what_does_not_fit_goes_back_to_the_model_with_field_reason_and_schema() {
    let model = Scripted::turns([call("price", json!({ "item": "lamp" })), offer("four"), offer(0), offer(400)]);
    let sold = run::<sell>(model.clone(), "A lamp".into()).await.unwrap();
    assert_eq!(sold, Offer { item: "lamp".into(), cents: 400 });
    let requests = model.requests();
    let (first, second) = (last_text(&requests[2]), last_text(&requests[3]));
    assert!(first.starts_with("That does not fit: at `cents`: invalid type: string \"four\", expected u32"), "{first}");
    assert!(first.contains("\"properties\""), "{first}");
    assert!(second.starts_with("That does not fit: nothing is free."), "{second}");
}

#[tokio::test]
async fn a_correction_may_call_a_tool_before_and_has_the_format_beside_the_tools() {
    let model = Scripted::turns([offer("four"), call("price", json!({ "item": "lamp" })), offer(400)]);
    let sold = run::<sell>(model.clone(), "A lamp".into()).await.unwrap();
    assert_eq!(sold.cents, 400);
    let requests = model.requests();
    let sent: Vec<(bool, usize)> =
        requests.iter().map(|request| (request.format.is_some(), request.tools.len())).collect();
    assert_eq!(sent, [(false, 1), (true, 1), (true, 1)]);
    assert_eq!(results(&requests[2]), ["400"]);
}

#[tokio::test]
async fn an_agent_with_tools_has_the_schema_in_its_instructions() {
    let model = Scripted::turns([offer(400)]);
    run::<sell>(model.clone(), "A lamp".into()).await.unwrap();
    let instructions = &model.requests()[0].instructions;
    assert!(instructions.starts_with("You sell.\n\n"), "{instructions}");
    let (_, schema) = instructions.split_once("JSON of this schema alone: ").unwrap();
    let schema: Json = serde_json::from_str(schema).unwrap();
    assert_eq!(schema["properties"]["cents"]["type"], "integer", "{instructions}");
}

#[tokio::test]
async fn an_output_that_is_no_object_is_asked_for_as_a_property_of_one() {
    let model = Scripted::text("{\"answer\": [1, 2]}");
    assert_eq!(run::<guess>(model.clone(), "Two".into()).await.unwrap(), [1, 2]);
    let format = model.requests()[0].format.clone().expect("there are no tools");
    assert_eq!(format.schema["properties"]["answer"]["type"], "array");
}

#[tokio::test]
async fn repairs_are_bounded() {
    let model = Scripted::text("{\"answer\": [1, -2]}");
    let failure = failure(run::<guess>(model.clone(), "Two".into()).await);
    let Some(AgentError::Misfit { tries: 2, misfit: Misfit { field, message, .. } }) = failure.error_as() else {
        panic!("{failure}")
    };
    assert_eq!(field, "[1]");
    assert!(message.contains("expected u32"), "{message}");
    assert_eq!(model.requests().len(), 2);
}

#[tokio::test]
async fn a_reply_that_is_cut_off_is_an_error_even_if_it_fits() {
    let model = Scripted::replies(|request| {
        let reply = Scripted::reply(request, Message::assistant("[1, 2]"));
        Ok(reply.cut_off())
    });
    let failure = failure(run::<guess>(model.clone(), "Two".into()).await);
    assert_eq!(failure.error_as::<AgentError>(), Some(AgentError::CutOff { turn: 1, tokens: 5 }));
    assert_eq!(model.requests().len(), 1);
}
