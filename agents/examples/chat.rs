//! A chat that remembers, over runs and processes: the session is in the file of the runs. The page to it: `docs/guide/agents.md`.
//!
//! ```text
//! cargo run -p graphweft-agents --example chat -- chat.db ada "My name is Ada."
//! cargo run -p graphweft-agents --example chat -- chat.db ada "What is my name?"
//! cargo run -p graphweft-agents --example chat -- chat.db ada /clear
//! ```
//!
//! `/fork NAME` begins another session with what was said, `/show` shows what is seen, `/delete` deletes the session. Without
//! arguments it plays a conversation of three processes. The model follows a script, so that it needs no network: put a provider's in the place of `model`.

use std::error::Error;
use std::path::Path;

use graphweft::prelude::*;
use graphweft_agents::{Agent, Compaction, Memory, Message, Models, SESSION, Scripted, Sessions};

fn guest() -> Agent<String, String> {
    // What is older than the last 10 messages becomes a summary, as soon as there are more than 40.
    let memory = Memory::session("chat").compact(Compaction::over_messages(40).keep(10));
    Agent::new("You chat with a guest. Be brief.").memory(memory)
}

workflow! {
    /// One message of a guest, and the reply to it.
    pub chat(String) -> String {
        let guest: Agent<String, String> = guest();
        START => guest;
    }
}

/// In place of a provider: it knows what it was told, since all that was said is in the request.
fn model() -> Scripted {
    const NAME: &str = "My name is ";
    Scripted::new(|request| {
        let mut told = request.messages.iter().rev().filter_map(|message| match message {
            Message::User { text, .. } => text.strip_prefix(NAME),
            _ => None,
        });
        let name = told.next().map(|name| name.trim_end_matches('.'));
        Ok(Message::assistant(match (request.messages.last(), name) {
            (Some(Message::User { text, .. }), Some(name)) if text.starts_with(NAME) => {
                format!("Nice to meet you, {name}.")
            }
            (_, Some(name)) => format!("Your name is {name}."),
            (_, None) => "I do not know your name.".to_owned(),
        }))
    })
}

/// One process: a message or a command in a session.
async fn process(file: &Path, session: &str, text: &str) -> Result<String, Box<dyn Error>> {
    let store = SqliteStore::open(file).await?;
    let engine = Engine::builder().store(store).resource(Models::new(model())).register::<chat>().build()?;
    engine.recover().await?;
    let there = Sessions::of(&engine)?.get("chat", session);
    let said = match text.split_once(' ').unwrap_or((text, "")) {
        ("/clear", _) => there.clear().await.map(|()| "(cleared)".to_owned())?,
        ("/fork", other) => there.fork(other).await.map(|_| format!("(forked to {other})"))?,
        ("/show", _) => format!("{:#?}", there.messages().await?),
        ("/delete", _) if there.delete().await? => "(deleted)".to_owned(),
        ("/delete", _) => "(there is none)".to_owned(),
        _ => engine.start::<chat>(text.to_owned()).state(SESSION, session.to_owned()).await?.result().await?,
    };
    engine.shutdown().await;
    Ok(said)
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.as_slice() {
        [] => {
            let directory = tempfile::tempdir()?;
            let file = directory.path().join("chat.db");
            let conversation = [
                ("ada", "My name is Ada."),
                ("ada", "What is my name?"),
                ("bob", "What is my name?"),
                ("ada", "/fork ada-2"),
                ("ada", "/clear"),
                ("ada", "What is my name?"),
                ("ada-2", "What is my name?"),
            ];
            for (session, text) in conversation {
                println!("{session}: {text}\n  {}", process(&file, session, text).await?);
            }
        }
        [file, session, text] => println!("{}", process(Path::new(file), session, text).await?),
        _ => return Err("usage: chat FILE SESSION TEXT".into()),
    }
    Ok(())
}
