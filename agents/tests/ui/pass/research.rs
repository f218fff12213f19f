//! An agent that researches with two tools, in a workflow that a later process could resume.
#![allow(missing_docs, reason = "a program")]

use graphweft::prelude::*;
use graphweft_agents::{Models, Scripted, agent};

#[value]
pub struct Query {
    words: String,
}
#[value]
pub struct Page {
    url: String,
}
#[value]
#[derive(Debug)]
pub struct Report {
    title: String,
    findings: Vec<String>,
}

/// Searches the library.
#[node]
async fn search(query: Query) -> Vec<String> {
    vec![format!("lib/{}", query.words.replace(' ', "-"))]
}

/// Reads a page.
#[node]
async fn read(page: Page) -> String {
    format!("All about {}.", page.url)
}

/// You research a topic. Search for several things at once, read what you find, and report.
#[agent(tools(search, read), max_turns = 10)]
async fn researcher(topic: String) -> Report {
    format!("The topic: {topic}")
}

workflow! {
    pub research(String) -> Report { START => researcher; }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let store = graphweft::store::MemoryStore::new();
    let models = Models::new(Scripted::text(r#"{"title": "Ants", "findings": ["They farm."]}"#));
    let engine = Engine::builder().store(store).resource(models).register::<research>().build()?;
    println!("{:?}", engine.start::<research>("ants".into()).id("ants").await?.result().await?);
    Ok(())
}
