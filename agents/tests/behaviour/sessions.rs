//! Sessions: what agents remember over runs.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use graphweft::prelude::*;
use graphweft::store::{MemoryStore, SqliteStore, Store};
use graphweft::{Json, json};
use graphweft_agents::{
    Agent, AgentError, Compaction, Memory, Message, ModelError, Models, SESSION, Scripted, Session, SessionEntry,
    SessionError, Sessions, Tool, spent,
};
use graphweft_tests::failure;

use crate::scene::{call, texts};

fn guest() -> Agent<String, String> {
    Agent::new("You chat.").memory(Memory::session("chat"))
}

workflow! {
    chat(String) -> String {
        let guest: Agent<String, String> = guest();
        START => guest;
    }
}

/// Says how many messages it has seen.
fn counts() -> Scripted {
    Scripted::new(|request| Ok(Message::assistant(format!("{} seen", request.messages.len()))))
}

fn engine_with(model: Scripted) -> Engine {
    Engine::builder().resource(Models::new(model)).build().unwrap()
}

async fn says(engine: &Engine, session: &str, text: &str) -> String {
    let run = engine.start::<chat>(text.into()).state(SESSION, session.into()).await.unwrap();
    run.result().await.unwrap()
}

fn session(engine: &Engine, session: &str) -> Session {
    Sessions::of(engine).unwrap().get("chat", session)
}

async fn said(session: &Session) -> Vec<String> {
    texts(&session.messages().await.unwrap())
}

#[tokio::test]
async fn a_session_goes_on_in_the_next_process_and_another_one_knows_nothing_of_it() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("runs.db");
    for expected in ["1 seen", "3 seen", "5 seen"] {
        let store = SqliteStore::open(&path).await.unwrap();
        let engine = Engine::builder().store(store).resource(Models::new(counts())).register::<chat>().build().unwrap();
        assert_eq!(says(&engine, "ada", "Hello").await, expected);
        engine.shutdown().await;
    }
    let engine = Engine::builder().store(SqliteStore::open(&path).await.unwrap()).resource(Models::new(counts()));
    let engine = engine.register::<chat>().build().unwrap();
    assert_eq!(says(&engine, "bob", "Hello").await, "1 seen");
    assert_eq!(said(&session(&engine, "ada")).await, ["Hello", "1 seen", "Hello", "3 seen", "Hello", "5 seen"]);
    SqliteStore::open(&path).await.unwrap().check().await.unwrap();
}

const HEARD: Signal<String> = Signal::new("heard");

/// Answers one message, and starts over. One for another session continues in that.
#[node]
async fn answers(seen: Vec<String>, ctx: &Context) -> Result<Vec<String>, AgentError> {
    let mut seen = seen;
    let text = ctx.wait(HEARD).await;
    if text == "bye" {
        return Ok(seen);
    }
    seen.push(guest().run(text.clone(), ctx).await?);
    let next = ctx.start_over::<endless>(seen);
    if text == "Get Bob" { next.state(SESSION, "bob".to_owned()).await } else { next.await }
}

workflow! {
    endless(Vec<String>) -> Vec<String> { START => answers; }
}

#[tokio::test]
async fn a_run_that_starts_over_stays_in_its_session_over_restarts_unless_it_says_another() {
    let (store, model) = (MemoryStore::new(), counts());
    let started = || {
        let engine = Engine::builder().store(store.clone()).resource(Models::new(model.clone()));
        engine.register::<endless>().build().unwrap()
    };
    let engine = started();
    engine.start::<endless>(Vec::new()).id("run").state(SESSION, "ada".to_owned()).await.unwrap();
    engine.shutdown().await;
    for (text, next) in [("Hello", "run~1"), ("Get Bob", "run~2"), ("Hello", "run~3")] {
        let engine = started();
        engine.recover().await.unwrap();
        engine.signal("run", HEARD, text.to_owned()).await.unwrap();
        while engine.get_run(next).await.unwrap().is_none() {
            tokio::task::yield_now().await;
        }
        engine.shutdown().await;
    }
    let engine = started();
    engine.recover().await.unwrap();
    engine.signal("run", HEARD, "bye".to_owned()).await.unwrap();
    let run = engine.get_run("run").await.unwrap().unwrap();
    assert_eq!(run.result().await.unwrap(), json!(["1 seen", "3 seen", "1 seen"]));
    assert_eq!(said(&session(&engine, "ada")).await, ["Hello", "1 seen", "Get Bob", "3 seen"]);
    assert_eq!(said(&session(&engine, "bob")).await, ["Hello", "1 seen"]);
}

