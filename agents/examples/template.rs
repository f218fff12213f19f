//! A prompt from a template file. The file is `templates/claim.md`, and its names are the fields of a struct: a name that is none of
//! them does not compile, and neither does a prompt with a field missing. It needs no network, since its model follows a script:
//! `cargo run -p graphweft-agents --example template`.
//!
//! The crate is [askama](https://docs.rs/askama). A prompt is anything that is `Display`, so any other crate of templates will do.
//!
//! The page to it: `docs/guide/agents.md`.

use std::error::Error;

use askama::Template;
use graphweft::json;
use graphweft::prelude::*;
use graphweft_agents::{Message, Models, Scripted, agent};

#[value]
#[derive(Debug)]
struct Claim {
    cents: u32,
    text: String,
}

#[value]
struct Case {
    customer: String,
    claim: Claim,
    earlier: Vec<Claim>,
}

#[value]
#[derive(Debug)]
struct Verdict {
    /// Whether the claim is paid.
    is_paid: bool,
    /// What the customer reads.
    reply: String,
}

/// What `templates/claim.md` is filled with.
#[derive(Template)]
#[template(path = "claim.md")]
struct ClaimPrompt {
    customer: String,
    claim: Claim,
    earlier: Vec<Claim>,
}

/// Decides on claims.
///
/// A claim that was made before is not paid again.
#[agent]
async fn adjuster(case: Case) -> Verdict {
    let Case { customer, claim, earlier } = case;
    ClaimPrompt { customer, claim, earlier }
}

workflow! {
    /// Decides on a claim.
    insurance(Case) -> Verdict { START => adjuster; }
}

/// In place of a provider. It shows the prompt, and looks for earlier claims in it.
fn scripted() -> Scripted {
    Scripted::new(|request| {
        let Some(Message::User { text, .. }) = request.messages.first() else {
            return Ok(Message::assistant("No prompt?"));
        };
        println!("{text}\n");
        let verdict = match text.contains("Earlier claims:") {
            true => json!({ "is_paid": false, "reply": "You have claimed this before." }),
            false => json!({ "is_paid": true, "reply": "The money is on its way." }),
        };
        Ok(Message::assistant(verdict.to_string()))
    })
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let engine = Engine::builder().resource(Models::new(scripted())).build()?;
    let claim = || Claim { cents: 9_900, text: "The lamp was broken when it came.".into() };
    for earlier in [vec![], vec![claim()]] {
        let case = Case { customer: "Ada".into(), claim: claim(), earlier };
        println!("=> {:?}\n", engine.start::<insurance>(case).await?.result().await?);
    }
    Ok(())
}
