//! Research: an agent searches for several things at once, and its process ends in the middle. The next one resumes it, and makes only the
//! calls that are missing. It needs no network, since its model follows a script: `cargo run -p graphweft-agents --example research`.
//!
//! The page to it: `docs/guide/agents.md`.

use std::error::Error;
use std::future::pending;
use std::num::NonZeroUsize;

use graphweft::json;
use graphweft::prelude::*;
use graphweft_agents::{Agent, Budget, Message, Models, Scripted, Tool, spent};

#[value]
struct Source {
    title: String,
    text: String,
}

#[value]
struct Report {
    /// What was found, in a sentence or two.
    summary: String,
    /// The titles of the sources.
    sources: Vec<String>,
}

/// In place of the web: a site that may be too slow to wait for.
struct Web {
    slow_topic: Option<&'static str>,
}

/// Searches the web for a topic.
#[node]
async fn search(topic: String, #[resource] web: &Web) -> Source {
    println!("  [web] {topic} ..");
    if web.slow_topic == Some(topic.as_str()) {
        pending::<()>().await;
    }
    println!("  [web] {topic}: found");
    Source { title: format!("On {topic}"), text: format!("All there is to know about {topic}.") }
}

fn researcher() -> Agent<String, Report> {
    Agent::new("You research. Search for all parts of the question at once, then report.")
        .tool(Tool::of::<search>())
        .max_parallel(NonZeroUsize::MIN.saturating_add(3))
        .budget(Budget::new().calls(5).tokens(20_000))
        .check(|report: &Report| match report.sources.is_empty() {
            true => Err("name the sources".to_owned()),
            false => Ok(()),
        })
}

workflow! {
    /// Answers a question with sources.
    research(String) -> Report {
        let researcher: Agent<String, Report> = researcher();
        START => researcher;
    }
}

/// In place of a provider. It forgets the sources at first, and is corrected.
fn models() -> Models {
    let topic = |topic: &str| ("search", json!({ "topic": topic }));
    let report =
        |sources: &[&str]| json!({ "summary": "Ants farm, bees dance, wasps make paper.", "sources": sources });
    let model = Scripted::turns([
        Scripted::calls([topic("ants"), topic("bees"), topic("wasps")]),
        Message::assistant(report(&[]).to_string()),
        Message::assistant(report(&["On ants", "On bees", "On wasps"]).to_string()),
    ]);
    Models::new(model).run_budget(Budget::new().calls(20))
}

async fn engine(file: &std::path::Path, web: Web) -> Result<Engine, Box<dyn Error>> {
    let store = SqliteStore::open(file).await?;
    Ok(Engine::builder().store(store).resource(models()).resource(web).register::<research>().build()?)
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let directory = tempfile::tempdir()?;
    let file = directory.path().join("research.db");

    println!("The first process:");
    let engine_1 = engine(&file, Web { slow_topic: Some("wasps") }).await?;
    let run = engine_1.start::<research>("What do insects build?".into()).id("insects").await?;
    let mut events = run.events();
    let mut found = 0;
    while found < 2 {
        let event = events.next().await.ok_or("the run has ended")?;
        let is_search = event.path.contains("/search:") && matches!(event.kind, EventKind::NodeCompleted { .. });
        found += usize::from(is_search);
    }
    engine_1.shutdown().await;

    println!("It ends. The second one resumes the run:");
    let engine_2 = engine(&file, Web { slow_topic: None }).await?;
    engine_2.recover().await?;
    let run = engine_2.get_run("insects").await?.ok_or("the run is gone")?;
    let report: Report = serde_json::from_value(run.result().await?)?;
    println!("{} ({})", report.summary, report.sources.join(", "));
    for (model, spent) in spent(&engine_2.history("insects").await?.unwrap_or_default()) {
        println!("{model}: {} calls, {} tokens", spent.calls, spent.usage.input + spent.usage.output);
    }
    Ok(())
}
