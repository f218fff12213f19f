//! What agents have said, compared with what a person has read and found right. The agents are those of `graphweft-agents`, so that what
//! they record is what is read here.

use std::fmt::Write;
use std::sync::Mutex;

use graphweft::json;
use graphweft::prelude::*;
use graphweft::store::MemoryStore;
use graphweft_agents::{Agent, AgentError, Message, ModelError, Models, Scripted, Tool};
use graphweft_inspector::view::{Conversations, RunView, SaidWhat, What};

#[value]
struct Refund {
    order: String,
    cents: u32,
}

/// Looks up the orders of a customer.
#[node]
async fn orders(customer: String) -> Result<Vec<String>, String> {
    match customer.as_str() {
        "Ada" => Ok(vec!["order 7, 1200 cents".to_owned()]),
        _ => Err(format!("there is no {customer}")),
    }
}

/// Pays money back.
#[node]
async fn pay(order: String, cents: u32) -> String {
    format!("{cents} cents for {order}")
}

/// Knows the rules.
#[node]
async fn rules(question: String, ctx: &Context) -> Result<String, AgentError> {
    Agent::new("You know the rules.").run(format!("Is this fine: {question}"), ctx).await
}

fn clerk() -> Agent<String, Refund> {
    let clerk = Agent::new("You decide on refunds.").tool(Tool::of::<orders>());
    clerk.tool(Tool::of::<pay>().approve()).tool(Tool::of::<rules>()).max_turns(5)
}

workflow! {
    desk(String) -> Refund {
        let clerk: Agent<String, Refund> = clerk();
        START => clerk;
    }
}

fn rejected(message: &str) -> ModelError {
    ModelError::Rejected { message: message.to_owned() }
}

/// A script, by the instructions of who asks.
fn model(clerk: Vec<Message>) -> Scripted {
    Scripted::new(move |request| match &*request.instructions {
        "You know the rules." => Ok(Message::assistant("It is.")),
        _ => {
            let turn = request.messages.iter().filter(|message| matches!(message, Message::Assistant { .. })).count();
            clerk.get(turn).cloned().ok_or_else(|| rejected("the script is over"))
        }
    })
}

fn engine(model: Scripted) -> Engine {
    Engine::builder().resource(Models::new(model)).register::<desk>().max_concurrency(1).build().unwrap()
}

/// Everything that was said in a run.
async fn talked(engine: &Engine, id: &str) -> Conversations {
    let mut conversations = Conversations::default();
    for event in engine.history(id).await.unwrap().unwrap() {
        conversations.apply(&event);
    }
    conversations
}

fn text(conversations: &Conversations) -> String {
    let mut text = String::new();
    for conversation in conversations.all() {
        let _ = writeln!(text, "{}", conversation.path);
        for said in conversation.said {
            let words = serde_json::to_string(&said.what).unwrap();
            let _ = writeln!(text, "  #{} {} {words}", said.seq, said.path);
        }
    }
    text
}

/// See `snapshots.rs`.
fn compare(name: &str, conversations: &Conversations) {
    let path = format!("{}/tests/views/snapshots/{name}.txt", env!("CARGO_MANIFEST_DIR"));
    let text = text(conversations);
    if std::env::var_os("GRAPHWEFT_WRITE").is_some() {
        std::fs::write(&path, &text).unwrap();
    }
    let read = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(text == read, "{name} differs from {path}:\n{text}");
}