#[tokio::test]
async fn the_name_and_the_session_are_not_mixed_up() {
    let engine = engine_with(counts());
    let sessions = Sessions::of(&engine).unwrap();
    for (name, session) in [("a/b", "c"), ("a", "b/c"), ("a%2Fb", "c")] {
        let there = sessions.get(name, session);
        assert_eq!(there.entries().await.unwrap(), []);
        there.clear().await.unwrap();
        assert_eq!(sessions.list(name).await.unwrap(), [session]);
    }
}

/// Looks up a word.
#[node]
async fn look_up(word: String) -> String {
    format!("{word} is an insect")
}

workflow! {
    with_tool(String) -> String {
        let guest: Agent<String, String> = guest().tool(Tool::of::<look_up>());
        START => guest;
    }
}

#[tokio::test]
async fn calls_of_tools_and_their_results_are_remembered() {
    let model = Scripted::turns([call("look_up", json!({ "word": "ant" })), Message::assistant("An insect.")]);
    let engine = engine_with(model);
    let run = engine.start::<with_tool>("What is an ant?".into()).state(SESSION, "ada".into()).await.unwrap();
    run.result().await.unwrap();
    let messages = session(&engine, "ada").messages().await.unwrap();
    let [Message::User { .. }, Message::Assistant { calls, .. }, Message::Tool { content, .. }, last] = &messages[..]
    else {
        panic!("{messages:?}")
    };
    assert_eq!((calls[0].name.as_str(), content.as_str()), ("look_up", "ant is an insect"));
    assert_eq!(*last, Message::assistant("An insect."));
}

#[tokio::test]
async fn a_run_records_how_far_it_has_read_and_not_what() {
    let engine = engine_with(Scripted::text("Good."));
    let long = "a very long story ".repeat(100);
    says(&engine, "ada", &long).await;
    let run = engine.start::<chat>("And then?".into()).state(SESSION, "ada".into()).await.unwrap();
    run.result().await.unwrap();
    let records = format!("{:?}", engine.history(run.id()).await.unwrap());
    assert!(records.contains("And then?") && !records.contains("very long"), "{records}");
}

#[tokio::test]
async fn a_cleared_session_begins_anew_and_what_was_said_stays_stored() {
    let engine = engine_with(counts());
    says(&engine, "ada", "one").await;
    session(&engine, "ada").clear().await.unwrap();
    assert_eq!(says(&engine, "ada", "two").await, "1 seen");
    let entries = session(&engine, "ada").entries().await.unwrap();
    assert_eq!(entries.iter().filter(|(_, entry)| matches!(entry, SessionEntry::Turn { .. })).count(), 2);
    assert_eq!(said(&session(&engine, "ada")).await, ["two", "1 seen"]);
}

#[tokio::test]
async fn a_fork_begins_with_what_was_said_and_then_both_go_their_ways() {
    let engine = engine_with(counts());
    says(&engine, "ada", "one").await;
    let ada = session(&engine, "ada");
    let first = ada.entries().await.unwrap().last().unwrap().0;
    says(&engine, "ada", "two").await;

    let (now, then) = (ada.fork("now").await.unwrap(), ada.fork_at("then", first).await.unwrap());
    ada.fork("now").await.unwrap();
    assert_eq!(said(&now).await, ["one", "1 seen", "two", "3 seen"]);
    assert_eq!(says(&engine, "then", "three").await, "3 seen");
    assert_eq!(said(&then).await, ["one", "1 seen", "three", "3 seen"]);
    assert_eq!(said(&ada).await.len(), 4);

    let refused = ada.fork("then").await.unwrap_err();
    assert_eq!(refused, SessionError::NotEmpty { session: "chat/then".into() });
    ada.delete().await.unwrap();
    assert_eq!(said(&now).await.len(), 4);
}

#[tokio::test]
async fn a_deleted_session_is_gone_and_can_begin_again() {
    let engine = engine_with(counts());
    says(&engine, "ada", "one").await;
    assert!(session(&engine, "ada").delete().await.unwrap());
    assert!(!session(&engine, "ada").delete().await.unwrap());
    assert_eq!(Sessions::of(&engine).unwrap().list("chat").await.unwrap(), [""; 0]);
    assert_eq!(says(&engine, "ada", "two").await, "1 seen");
}

