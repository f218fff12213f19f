//! A tool that starts a run in the session of its own agent.

use std::fmt::{Debug, Write};
use std::sync::{Mutex, Once};

use graphweft::prelude::*;
use graphweft::{StartRunError, json};
use graphweft_agents::{Agent, Memory, Message, Models, SESSION, Scripted, Tool};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Level, Metadata, Subscriber};

use crate::overlap::queued;
use crate::scene::call;

/// Keeps the warnings of sessions, of all threads: whether a place has a subscriber is cached for the whole process.
struct Warnings;

static SEEN: Mutex<Vec<String>> = Mutex::new(Vec::new());

struct Fields(String);

impl Visit for Fields {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        write!(self.0, "{}={value:?} ", field.name()).unwrap();
    }
}

impl Subscriber for Warnings {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.is_event() && *metadata.level() == Level::WARN && metadata.target().contains("memory::turn")
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &tracing::Event<'_>) {
        let mut fields = Fields(String::new());
        event.record(&mut fields);
        SEEN.lock().unwrap().push(fields.0);
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

/// The warnings about a run.
fn warnings_of(run: &str) -> Vec<String> {
    let of_run = format!("run=\"{run}\" ");
    SEEN.lock().unwrap().iter().filter(|warning| warning.contains(&of_run)).cloned().collect()
}

fn keep_warnings() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| tracing::subscriber::set_global_default(Warnings).expect("no other test has one"));
}

/// Starts a run in the session of the agent, and does not await its end.
#[node]
async fn leave_note(id: String, ctx: &Context) -> Result<String, StartRunError> {
    let session = ctx.state().get(SESSION)?.unwrap_or_default();
    let run = ctx.start::<queued>("note".to_owned()).id(id).state(SESSION, session).await?;
    // Until it sleeps before its turn.
    let mut events = run.events();
    while let Some(event) = events.next().await {
        if event.path.contains("/sleep:") {
            break;
        }
    }
    Ok(run.id().to_owned())
}

/// The same by a run in between.
#[node]
async fn pass_note(id: String, ctx: &Context) -> Result<String, StartRunError> {
    let session = ctx.state().get(SESSION)?.unwrap_or_default();
    let run = ctx.start::<passing>(id.clone()).id(format!("{id}, passed")).state(SESSION, session).await?;
    run.result().await.map_err(|error| Fault::Context { message: error.to_string() })?;
    Ok(id)
}

workflow! {
    passing(String) -> String { START => leave_note; }
}

workflow! {
    host(String) -> String {
        let agent: Agent<String, String> = with_notes();
        START => agent;
    }
}

fn with_notes() -> Agent<String, String> {
    let memory = Memory::session("chat");
    Agent::new("You are the host.").memory(memory).tool(Tool::of::<leave_note>()).tool(Tool::of::<pass_note>())
}

/// Calls the tool with this id, and says that it did.
fn calls(tool: &'static str, id: &'static str) -> Models {
    Models::new(Scripted::new(move |request| match request.messages.last() {
        Some(Message::User { text, .. }) if text == "Go" => Ok(call(tool, json!({ "id": id }))),
        _ => Ok(Message::assistant("Done.")),
    }))
}

#[tokio::test]
async fn a_run_that_waits_for_the_agent_whose_tool_has_started_it_is_warned_about_and_ends_if_it_is_not_awaited() {
    keep_warnings();
    for (tool, id, starter) in [
        ("leave_note", "note one", "started_by=\"host/agent/leave_note:1.0/start:queued\""),
        ("pass_note", "note two", "started_by=\"host/agent/pass_note:1.0/start:passing\""),
    ] {
        let engine = Engine::builder().resource(calls(tool, id)).register::<queued>().register::<passing>();
        let engine = engine.register::<host>().build().unwrap();
        let holder = format!("holder of {id}");
        let run = engine.start::<host>("Go".to_owned()).id(&*holder).state(SESSION, "ada".to_owned()).await.unwrap();
        assert_eq!(run.result().await.unwrap(), "Done.");
        let note = engine.get_run(id).await.unwrap().expect("the tool has started it");
        assert_eq!(note.result().await.unwrap(), json!("Done."));
        let warnings = warnings_of(id);
        let [warning] = &warnings[..] else { panic!("{warnings:?}") };
        for part in [starter, "session=\"chat/ada\"", &format!("waits_for=\"{holder}\""), "agent=\"host/agent\""] {
            assert!(warning.contains(part), "{part} is not in: {warning}");
        }
    }
}
