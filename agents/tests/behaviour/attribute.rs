//! Agents made of functions.

use std::fmt;

use graphweft::prelude::*;
use graphweft::state::Append;
use graphweft::{GraphUse, NodeInfo, StartError, json};
use graphweft_agents::{AgentError, Memory, Message, ModelError, Models, SESSION, Scripted, Tool, agent};
use graphweft_tests::{failure, paths};

use crate::scene::{call, last_text, results, run};

struct Archive(&'static str);

/// Looks up what a customer has bought.
#[node]
async fn orders(customer: String, #[resource] archive: &Archive) -> Vec<String> {
    vec![format!("{} for {customer}", archive.0)]
}

#[value]
#[derive(Debug, PartialEq)]
struct Refund {
    cents: u32,
}

/// Decides on refunds.
///
/// Look up what the customer has bought.
///
/// Be kind.
#[agent(tools(orders), model = "clerk", max_turns = 3, max_tokens = 100, temperature = 0.5)]
async fn refunds(customer: String, text: String, ctx: &Context) -> Refund {
    let greeting = ctx.step("greet", || async { Ok::<_, String>(format!("{customer} says")) }).await;
    format!("{}: {text}", greeting.unwrap_or_default())
}

#[node]
async fn pay(refund: Refund) -> u32 {
    refund.cents
}

workflow! {
    desk(String, String) -> u32 { START => refunds => pay; }
}

fn mail() -> (String, String) {
    ("Ada".into(), "my lamp is broken".into())
}

fn engine(model: &Scripted) -> Engine {
    let models = Models::default().with("clerk", model.clone());
    Engine::builder().resource(models).resource(Archive("order 7")).build().unwrap()
}

#[tokio::test]
async fn the_doc_comment_instructs_the_body_prompts_and_the_return_type_is_the_output() {
    let model =
        Scripted::turns([call("orders", json!({ "customer": "Ada" })), Message::assistant(r#"{"cents": 4500}"#)]);
    let engine = engine(&model);
    let run = engine.start::<desk>(mail()).id("r").await.unwrap();
    assert_eq!(run.result().await.unwrap(), 4_500);

    let requests = model.requests();
    let instructions = &requests[0].instructions;
    assert!(instructions.starts_with("Look up what the customer has bought.\n\nBe kind.\n\n"), "{instructions}");
    assert_eq!(last_text(&requests[0]), "Ada says: my lamp is broken");
    assert_eq!(requests[0].options.max_tokens, Some(100));
    assert_eq!(requests[0].options.temperature, Some(0.5));
    assert_eq!(requests[0].tools[0].description, "Looks up what a customer has bought.");
    assert_eq!(results(&requests[1]), [r#"["order 7 for Ada"]"#]);
    let recorded =
        paths(&engine.history("r").await.unwrap().unwrap(), |kind| matches!(kind, EventKind::NodeCompleted { .. }));
    for path in ["desk/refunds", "desk/refunds/model:1", "desk/refunds/orders:1.0", "desk/refunds/model:2"] {
        assert!(recorded.iter().any(|known| known == path), "{path}: {recorded:?}");
    }
}

#[test]
fn the_first_paragraph_says_what_an_agent_is_for_and_the_rest_does_not() {
    let info = NodeInfo::of::<refunds>();
    assert_eq!((info.name(), info.doc()), ("refunds", "Decides on refunds."));
    assert_eq!(info.parameters(), ["customer", "text"]);
    assert_eq!(info.input_schema().as_value()["prefixItems"].as_array().map(Vec::len), Some(2));
    assert_eq!(info.output_schema().as_value()["properties"]["cents"]["type"], json!("integer"));
    assert!(info.resources()[0].type_name().ends_with("Models"));
    let spec = Tool::from(Tool::of::<refunds>()).spec().clone();
    assert_eq!((spec.name.as_str(), spec.description.as_str()), ("refunds", "Decides on refunds."));
    assert_eq!(spec.parameters["required"], json!(["customer", "text"]));
}

struct Shout(String);

impl fmt::Display for Shout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}!", self.0.to_uppercase())
    }
}

/// You echo.
#[agent(instructions = concat!("You ", "shout."), tools(echoes), check = |text| is_short(text))]
fn echoes(text: String) -> String {
    if text.is_empty() {
        return Shout("nothing".into());
    }
    Shout(text)
}

fn is_short(text: &str) -> Result<(), String> {
    if text.len() < 10 { Ok(()) } else { Err("it is too long".into()) }
}

workflow! {
    hall(String) -> String { START => echoes; }
}

#[tokio::test]
async fn a_plain_function_prompts_with_anything_that_is_display_also_by_return() {
    let model = Scripted::text("ok");
    assert_eq!(run::<hall>(model.clone(), String::new()).await.unwrap(), "ok");
    assert_eq!(last_text(&model.requests()[0]), "NOTHING!");
    assert_eq!(&*model.requests()[0].instructions, "You shout.");
}

#[tokio::test]
async fn what_the_check_refuses_is_corrected() {
    let model = Scripted::turns([Message::assistant("far too long"), Message::assistant("short")]);
    assert_eq!(run::<hall>(model.clone(), "a".into()).await.unwrap(), "short");
    assert_eq!(last_text(&model.requests()[1]), "That does not fit: it is too long.");
}

/// You chat.
#[agent(memory = Memory::session("chat"))]
async fn chats(text: String) -> String {
    text
}

workflow! {
    chat(String) -> String { START => chats; }
}

#[tokio::test]
async fn an_agent_with_a_memory_sees_what_was_said_before() {
    let model = Scripted::new(|request| Ok(Message::assistant(format!("{} messages", request.messages.len()))));
    let engine = Engine::builder().resource(Models::new(model)).build().unwrap();
    for (session, expected) in [("ada", "1 messages"), ("ada", "3 messages"), ("bob", "1 messages")] {
        let run = engine.start::<chat>("hello".into()).state(SESSION, session.into()).await.unwrap();
        assert_eq!(run.result().await.unwrap(), expected);
    }
}

const CASE: StateKey<Vec<Message>, Append> = StateKey::new("case");

/// You judge.
#[agent(memory = Memory::state(CASE))]
async fn judges(text: String, #[may_write(CASE)] _case: StateWriter<Vec<Message>, Append>) -> String {
    text
}

workflow! {
    trial(String) -> String {
        let again = judges();
        START => judges => again;
    }
}

#[tokio::test]
async fn an_agent_with_a_memory_of_its_run_sees_what_was_said_in_it() {
    let model = Scripted::new(|request| Ok(Message::assistant(format!("{} messages", request.messages.len()))));
    assert_eq!(run::<trial>(model, "guilty?".into()).await.unwrap(), "3 messages");
}

#[tokio::test]
async fn an_agent_may_be_its_own_tool() {
    let model = Scripted::new(|request| {
        let told = last_user(request);
        Ok(match (told.as_str(), results(request).is_empty()) {
            ("OUTER!", true) => call("echoes", json!({ "text": "inner" })),
            ("OUTER!", false) => Message::assistant(results(request)[0].clone()),
            _ => Message::assistant("depth 2"),
        })
    });
    assert_eq!(run::<hall>(model, "outer".into()).await.unwrap(), "depth 2");
}

fn last_user(request: &graphweft_agents::Request) -> String {
    match request.messages.first() {
        Some(Message::User { text, .. }) => text.clone(),
        _ => String::new(),
    }
}

#[node]
async fn judge(text: String, ctx: &Context) -> Result<u32, AgentError> {
    let refund = ctx.call::<refunds>(("Bob".into(), text)).await?;
    Ok(refund.cents)
}

workflow! {
    court(String) -> u32 { START => judge; }
}

#[tokio::test]
async fn code_calls_an_agent_as_a_child_and_gets_its_error() {
    let model = Scripted::new(|_| Err(ModelError::Rejected { message: "no".into() }));
    let engine = engine(&model);
    let failed = failure(engine.start::<court>("text".into()).await.unwrap().result().await);
    assert!(matches!(failed.error_as::<AgentError>(), Some(AgentError::Model(_))), "{failed}");
}

workflow! {
    office(String) -> String { START => boss; }
}

/// Leads.
///
/// You lead.
#[agent(tools(refunds, Tool::of::<orders>().approve()), name = "leader")]
async fn boss(text: String) -> String {
    text
}

#[tokio::test]
async fn resources_of_tools_are_missed_before_a_run_starts_with_the_path_of_the_tool() {
    let engine = Engine::builder().resource(Models::new(Scripted::text("ok"))).build().unwrap();
    let Err(StartError::MissingResources(missing)) = engine.start::<office>("text".into()).await.map(|_| ()) else {
        panic!("it starts without the archive")
    };
    assert_eq!(missing.0.len(), 1);
    assert!(missing.0[0].type_name.ends_with("Archive"));
    // Each node once, wherever it is a tool first.
    assert_eq!(missing.0[0].nodes, ["office/leader/refunds/orders"]);
}

#[tokio::test]
async fn a_tool_can_be_mocked_and_then_needs_no_resource() {
    let model = Scripted::turns([call("orders", json!({ "customer": "Ada" })), Message::assistant(r#"{"cents": 1}"#)]);
    let engine = Engine::builder()
        .resource(Models::default().with("clerk", model.clone()))
        .register::<desk>()
        .mock::<orders>(|customer, _| async move { Ok(vec![format!("nothing for {customer}")]) })
        .build()
        .unwrap();
    assert_eq!(engine.start::<desk>(mail()).await.unwrap().result().await.unwrap(), 1);
    assert_eq!(results(&model.requests()[1]), [r#"["nothing for Ada"]"#]);
}

#[test]
fn the_graph_has_the_tools_of_an_agent_and_theirs() {
    fn names(uses: &[GraphUse]) -> Vec<String> {
        uses.iter().flat_map(|used| [vec![used.name.clone()], names(&used.uses)].concat()).collect()
    }
    let graph = office::graph();
    let leader = graph.nodes.iter().find(|node| node.name == "leader").expect("it is in the graph");
    assert_eq!(leader.doc, "Leads.");
    assert_eq!(names(&leader.uses), ["refunds", "orders", "orders"]);
    assert_eq!(leader.uses[0].doc, "Decides on refunds.");
    let echo = &hall::graph().nodes[2];
    assert_eq!(names(&echo.uses), ["echoes", "echoes"], "one that uses itself is listed once more, and not for ever");
}