fn has_to_fit() -> Agent<String, u32> {
    Agent::new("You count.").memory(Memory::session("chat")).repairs(0)
}

workflow! {
    count(String) -> u32 {
        let counter: Agent<String, u32> = has_to_fit();
        START => counter;
    }
}

#[tokio::test]
async fn an_id_that_is_too_long_is_refused_with_its_length_before_a_model_is_called() {
    let model = counts();
    let engine = engine_with(model.clone());
    // Bytes, not letters.
    let (longest, too_long) = ("ä".repeat(512), format!("{}x", "ä".repeat(512)));
    assert_eq!(says(&engine, &longest, "Hi").await, "1 seen");
    let run = engine.start::<chat>("Hi".into()).state(SESSION, too_long.clone()).await.unwrap();
    let Outcome::Failed(failed) = run.outcome().await.unwrap() else { panic!("its id is too long") };
    let refused = SessionError::IdTooLong { length: 1025 };
    assert_eq!(failed.error_as(), Some(AgentError::Session(refused.clone())));
    assert_eq!(refused.to_string(), "the id of a session may have up to 1024 bytes, and this one has 1025");
    assert_eq!(model.requests().len(), 1);
    assert_eq!(session(&engine, &longest).fork(&too_long).await.unwrap_err(), refused);
    let long = session(&engine, &too_long);
    assert_eq!(long.clear().await.unwrap_err(), refused);
    assert!(long.messages().await.unwrap().is_empty());
    assert!(!long.delete().await.unwrap());
    assert_eq!(Sessions::of(&engine).unwrap().list("chat").await.unwrap(), [longest]);
}

#[tokio::test]
async fn an_agent_that_fails_adds_nothing_that_is_seen() {
    let engine = engine_with(Scripted::text("many"));
    let run = engine.start::<count>("How many?".into()).state(SESSION, "ada".into()).await.unwrap();
    let failed = failure(run.result().await);
    assert!(matches!(failed.error_as(), Some(AgentError::Misfit { .. })), "{failed}");
    assert_eq!(said(&session(&engine, "ada")).await, [""; 0]);
    assert_eq!(says(&engine, "ada", "Hello").await, "many");
}

fn compacted() -> Agent<String, String> {
    let compaction = Compaction::over_messages(5).keep(3).model("small");
    Agent::new("You chat.").memory(Memory::session("chat").compact(compaction))
}

workflow! {
    long_chat(String) -> String {
        let guest: Agent<String, String> = compacted();
        START => guest;
    }
}

#[tokio::test]
async fn the_beginning_of_a_long_session_becomes_a_summary_that_is_an_entry() {
    let small = Scripted::text("They have met.");
    let large = counts();
    let models = Models::new(large.clone()).with("small", small.clone());
    let engine = Engine::builder().resource(models).build().unwrap();
    let mut last = None;
    for text in ["one", "two", "three", "four"] {
        let run = engine.start::<long_chat>(text.into()).state(SESSION, "ada".into()).await.unwrap();
        last = Some((run.result().await.unwrap(), run.id().to_owned()));
    }
    // Before `four` there are six messages: the first four become one, and whole turns stay.
    let expected = ["This is what was said before, in short: They have met.", "three", "5 seen", "four"];
    assert_eq!(texts(&large.requests().last().unwrap().messages), expected);
    let summarized = texts(&small.requests()[0].messages);
    assert_eq!(summarized, ["one", "1 seen", "two", "3 seen", "Summarize what was said so far."]);
    assert_eq!(small.requests().len(), 1);
    let (said_last, id) = last.unwrap();
    assert_eq!(said_last, "4 seen");
    assert_eq!(texts(&session(&engine, "ada").messages().await.unwrap()).len(), 5);
    assert_eq!(
        session(&engine, "ada")
            .entries()
            .await
            .unwrap()
            .iter()
            .filter(|(_, entry)| matches!(entry, SessionEntry::Turn { .. }))
            .count(),
        4
    );
    let spent = spent(&engine.history(&id).await.unwrap().unwrap());
    assert_eq!(spent["scripted"].calls, 2);
}

