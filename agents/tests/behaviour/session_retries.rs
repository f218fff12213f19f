//! A run that is retried or forked, and its session: continue, clear, fork.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use graphweft::json;
use graphweft::prelude::*;
use graphweft_agents::{Agent, Memory, Message, ModelError, Models, SESSION, Scripted, SessionEntry, Sessions, Tool};
use graphweft_tests::failure;

use crate::scene::{call, texts};

/// Looks up a word.
#[node]
async fn look_up(word: String) -> String {
    format!("{word} is an insect")
}

#[derive(Clone, Default)]
struct Post {
    is_open: Arc<AtomicBool>,
}

/// Fails while the post office is closed.
#[node]
async fn post(text: String, #[resource] post: &Post) -> Result<String, String> {
    if post.is_open.load(Ordering::SeqCst) { Ok(text) } else { Err("closed".to_owned()) }
}

fn guest() -> Agent<String, String> {
    Agent::new("You chat.").memory(Memory::session("chat")).tool(Tool::of::<look_up>())
}

workflow! {
    letter(String) -> String {
        let guest: Agent<String, String> = guest();
        START => guest => post;
    }
}

struct Scene {
    engine: Engine,
    model: Scripted,
    post: Post,
    is_up: Arc<AtomicBool>,
}

/// The model calls a tool first, and replies then how many messages it has seen, if it is up.
fn scene() -> Scene {
    let (post, is_up) = (Post::default(), Arc::new(AtomicBool::new(true)));
    let up = Arc::clone(&is_up);
    let model = Scripted::new(move |request| match request.messages.last() {
        Some(Message::Tool { .. }) if !up.load(Ordering::SeqCst) => {
            Err(ModelError::Unauthorised { message: "no key".into() })
        }
        Some(Message::Tool { .. }) => Ok(Message::assistant(format!("{} seen", request.messages.len()))),
        _ => Ok(call("look_up", json!({ "word": "ant" }))),
    });
    let engine = Engine::builder().resource(Models::new(model.clone())).resource(post.clone());
    Scene { engine: engine.register::<letter>().build().unwrap(), model, post, is_up }
}

impl Scene {
    async fn start(&self, id: &str, session: &str) -> Run<String> {
        self.engine.start::<letter>(id.to_owned()).id(id).state(SESSION, session.to_owned()).await.unwrap()
    }

    async fn said(&self, session: &str) -> Vec<String> {
        let messages = Sessions::of(&self.engine).unwrap().get("chat", session).messages().await.unwrap();
        texts(&messages).into_iter().filter(|text| !text.is_empty()).collect()
    }
}

#[tokio::test]
async fn continue_a_retry_reuses_the_replies_and_adds_the_turn_once() {
    let scene = scene();
    scene.post.is_open.store(true, Ordering::SeqCst);
    scene.start("before", "ada").await.result().await.unwrap();
    scene.is_up.store(false, Ordering::SeqCst);
    failure(scene.start("letter", "ada").await.result().await);
    let calls = scene.model.requests().len();
    // The session goes on meanwhile, without what has failed.
    scene.is_up.store(true, Ordering::SeqCst);
    assert_eq!(scene.start("meanwhile", "ada").await.result().await.unwrap(), "7 seen");

    let run = scene.engine.retry("letter").await.unwrap();
    // It answers the conversation as it was when it began, and its turn comes where it ends.
    assert_eq!(run.result().await.unwrap(), "7 seen");
    assert_eq!(scene.model.requests().len(), calls + 2 + 1);
    assert_eq!(scene.said("ada").await, ["before", "3 seen", "meanwhile", "7 seen", "letter", "7 seen"]);
}

