//! A ticket is sorted by a model, and rustc checks that every desk it can choose is staffed.
#![allow(missing_docs, reason = "a program")]

use graphweft::prelude::*;
use graphweft_agents::{Classifier, Models, Scripted, agent};

#[value]
pub struct Ticket {
    from: String,
    text: String,
}

#[value]
#[derive(Route)]
pub enum Desk {
    /// The customer wants money back.
    Refund(Ticket),
    /// Something does not work as it should.
    Bug(Ticket),
    /// Everything else.
    Other(Ticket),
}

#[value]
pub struct Refund {
    order: String,
    /// What is to be paid back.
    cents: u32,
}

#[value]
pub struct BugReport {
    title: String,
    severity: u8,
}

#[value]
pub struct Customer {
    name: String,
}

/// Looks up what a customer has bought.
#[node]
async fn orders(customer: Customer) -> Vec<String> {
    vec![format!("order 7 of {}: a kettle, 4000 cents", customer.name)]
}

/// You decide on refunds. Look up what the customer has bought; never pay back more than that.
#[agent(tools(orders), max_turns = 6, timeout = "10m")]
async fn refunds(ticket: Ticket) -> Refund {
    format!("{} writes: {}", ticket.from, ticket.text)
}

/// You turn complaints into bug reports. Severity goes from 1 to 5.
#[agent]
async fn bugs(ticket: Ticket) -> BugReport {
    ticket.text
}

#[node]
async fn pay(refund: Refund) -> String {
    format!("paid {} cents for {}", refund.cents, refund.order)
}

#[node]
async fn file(report: BugReport) -> String {
    format!("filed: {} ({})", report.title, report.severity)
}

#[node]
async fn human(ticket: Ticket, ctx: &Context) -> String {
    ctx.ask("reply", "What shall we answer?").payload(ticket).await
}

workflow! {
    pub help_desk(Ticket) -> String {
        let triage: Classifier<Ticket, Desk> = Classifier::new("You sort the mail of a shop for household goods.");
        START => triage => <refund: refunds => pay, bug: bugs => file, other: human>;
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let store = graphweft::store::MemoryStore::new();
    let models = Models::new(Scripted::text("other"));
    let engine = Engine::builder().store(store).resource(models).register::<help_desk>().build()?;
    for text in ["I want my money back, the kettle leaks.", "The lid is broken", "Do you sell lamps?"] {
        let run = engine.start::<help_desk>(Ticket { from: "Ada".into(), text: text.into() }).await?;
        println!("{:?}", run.outcome().await?);
    }
    Ok(())
}
