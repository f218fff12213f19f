//! A help desk: a classifier, an agent with tools, a person who approves, a restart in between. It needs no network, since its models
//! follow a script: `cargo run -p graphweft-agents --example help_desk`. On a real model, which may decide otherwise:
//!
//! - `agents/tests/real/with_model.sh cargo run -p graphweft-agents --features genai --example help_desk -- --model smollm2`
//! - `cargo run -p graphweft-agents --features genai --example help_desk -- --model claude-sonnet-5`, with its key in the environment
//!
//! The page to it: `docs/guide/agents.md`.

mod model;

use std::error::Error;

use graphweft::json;
use graphweft::prelude::*;
use graphweft_agents::{AgentError, Classifier, Message, Models, Scripted, Tool, agent, spent};

#[value]
struct Ticket {
    from: String,
    text: String,
}

#[value]
#[derive(Route)]
enum Desk {
    /// The customer wants money back.
    Refund(Ticket),
    /// Something does not work as it should.
    Bug(Ticket),
    /// Everything else.
    Other(Ticket),
}

#[value]
struct Order {
    number: String,
    cents: u32,
}

#[value]
struct Decision {
    /// What the customer reads.
    reply: String,
    /// What was paid back.
    cents: u32,
}

/// Looks up what a customer has bought.
#[node]
async fn orders(customer: String) -> Vec<Order> {
    vec![Order { number: format!("{customer}-7"), cents: 9_900 }]
}

/// Pays money back.
#[node]
async fn refund(order: String, cents: u32) -> Result<String, String> {
    println!("  [bank] {cents} cents for {order}");
    Ok(format!("{cents} cents are paid back"))
}

/// Decides on refunds.
///
/// Look up what the customer has bought, and pay back no more than that.
#[agent(
    tools(orders, Tool::of::<refund>().approve_when(|(_, cents)| *cents > 5_000).at_most_once()),
    max_turns = 6,
    max_tokens = 300
)]
async fn refunds(ticket: Ticket) -> Decision {
    format!("{} writes: {}", ticket.from, ticket.text)
}

#[node]
async fn close(decision: Decision) -> String {
    format!("{} ({} cents)", decision.reply, decision.cents)
}

#[node]
async fn file(ticket: Ticket) -> String {
    format!("Filed for {}: {}", ticket.from, ticket.text)
}

#[node]
async fn thank(ticket: Ticket) -> String {
    format!("Thank you, {}.", ticket.from)
}

#[node]
async fn apologize(error: AgentError) -> String {
    format!("A colleague will look at it: {error}")
}

workflow! {
    /// Answers the mail of a shop.
    help_desk(Ticket) -> String {
        let triage: Classifier<Ticket, Desk> = Classifier::new("You sort the mail of a shop.").model("small");
        START => triage => <refund: refunds => <ok: close, err: apologize>, bug: file, other: thank>;
    }
}

/// In place of a provider: a small model that sorts, and a large one that decides on refunds.
fn scripted() -> Models {
    let sorter = Scripted::new(|request| {
        let Some(Message::User { text, .. }) = request.messages.first() else { return Ok(Message::assistant("Other")) };
        let label = if text.contains("money") { "Refund" } else { "Other" };
        Ok(Message::assistant(json!({ "label": label }).to_string()))
    });
    let clerk = Scripted::turns([
        Scripted::calls([("orders", json!({ "customer": "Ada" }))]),
        Scripted::calls([("refund", json!({ "order": "Ada-7", "cents": 9_900 }))]),
        Message::assistant(r#"{"reply": "We are sorry. Half of it comes back to you.", "cents": 4950}"#),
    ]);
    Models::new(clerk).with("small", sorter)
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let models = model::models(&["small"], scripted)?;
    let directory = tempfile::tempdir()?;
    let file = directory.path().join("desk.db");

    let store = SqliteStore::open(&file).await?;
    let engine = Engine::builder().store(store).resource(models.clone()).register::<help_desk>().build()?;
    let other = Ticket { from: "Bob".into(), text: "What a nice lamp.".into() };
    println!("Bob: {}", engine.start::<help_desk>(other).await?.result().await?);

    let ticket = Ticket { from: "Ada".into(), text: "The lamp is broken, I want my money back.".into() };
    let run = engine.start::<help_desk>(ticket).id("ada").await?;
    let is_asked = match run.outcome().await? {
        Outcome::Waiting(questions) => {
            for question in &questions {
                println!("Ada waits: {} {} ({})", question.prompt, question.payload, question.id);
            }
            true
        }
        _ => false,
    };
    engine.shutdown().await;
    println!("The process ends. Another one opens the file:");

    let store = SqliteStore::open(&file).await?;
    let engine = Engine::builder().store(store).resource(models).register::<help_desk>().build()?;
    engine.recover().await?;
    if is_asked {
        engine.answer("ada", "approve", json!({ "edit": ["Ada-7", 4_950] })).by("Carol").await?;
    }
    let run = engine.get_run("ada").await?.ok_or("the run is gone")?;
    println!("Ada: {}", run.result().await?);
    for (model, spent) in spent(&engine.history("ada").await?.unwrap_or_default()) {
        println!("{model}: {} calls, {} tokens", spent.calls, spent.usage.input + spent.usage.output);
    }
    Ok(())
}
