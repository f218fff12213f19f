//! A process that dies at any of its commits, to runs and to sessions: a session holds each message once.

use std::time::Duration;

use graphweft::json;
use graphweft::prelude::*;
use graphweft::store::{SqliteStore, Store};
use graphweft_agents::{Agent, Compaction, Memory, Message, Models, SESSION, Scripted, SessionEntry, Sessions, Tool};
use graphweft_tests::{dies_at_commit, life};

use crate::scene::{call, texts};

/// Looks up a word.
#[node]
async fn look_up(word: String) -> String {
    format!("{word} is an insect")
}

fn guest() -> Agent<String, String> {
    let compaction = Compaction::over_messages(3).keep(2).model("small");
    Agent::new("You chat.").memory(Memory::session("chat").compact(compaction)).tool(Tool::of::<look_up>())
}

workflow! {
    chat(String) -> String {
        let guest: Agent<String, String> = guest();
        START => guest;
    }
}

/// Calls a tool and replies then, by the number of messages that it has seen.
fn model() -> Scripted {
    Scripted::new(|request| match request.messages.last() {
        Some(Message::Tool { .. }) => Ok(Message::assistant(format!("{} seen", request.messages.len()))),
        _ => Ok(call("look_up", json!({ "word": "ant" }))),
    })
}

fn engine(store: impl Store, model: &Scripted) -> Engine {
    let models = Models::new(model.clone()).with("small", Scripted::text("They have met."));
    Engine::builder().store(store).resource(models).register::<chat>().build().unwrap()
}

async fn says(engine: &Engine, text: &str) -> String {
    let run = engine.start::<chat>(text.to_owned()).id(text).state(SESSION, "ada".into()).await.unwrap();
    tokio::time::timeout(Duration::from_secs(60), run.result()).await.expect("the run ends").unwrap()
}

#[test]
fn a_session_holds_each_message_once_wherever_the_process_dies() {
    let mut deaths = 0;
    for carried_out in [false, true] {
        for commit in 0.. {
            let at = format!("commit {commit}, carried out: {carried_out}");
            let directory = tempfile::tempdir().unwrap();
            let path = directory.path().join("runs.db");
            life(async {
                let engine = engine(SqliteStore::open(&path).await.unwrap(), &model());
                assert_eq!(says(&engine, "first").await, "3 seen");
                engine.shutdown().await;
            });
            let died = dies_at_commit(&path, commit, carried_out, |dying| async {
                let engine = engine(dying, &model());
                says(&engine, "second").await;
                engine.shutdown().await;
            });
            deaths += u32::from(died);
            life(async {
                let model = model();
                let engine = engine(SqliteStore::open(&path).await.unwrap(), &model);
                engine.recover().await.unwrap();
                // The same id: it is the run that has begun, if it has.
                assert_eq!(says(&engine, "second").await, "4 seen", "{at}");
                let session = Sessions::of(&engine).unwrap().get("chat", "ada");
                let expected = ["This is what was said before, in short: They have met.", "second", "", "4 seen"];
                assert_eq!(texts(&session.messages().await.unwrap()), expected, "{at}");
                let entries = session.entries().await.unwrap();
                let count =
                    |is_one: fn(&SessionEntry) -> bool| entries.iter().filter(|(_, entry)| is_one(entry)).count();
                assert_eq!(count(|entry| matches!(entry, SessionEntry::Opened { .. })), 2, "{at}");
                assert_eq!(count(|entry| matches!(entry, SessionEntry::Turn { .. })), 2, "{at}");
                assert_eq!(count(|entry| matches!(entry, SessionEntry::Summary { .. })), 1, "{at}");
                // What it reads again is what it has read.
                for request in model.requests() {
                    assert_eq!(texts(&request.messages)[..2], expected[..2], "{at}");
                }
                assert_eq!(says(&engine, "third").await, "4 seen", "{at}");
                engine.shutdown().await;
            });
            if !died {
                break;
            }
        }
    }
    assert!(deaths >= 16, "it has died at {deaths} commits only");
}