#[tokio::test]
async fn an_agent_that_is_executed_again_replaces_its_turn() {
    let scene = scene();
    failure(scene.start("letter", "ada").await.result().await);
    scene.post.is_open.store(true, Ordering::SeqCst);
    scene.start("next", "ada").await.result().await.unwrap();
    assert_eq!(scene.said("ada").await, ["letter", "3 seen", "next", "7 seen"]);

    let run = scene.engine.retry("letter").from_node("letter/guest").await.unwrap();
    // It sees what was said by others, and not what it has said before.
    assert_eq!(run.result().await.unwrap(), "7 seen");
    assert_eq!(scene.said("ada").await, ["letter", "7 seen", "next", "7 seen"]);
    // A retry that does not reach the agent adds nothing.
    let entries = Sessions::of(&scene.engine).unwrap().get("chat", "ada").entries().await.unwrap();
    assert_eq!(entries.iter().filter(|(_, entry)| matches!(entry, SessionEntry::Turn { .. })).count(), 3);
}

#[tokio::test]
async fn a_retry_behind_the_agent_leaves_the_session_as_it_is() {
    let scene = scene();
    failure(scene.start("letter", "ada").await.result().await);
    let session = Sessions::of(&scene.engine).unwrap().get("chat", "ada");
    let entries = session.entries().await.unwrap();
    scene.post.is_open.store(true, Ordering::SeqCst);
    assert_eq!(scene.engine.retry("letter").await.unwrap().result().await.unwrap(), "3 seen");
    assert_eq!(session.entries().await.unwrap(), entries);
}

#[tokio::test]
async fn clear_a_retry_from_the_agent_begins_the_conversation_anew() {
    let scene = scene();
    scene.post.is_open.store(true, Ordering::SeqCst);
    scene.start("before", "ada").await.result().await.unwrap();
    scene.is_up.store(false, Ordering::SeqCst);
    failure(scene.start("letter", "ada").await.result().await);
    scene.is_up.store(true, Ordering::SeqCst);

    Sessions::of(&scene.engine).unwrap().get("chat", "ada").clear().await.unwrap();
    let run = scene.engine.retry("letter").from_node("letter/guest").await.unwrap();
    assert_eq!(run.result().await.unwrap(), "3 seen");
    assert_eq!(scene.said("ada").await, ["letter", "3 seen"]);
}

#[tokio::test]
async fn fork_a_new_run_in_a_fork_of_the_session_leaves_the_first_one_as_it_is() {
    let scene = scene();
    scene.post.is_open.store(true, Ordering::SeqCst);
    scene.start("before", "ada").await.result().await.unwrap();
    Sessions::of(&scene.engine).unwrap().get("chat", "ada").fork("ada-2").await.unwrap();
    assert_eq!(scene.start("letter", "ada-2").await.result().await.unwrap(), "7 seen");
    assert_eq!(scene.said("ada-2").await, ["before", "3 seen", "letter", "7 seen"]);
    assert_eq!(scene.said("ada").await, ["before", "3 seen"]);
}

#[tokio::test]
async fn a_fork_of_a_run_adds_a_turn_of_its_own_to_the_same_session() {
    let scene = scene();
    scene.post.is_open.store(true, Ordering::SeqCst);
    let run = scene.start("letter", "ada").await;
    run.result().await.unwrap();
    let history = scene.engine.history("letter").await.unwrap().unwrap();
    let last_call = history.iter().find(|event| event.path.ends_with("/model:2")).unwrap();
    let forked = scene.engine.fork("letter").before(last_call.seq).await.unwrap();
    assert_eq!(forked.result().await.unwrap(), "3 seen");
    assert_eq!(scene.said("ada").await, ["letter", "3 seen", "letter", "3 seen"]);
}

#[tokio::test]
async fn a_fork_of_the_end_of_a_run_adds_nothing_to_the_session() {
    let scene = scene();
    scene.post.is_open.store(true, Ordering::SeqCst);
    scene.start("letter", "ada").await.result().await.unwrap();
    let forked = scene.engine.fork("letter").await.unwrap();
    assert_eq!(forked.result().await.unwrap(), "3 seen");
    assert_eq!(scene.said("ada").await, ["letter", "3 seen"]);
}
