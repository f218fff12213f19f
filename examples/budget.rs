//! State: what the nodes of a run share, and what a user has spent in all runs.
//!
//! The page to it: `docs/guide/state.md`. `cargo run --example budget`

use graphweft::prelude::*;
use graphweft::scope::{ScopeError, USER, User};
use graphweft::state::{Append, Sum};

/// What this run has cost. Its writers run at the same time, and their costs are added.
const COST: StateKey<u32, Sum> = StateKey::new("cost");
/// Where it has looked.
const SOURCES: StateKey<Vec<String>, Append> = StateKey::new("sources");
/// For whom it is, given when a run starts.
const READER: StateKey<String> = StateKey::new("reader");
/// What a user has spent in all runs.
const SPENT: StateKey<u32, Sum, User> = StateKey::new("spent");

#[node]
async fn split(topics: String) -> Vec<String> {
    topics.split(", ").map(str::to_owned).collect()
}

#[node]
async fn search(
    topic: String,
    #[writes(COST)] cost: StateWriter<u32, Sum>,
    #[may_write(SOURCES)] sources: StateWriter<Vec<String>, Append>,
) -> String {
    cost.merge(topic.len() as u32);
    if topic != "gossip" {
        sources.push(format!("a book on {topic}"));
    }
    format!("all about {topic}")
}

#[node]
async fn write(found: Vec<String>, #[state(READER)] reader: String, #[state(SOURCES)] sources: Vec<String>) -> String {
    format!("{reader} reads {}, from {}", found.join(" and "), sources.join(" and "))
}

/// Last, since an update stays even if what comes behind it fails.
#[node(retry(max_attempts = 3, when = ScopeError::is_conflict))]
async fn book(text: String, ctx: &Context, #[state(COST)] cost: u32) -> Result<String, ScopeError> {
    let user = ctx.scope(User).await?;
    let before = user.get(SPENT)?.unwrap_or_default();
    user.update().merge(SPENT, cost).await?;
    Ok(format!("{text}; {cost} cents, {} in all", before + cost))
}

workflow! {
    #[given(READER)]
    research(String) -> String {
        START => split => [search] => write => book;
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let engine = Engine::builder().register::<research>().build()?;
    for topics in ["ants, bees", "wasps, gossip"] {
        let run = engine.start::<research>(topics.into()).state(READER, "Ada".into()).state(USER, "ada".into()).await?;
        println!("{}", run.result().await?);
    }
    println!("spent: {:?}", engine.scope(User, "ada").await?.get(SPENT)?);
    Ok(())
}
