//! Agents together, in the four ways that there are: one after another, side by side, in a loop that hands over or is bounded,
//! and as the tool of another one.
//!
//! The model follows a script, so that it needs no network: `cargo run -p graphweft-agents --example hand_over`.
//!
//! The page to it: `docs/guide/agents.md`.

use std::error::Error;

use graphweft::json;
use graphweft::prelude::*;
use graphweft_agents::{Agent, Message, Models, RunAgent, Scripted, Tool};

/// Where a customer goes next. Each agent of the loop chooses one, by these comments.
#[value]
#[derive(Route)]
pub enum Transfer {
    /// It is about money: invoices, refunds.
    Billing(String),
    /// Something does not work.
    Repairs(String),
    /// The customer has what they need: this is the answer.
    Done(String),
}

/// An agent that hands over sees what was said to the others: `in_run`.
fn desk(instructions: &str) -> RunAgent<String, Transfer> {
    Agent::new(format!("{instructions} Transfer to others what is not yours.")).in_run()
}

workflow! {
    /// A hand-over: an arm of each agent leads to the other one, at most so often.
    pub help_desk(String) -> String {
        let billing: RunAgent<String, Transfer> = desk("You do the money.");
        let repairs: RunAgent<String, Transfer> = desk("You repair lamps.");
        START => billing => <billing: too_often, repairs: repairs, done: END>;
        repairs => <billing (at most 3): billing, repairs: too_often, done: END, spent: too_often>;
        too_often => END;
    }
}

#[node]
async fn too_often(request: String) -> String {
    format!("A person will look at it: {request}")
}

/// What a reviewer thinks of a text.
#[value]
#[derive(Route)]
pub enum Review {
    /// It has to be written again; this says why.
    Again(String),
    /// It is good; this is the text.
    Good(String),
}

fn writer() -> RunAgent<String, String> {
    Agent::new("You write a line for a birthday card.").in_run()
}

fn reviewer() -> RunAgent<String, Review> {
    Agent::new("You review the line that was written last.").in_run()
}

#[node]
async fn as_it_is(_why: String) -> String {
    "Happy birthday.".to_owned()
}

workflow! {
    /// A loop with a bound, which other frameworks have as an agent of its own: written again three times at most.
    pub card(String) -> String {
        let writer: RunAgent<String, String> = writer();
        let reviewer: RunAgent<String, Review> = reviewer();
        START => writer => reviewer => <again (at most 3): writer, good: END, spent: as_it_is>;
        as_it_is => END;
    }
}

/// Knows all about lamps.
fn expert() -> Agent<String, String> {
    Agent::new("You know all about lamps.")
}

fn optimist() -> Agent<String, String> {
    Agent::new("You see the good side.").tool(Tool::by_value("expert", expert()))
}

fn pessimist() -> Agent<String, String> {
    Agent::new("You see the bad side.").tool(Tool::by_value("expert", expert()))
}

#[node]
async fn both((good, bad): (String, String)) -> String {
    format!("{good} {bad}")
}

workflow! {
    /// Two agents at the same time, each with another agent as its tool.
    pub opinions(String) -> String {
        let optimist: Agent<String, String> = optimist();
        let pessimist: Agent<String, String> = pessimist();
        START => (optimist, pessimist) => both;
    }
}

fn model() -> Scripted {
    Scripted::new(|request| {
        let (last, said) = match request.messages.last() {
            Some(Message::User { text, .. }) => (text.as_str(), ""),
            Some(Message::Tool { content, .. }) => ("", content.as_str()),
            _ => ("", ""),
        };
        let instructions = request.instructions.split(" Transfer").next().unwrap_or_default();
        Ok(match instructions {
            "You do the money." if last == "My lamp is broken." => {
                Message::assistant(json!({ "Repairs": "The customer says that the lamp is broken." }).to_string())
            }
            "You do the money." => Message::assistant(json!({ "Done": "You get 20 euros back." }).to_string()),
            "You repair lamps." => Message::assistant(json!({ "Billing": "It cannot be repaired." }).to_string()),
            "You write a line for a birthday card." if request.messages.len() == 1 => Message::assistant("Dear Sir."),
            "You write a line for a birthday card." => Message::assistant("Many happy returns, Ada!"),
            "You review the line that was written last." if last == "Dear Sir." => {
                Message::assistant(json!({ "Again": "Name her." }).to_string())
            }
            "You review the line that was written last." => Message::assistant(json!({ "Good": last }).to_string()),
            "You know all about lamps." => Message::assistant("LED, 9 watts."),
            "You see the good side." if !said.is_empty() => Message::assistant(format!("Bright ({said})")),
            "You see the bad side." if !said.is_empty() => Message::assistant(format!("Blinding ({said})")),
            _ => Scripted::calls([("expert", json!({ "input": last }))]),
        })
    })
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let engine = Engine::builder().resource(Models::new(model())).build()?;
    let run = engine.start::<help_desk>("My lamp is broken.".into()).await?;
    println!("{}", run.result().await?);
    println!("{}", engine.start::<card>("For Ada".into()).await?.result().await?);
    println!("{}", engine.start::<opinions>("The new lamp".into()).await?.result().await?);
    Ok(())
}