/// A session of four turns, and the model of its agent: before the fourth turn a summary is due, which `small` is asked for.
async fn four_turns(small: Scripted) -> (Engine, Scripted) {
    let large = counts();
    let models = Models::new(large.clone()).with("small", small);
    let engine = Engine::builder().resource(models).build().unwrap();
    for text in ["one", "two", "three", "four"] {
        let run = engine.start::<long_chat>(text.into()).state(SESSION, "ada".into()).await.unwrap();
        run.result().await.unwrap();
    }
    (engine, large)
}

/// Gives this first, and a summary then.
fn first_then_met(first: Result<Message, ModelError>) -> Scripted {
    let asked = AtomicBool::new(false);
    Scripted::new(move |_| match asked.swap(true, Ordering::SeqCst) {
        false => first.clone(),
        true => Ok(Message::assistant("They have met.")),
    })
}

const ALL_OF_FOUR_TURNS: [&str; 7] = ["one", "1 seen", "two", "3 seen", "three", "5 seen", "four"];

#[tokio::test]
async fn a_summary_without_text_is_not_used_and_the_next_turn_asks_for_another_one() {
    let nothing = [Message::assistant(""), Message::assistant(" \n"), call("look_up", json!({ "word": "ant" }))];
    for summary in nothing {
        let small = first_then_met(Ok(summary.clone()));
        let (engine, large) = four_turns(small).await;
        assert_eq!(texts(&large.requests().last().unwrap().messages), ALL_OF_FOUR_TURNS, "{summary:?}");
        let run = engine.start::<long_chat>("five".into()).state(SESSION, "ada".into()).await.unwrap();
        run.result().await.unwrap();
        let expected = ["This is what was said before, in short: They have met.", "four", "7 seen", "five"];
        assert_eq!(texts(&large.requests().last().unwrap().messages), expected, "{summary:?}");
    }
}

#[tokio::test]
async fn a_turn_whose_summary_is_refused_sees_all_that_was_said_and_the_next_one_asks_for_a_summary_again() {
    let message = || "no".to_owned();
    let refusals = [
        ModelError::Filtered { message: message() },
        ModelError::TooLong { message: message() },
        ModelError::Unauthorised { message: message() },
        ModelError::Rejected { message: message() },
    ];
    for refusal in refusals {
        let (engine, large) = four_turns(first_then_met(Err(refusal.clone()))).await;
        assert_eq!(texts(&large.requests().last().unwrap().messages), ALL_OF_FOUR_TURNS, "{refusal}");
        let run = engine.start::<long_chat>("five".into()).state(SESSION, "ada".into()).await.unwrap();
        run.result().await.unwrap();
        let expected = ["This is what was said before, in short: They have met.", "four", "7 seen", "five"];
        assert_eq!(texts(&large.requests().last().unwrap().messages), expected, "{refusal}");
    }
}

#[tokio::test]
async fn a_turn_whose_summary_was_cut_off_sees_all_that_was_said_and_the_next_one_asks_for_a_summary_again() {
    let asked = AtomicBool::new(false);
    let small = Scripted::replies(move |request| match asked.swap(true, Ordering::SeqCst) {
        false => Ok(Scripted::reply(request, Message::assistant("They have")).cut_off()),
        true => Ok(Scripted::reply(request, Message::assistant("They have met."))),
    });
    let (engine, large) = four_turns(small).await;
    assert_eq!(texts(&large.requests().last().unwrap().messages), ALL_OF_FOUR_TURNS);
    let run = engine.start::<long_chat>("five".into()).state(SESSION, "ada".into()).await.unwrap();
    run.result().await.unwrap();
    let expected = ["This is what was said before, in short: They have met.", "four", "7 seen", "five"];
    assert_eq!(texts(&large.requests().last().unwrap().messages), expected);
}

