//! The forms of an agent's function, and a program of each sound neighbour.
#![deny(unused, reason = "what an attribute makes gives no warnings")]
#![allow(dead_code, reason = "what counts is that it compiles")]

use std::fmt;

use graphweft::prelude::*;
use graphweft::state::Append;
use graphweft_agents::{Agent, Classifier, Memory, Message, Tool, agent};

#[value]
struct Mail {
    from: String,
    text: String,
}

#[value]
struct Refund {
    cents: u32,
}

impl Refund {
    fn check(&self) -> Result<(), String> {
        if self.cents < 10_000 { Ok(()) } else { Err("less than 100 euros".to_owned()) }
    }
}

struct Greeting(String);

impl fmt::Display for Greeting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} says hello", self.0)
    }
}

struct Shop {
    name: String,
}

/// Looks up orders.
#[node]
async fn orders(customer: String) -> Result<Vec<String>, String> {
    Ok(vec![customer])
}

#[node]
async fn archive(customer: String) -> Result<String, std::io::Error> {
    Ok(customer)
}

/// You greet people.
#[agent]
fn greets(name: String) -> String {
    if name.is_empty() {
        return Greeting("Nobody".to_owned());
    }
    Greeting(name)
}

/// You write on one line.
#[rustfmt::skip]
#[agent]
async fn repeats(text: String) -> String { text }

/// You write on one line as well.
#[rustfmt::skip]
#[agent]
fn repeats_at_once(text: String) -> String { text }

/// You see what was said.
#[rustfmt::skip]
#[agent]
async fn counts(ctx: &Context) -> String { ctx.attempt() }

/// Decides on refunds.
///
/// Look up the orders first.
#[agent(
    tools(orders, greets, sort_mail, Tool::of::<orders>().description("As orders."), Tool::error_as_text::<archive>()),
    model = "small",
    instructions = concat!("You decide", " on refunds."),
    max_turns = 6,
    repairs = 0,
    check = Refund::check,
    max_tokens = 500,
    temperature = 0,
    timeout = "2m",
    retry(max_attempts = 2, initial_delay = "1s"),
    with = |agent| agent.max_turns(7),
    name = "refund_desk",
)]
async fn refunds(mail: Mail, cents: u32, _ctx: &Context, #[resource] shop: &Shop) -> Refund {
    let name = ctx_free(&shop.name).await;
    format!("{name}: {} writes about {cents} cents: {}", mail.from, mail.text)
}

async fn ctx_free(name: &str) -> &str {
    name
}

const CASE: StateKey<Vec<Message>, Append> = StateKey::new("case");

/// You chat.
#[agent(memory = Memory::session("chat"))]
async fn chats(text: String) -> String {
    text
}

/// You judge.
#[agent(memory = Memory::state(CASE))]
async fn judges(text: String, #[may_write(CASE)] _case: StateWriter<Vec<Message>, Append>) -> String {
    text
}

/// An agent that has itself as a tool.
#[agent(tools(digs))]
async fn digs(ctx: &Context) -> String {
    ctx.attempt()
}

#[value]
#[derive(Route)]
enum Desk {
    Refund(Mail),
    Bug { mail: Mail },
    Spam,
}

#[node]
async fn text(mail: Mail) -> String {
    mail.text
}

#[node]
async fn nothing() -> String {
    String::new()
}

workflow! {
    /// Sorts mail.
    sort_mail(Mail) -> String {
        let triage: Classifier<Mail, Desk> = Classifier::new("You sort mail.");
        let bug = text();
        START => triage => <refund: text, bug: bug, spam: nothing>;
        text => END;
        bug => END;
        nothing => END;
    }
}

#[node(uses(refunds, sort_mail))]
async fn asks(mail: Mail, ctx: &Context) -> u32 {
    ctx.call::<refunds>((mail, 5)).await.map_or(0, |refund| refund.cents)
}

fn main() {
    let by_value: Agent<Mail, Refund> = Agent::new("You decide.").tool(Tool::of::<refunds>());
    drop(by_value);
}
