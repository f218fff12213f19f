//! Agents that hand over to each other: a loop that is entered at several nodes.
//!
//! The front desk passes a request to the right agent; each agent answers it or hands it over to a colleague. One
//! request is one token: exactly one agent works at any time, and each hand-over begins a turn.
//!
//! The page to it: `docs/guide/shapes.md`. `cargo run --example desk`

use graphweft::prelude::*;

#[value]
struct Request {
    text: String,
    /// Who has dealt with it so far, and what they did.
    history: Vec<String>,
}

impl Request {
    fn new(text: &str) -> Self {
        Request { text: text.to_owned(), history: Vec::new() }
    }

    /// Whether the customer asks for this and no agent has done it yet.
    fn is_open(&self, topic: &str) -> bool {
        self.text.contains(topic) && !self.history.iter().any(|done| done.contains(topic))
    }

    fn note(mut self, what: &str) -> Self {
        self.history.push(what.to_owned());
        self
    }
}

/// What each agent decides at the end of its turn.
#[value]
#[derive(Route)]
enum Next {
    Billing(Request),
    Support(Request),
    Done(Request),
}

fn next_agent(request: Request) -> Next {
    if request.is_open("refund") {
        Next::Billing(request)
    } else if request.is_open("broken") {
        Next::Support(request)
    } else {
        Next::Done(request)
    }
}

#[node]
async fn front_desk(request: Request) -> Next {
    next_agent(request)
}

#[node]
async fn billing(request: Request, ctx: &Context) -> Next {
    println!("{}", ctx.path());
    next_agent(request.note("billing: paid the refund"))
}

#[node]
async fn support(request: Request, ctx: &Context) -> Next {
    println!("{}", ctx.path());
    next_agent(request.note("support: took back what is broken"))
}

#[node]
async fn answer(request: Request) -> String {
    match request.history.as_slice() {
        [] => "nothing to do".to_owned(),
        history => history.join("; "),
    }
}

workflow! {
    /// A request goes from hand to hand until all of it is dealt with.
    help_desk(Request) -> String {
        START => front_desk => <billing: billing, support: support, done: answer>;
        billing => <billing: billing, support: support, done: answer>;
        support => <billing: billing, support: support, done: answer>;
    }
}

#[tokio::main]
async fn main() -> Result<(), graphweft::RunError> {
    println!("{}", help_desk(Request::new("my kettle is broken, I want a refund")).await?);
    println!("{}", help_desk(Request::new("what a fine kettle")).await?);
    Ok(())
}