#[tokio::test]
async fn a_retry_of_a_turn_without_its_summary_does_not_ask_for_one() {
    let small = first_then_met(Err(ModelError::Filtered { message: "no".into() }));
    let is_up = Arc::new(AtomicBool::new(true));
    let up = Arc::clone(&is_up);
    let large = Scripted::new(move |request| match up.load(Ordering::SeqCst) {
        true => Ok(Message::assistant(format!("{} seen", request.messages.len()))),
        false => Err(ModelError::Unauthorised { message: "no key".into() }),
    });
    let models = Models::new(large.clone()).with("small", small.clone());
    let engine = Engine::builder().resource(models).register::<long_chat>().build().unwrap();
    for text in ["one", "two", "three"] {
        let run = engine.start::<long_chat>(text.into()).state(SESSION, "ada".into()).await.unwrap();
        run.result().await.unwrap();
    }
    is_up.store(false, Ordering::SeqCst);
    let run = engine.start::<long_chat>("four".into()).id("four").state(SESSION, "ada".into()).await.unwrap();
    failure(run.result().await);
    is_up.store(true, Ordering::SeqCst);
    assert_eq!(engine.retry("four").await.unwrap().result().await.unwrap(), "7 seen");
    assert_eq!(small.requests().len(), 1);
}

fn scholar() -> Agent<String, String> {
    compacted().tool(Tool::of::<look_up>())
}

workflow! {
    study(String) -> String {
        let guest: Agent<String, String> = scholar();
        START => guest;
    }
}

#[tokio::test]
async fn calls_are_text_for_a_summary_since_its_request_has_no_tools() {
    let small = Scripted::text("They have met.");
    let large = Scripted::new(|request| match request.messages.last() {
        Some(Message::Tool { .. }) => Ok(Message::assistant("An insect.")),
        _ => Ok(Scripted::calls([("look_up", json!({ "word": "ant" }))])),
    });
    let models = Models::new(large).with("small", small.clone());
    let engine = Engine::builder().resource(models).build().unwrap();
    for text in ["one", "two", "three"] {
        let run = engine.start::<study>(text.into()).state(SESSION, "ada".into()).await.unwrap();
        run.result().await.unwrap();
    }
    let summarized = &small.requests()[0];
    assert!(summarized.tools.is_empty());
    let said = texts(&summarized.messages);
    assert_eq!(said.len(), summarized.messages.len());
    let call: Json = serde_json::from_str(&said[1]).unwrap();
    assert_eq!(call, json!({ "tool": "look_up", "arguments": { "word": "ant" } }));
    assert_eq!([&*said[0], &*said[2], &*said[3]], ["one", "`look_up` returned: ant is an insect", "An insect."]);
}

fn office() -> Agent<String, String> {
    guest().tool(Tool::by_value("expert", guest()))
}

workflow! {
    nested(String) -> String {
        let boss: Agent<String, String> = office();
        START => boss;
    }
}

/// Keeps runs, and no logs.
struct WithoutLogs {
    inner: MemoryStore,
}

impl Store for WithoutLogs {
    graphweft_tests::forward_store! {
        join leave create append start_over read header list count overview open_questions delete reserve_task claim is_alive
        is_served is_shared is_volatile feed feed_end graph keeps_snapshots put_snapshot snapshot
    }
}

#[tokio::test]
async fn a_session_that_cannot_be_used_is_a_typed_error_before_any_model_is_called() {
    let model = counts();
    let engine = engine_with(model.clone());
    let run = engine.start::<chat>("Hello".into()).await.unwrap();
    let failed = failure(run.result().await);
    assert_eq!(failed.error_as(), Some(AgentError::Session(SessionError::NoSession)));

    let builder = Engine::builder().store(WithoutLogs { inner: MemoryStore::new() });
    let engine = builder.resource(Models::new(model.clone())).build().unwrap();
    assert_eq!(Sessions::of(&engine).unwrap_err(), SessionError::NoLogs);
    let run = engine.start::<chat>("Hello".into()).state(SESSION, "ada".into()).await.unwrap();
    let failed = failure(run.result().await);
    assert_eq!(failed.error_as(), Some(AgentError::Session(SessionError::NoLogs)));
    assert!(failed.cause.to_string().contains("`SqliteStore`"), "{failed}");
    assert_eq!(model.requests().len(), 0);
}

#[tokio::test]
async fn an_agent_in_the_session_of_the_agent_around_it_is_refused_and_does_not_wait_for_ever() {
    let model = Scripted::turns([call("expert", json!({ "input": "Hm?" })), Message::assistant("Well.")]);
    let engine = engine_with(model.clone());
    let run = engine.start::<nested>("Hello".into()).state(SESSION, "ada".into()).await.unwrap();
    assert_eq!(run.result().await.unwrap(), "Well.");
    let result = crate::scene::results(&model.requests()[1]);
    assert!(result[0].contains("`nested/boss` is in the session `chat/ada`"), "{result:?}");
}