#[tokio::test(start_paused = true)]
async fn snapshots_of_a_conversation_with_tools_a_person_and_a_repair() {
    let engine = engine(model(vec![
        Scripted::calls([("orders", json!({ "customer": "Ada" })), ("orders", json!({ "customer": "Bob" }))]),
        Scripted::calls([
            ("pay", json!({ "cents": 1200, "order": "7" })),
            ("fly", json!({})),
            ("orders", json!({ "name": 7 })),
        ]),
        Scripted::calls([("rules", json!({ "question": "1200 cents" }))]),
        Message::assistant("It is paid."),
        Message::assistant(r#"{"order": "7", "cents": 1200}"#),
    ]));
    let run = engine.start::<desk>("Ada wants her money back".into()).id("run").await.unwrap();
    assert!(matches!(run.outcome().await.unwrap(), Outcome::Waiting(_)));
    compare("conversation_waits", &talked(&engine, "run").await);
    run.answer("approve", "approve").by("Eve").await.unwrap();
    assert_eq!(run.result().await.unwrap().cents, 1200);
    compare("conversation", &talked(&engine, "run").await);
}

#[tokio::test(start_paused = true)]
async fn snapshots_of_a_conversation_that_is_refused_and_fails_and_is_retried() {
    let pays = Scripted::calls([("pay", json!({ "cents": 9, "order": "7" }))]);
    let script = Mutex::new(vec![Err(rejected("no")), Ok(pays)]);
    let overloaded = ModelError::Overloaded { retry_after: None, message: "later".to_owned() };
    script.lock().unwrap().push(Err(overloaded));
    let model =
        Scripted::new(move |_| script.lock().unwrap().pop().unwrap_or_else(|| Err(rejected("the script is over"))));
    let engine = engine(model);
    let run = engine.start::<desk>("Bob wants money".into()).id("run").await.unwrap();
    assert!(matches!(run.outcome().await.unwrap(), Outcome::Waiting(_)));
    run.answer("approve", json!({ "reject": "too little" })).await.unwrap();
    assert!(run.result().await.is_err());
    compare("conversation_fails", &talked(&engine, "run").await);

    // What was voided is not said, and what comes of the retry is.
    engine.retry("run").from_node("desk/clerk").await.unwrap().outcome().await.unwrap();
    let after = text(&talked(&engine, "run").await);
    let (agent, said) = after.split_once('\n').unwrap();
    assert_eq!((agent, said.lines().count()), ("desk/clerk", 2), "{after}");
    assert!(said.contains("Bob wants money") && said.contains("the script is over"), "{after}");
}

/// A version of the program in which nothing is paid.
mod without_pay {
    use super::*;

    workflow! {
        pub(super) desk(String) -> Refund {
            let clerk: Agent<String, Refund> = Agent::new("You decide on refunds.").tool(Tool::of::<orders>());
            START => clerk;
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_call_of_a_tool_that_is_gone_was_withdrawn_and_says_why() {
    let store = MemoryStore::new();
    let model = model(vec![
        Scripted::calls([("pay", json!({ "cents": 9, "order": "7" }))]),
        Message::assistant(r#"{"order": "7", "cents": 0}"#),
    ]);
    let builder = || Engine::builder().store(store.clone()).resource(Models::new(model.clone()));
    let first = builder().register::<desk>().build().unwrap();
    let run = first.start::<desk>("Ada".into()).id("run").await.unwrap();
    assert!(matches!(run.outcome().await.unwrap(), Outcome::Waiting(_)));
    first.shutdown().await;
    let second = builder().register::<without_pay::desk>().build().unwrap();
    second.recover().await.unwrap();
    // It wakes the run, whose program of now has no such question.
    second.answer("run", "approve", json!("approve")).await.unwrap_err();
    second.get_run("run").await.unwrap().unwrap().result().await.unwrap();

    let mut conversations = Conversations::default();
    let mut returned = Vec::new();
    for event in second.history("run").await.unwrap().unwrap() {
        returned.extend(conversations.apply(&event).to_vec());
    }
    let withdrawn = SaidWhat::NotCalled {
        tool: "pay".to_owned(),
        begun: true,
        why: Some("there is no tool `pay`; there are `orders`".to_owned()),
        cut: false,
    };
    let all = conversations.all();
    let whats: Vec<&SaidWhat> = all[0].said.iter().map(|said| &said.what).collect();
    assert!(matches!(whats[..], [.., what, SaidWhat::Replied { .. }] if *what == withdrawn), "{whats:?}");
    assert!(returned.iter().any(|said| said.what == withdrawn), "{returned:?}");
}

/// What an event has become, with everything else as it was.
fn other(event: &graphweft::Event, kind: graphweft::Json) -> graphweft::Event {
    let mut json = serde_json::to_value(event).unwrap();
    let fields = json.as_object_mut().unwrap();
    fields.retain(|name, _| ["version", "run_id", "seq", "time", "path"].contains(&name.as_str()));
    fields.extend(kind.as_object().unwrap().clone());
    serde_json::from_value(json).unwrap()
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_the_type_refuses_was_not_given() {
    let pays = Scripted::calls([("pay", json!({ "cents": 9, "order": "7" }))]);
    let engine = engine(model(vec![pays]));
    let run = engine.start::<desk>("Ada".into()).id("run").await.unwrap();
    assert!(matches!(run.outcome().await.unwrap(), Outcome::Waiting(_)));
    run.answer("approve", "approve").await.unwrap();
    run.outcome().await.unwrap();

    let history = engine.history("run").await.unwrap().unwrap();
    let answered = history.iter().position(|event| matches!(event.kind, EventKind::Answered { .. })).unwrap();
    let mut conversations = Conversations::default();
    for event in &history[..=answered] {
        conversations.apply(event);
    }
    let is_answer = |what: &SaidWhat| matches!(what, SaidWhat::PersonAnswered { .. });
    let answers =
        |conversations: &Conversations| conversations.all()[0].said.iter().filter(|said| is_answer(&said.what)).count();
    assert_eq!(answers(&conversations), 1);
    let rejected = json!({ "type": "answer_rejected", "field": ".", "message": "it is no approval" });
    conversations.apply(&other(&history[answered], rejected));
    assert_eq!(answers(&conversations), 0);
}

#[tokio::test(start_paused = true)]
async fn calls_are_left_for_the_next_attempt_at_the_agent() {
    let calls = Scripted::calls([("pay", json!({ "cents": 9, "order": "7" }))]);
    let engine = engine(model(vec![calls]));
    let run = engine.start::<desk>("Ada".into()).id("run").await.unwrap();
    assert!(matches!(run.outcome().await.unwrap(), Outcome::Waiting(_)));
    run.cancel().await.unwrap();

    let history = engine.history("run").await.unwrap().unwrap();
    let replied =
        history.iter().position(|event| event.path.starts_with("desk/clerk/") && event.kind.name() == "node_completed");
    let replied = &history[..=replied.unwrap()];
    let failed = |then: graphweft::Json| {
        let mut conversations = Conversations::default();
        for event in replied {
            conversations.apply(event);
        }
        let agent = replied.iter().find(|event| event.path == "desk/clerk").unwrap();
        let kind = json!({ "type": "node_failed", "attempt": 1, "cause": { "chain": ["too slow"] }, "then": then });
        conversations.apply(&other(agent, kind));
        text(&conversations).contains("not_called")
    };
    assert!(!failed(json!({ "retry_at": { "time": 1_764_150_000_000_u64 } })));
    assert!(failed(json!("fails")));
}

#[tokio::test(start_paused = true)]
async fn a_first_call_that_fails_is_a_conversation_of_what_was_asked_and_the_error() {
    let overloaded = || ModelError::Overloaded { retry_after: None, message: "later".to_owned() };
    let script = Mutex::new(vec![Err(rejected("no")), Err(overloaded())]);
    let engine = engine(Scripted::new(move |_| script.lock().unwrap().pop().expect("two calls")));
    let run = engine.start::<desk>("Ada wants her money back".into()).id("run").await.unwrap();
    assert!(run.result().await.is_err());
    let [conversation] = &talked(&engine, "run").await.all()[..] else { panic!("there is one") };
    assert_eq!(conversation.path, "desk/clerk");
    let said: Vec<(&str, u64)> = conversation.said.iter().map(|said| (said.path.as_str(), said.seq)).collect();
    assert!(
        said.iter().all(|(path, _)| *path == "desk/clerk/model:1") && said.is_sorted_by_key(|(_, seq)| *seq),
        "{said:?}"
    );
    let what: Vec<&SaidWhat> = conversation.said.iter().map(|said| &said.what).collect();
    let [
        SaidWhat::Failed { message: first, again: true, tool: None, .. },
        SaidWhat::Asked { text, .. },
        SaidWhat::Failed { message: last, again: false, attempt: 2, .. },
    ] = what[..]
    else {
        panic!("{what:?}")
    };
    assert!(first.contains("later") && last.contains("no"), "{what:?}");
    assert_eq!(text, "Ada wants her money back");

    // The page knows by this which of the things has the conversation.
    let mut view = RunView::new("desk", engine.run_graph("run").await.unwrap().as_ref());
    for event in engine.history("run").await.unwrap().unwrap() {
        view.apply(&event);
    }
    let part = view.part(None);
    let failed = part.details.iter().filter_map(|detail| match &detail.what {
        What::Error { model_call, attempt, .. } => {
            Some((part.things.path[detail.thing as usize].as_str(), *attempt, *model_call))
        }
        _ => None,
    });
    let expected = [("desk/clerk/model:1", 1, false), ("desk/clerk/model:1", 2, true), ("desk/clerk", 1, false)];
    assert_eq!(failed.collect::<Vec<_>>(), expected);
}

/// The pieces of a reply are sent at once, and the start of the call when it is recorded.
#[tokio::test(start_paused = true)]
async fn progress_of_a_call_that_comes_before_its_start_is_that_of_a_child() {
    let engine = engine(model(vec![Message::assistant(r#"{"order": "7", "cents": 1200}"#)]));
    engine.start::<desk>("Ada".into()).id("run").await.unwrap().result().await.unwrap();
    let history = engine.history("run").await.unwrap().unwrap();
    let of = |events: &[graphweft::Event]| {
        let mut view = RunView::new("desk", None);
        events.iter().for_each(|event| view.apply(event));
        view.part(None)
    };
    let start = history.iter().position(|event| event.path.ends_with("/model:1")).unwrap();
    let piece = other(&history[start], json!({ "type": "progress", "data": { "text": "It" }, "number": 1 }));
    let mut early = history.clone();
    early.insert(start, piece.clone());
    let mut late = history;
    late.insert(start + 1, piece.clone());
    let (early, late) = (of(&early), of(&late));
    assert_eq!((&early.things, &early.moves), (&late.things, &late.moves));
    let [progress] = &early.progress[..] else { panic!("{:?}", early.progress) };
    assert_eq!(early.things.path[progress.thing as usize], "desk/clerk/model:1");
    assert_eq!(progress.data, json!({ "text": "It" }));
    // A start that never comes is no thing.
    assert!(of(&[piece]).progress.is_empty());
}

/// A view says which of its things are model calls.
#[tokio::test(start_paused = true)]
async fn a_view_has_the_replies_without_their_texts() {
    let engine = engine(model(vec![
        Scripted::calls([("orders", json!({ "customer": "Ada" }))]),
        Message::assistant(r#"{"order": "7", "cents": 1200}"#),
    ]));
    engine.start::<desk>("Ada".into()).id("run").await.unwrap().result().await.unwrap();
    let mut view = RunView::new("desk", engine.run_graph("run").await.unwrap().as_ref());
    for event in engine.history("run").await.unwrap().unwrap() {
        view.apply(&event);
    }
    let part = view.part(None);
    let replies = part.details.iter().filter_map(|detail| match &detail.what {
        What::Replied { model, input_tokens, output_tokens, calls } => {
            let path = part.things.path[detail.thing as usize].as_str();
            Some((path, model.as_str(), *input_tokens, *output_tokens, *calls))
        }
        _ => None,
    });
    let replies: Vec<_> = replies.collect();
    assert_eq!(replies, [("desk/clerk/model:1", "scripted", 10, 5, 1), ("desk/clerk/model:2", "scripted", 30, 5, 0)]);
}

/// A part of a record that looks like one of a model is shown as it is.
#[tokio::test(start_paused = true)]
async fn an_output_that_only_resembles_a_reply_is_none() {
    #[node]
    async fn child(_: ()) -> graphweft::Json {
        json!({ "gen_ai": "chat", "message": "Hello" })
    }
    #[node]
    async fn parent(_: u32, ctx: &Context) -> graphweft::Json {
        ctx.call::<child>(()).await.unwrap_or_default()
    }
    workflow! { pretends(u32) -> graphweft::Json { START => parent; } }
    let engine = Engine::builder().register::<pretends>().build().unwrap();
    engine.start::<pretends>(1).id("run").await.unwrap().result().await.unwrap();
    assert!(talked(&engine, "run").await.all().is_empty());
}
