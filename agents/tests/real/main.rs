//! Agents on a real model of 135 million parameters. Only shapes are tested: what it says is its own affair. Run them by
//! `with_model.sh`, which starts the model and sets the variable `GRAPHWEFT_SMOLLM2`; without the variable they do nothing, and with
//! it they fail if the model is not there.

use graphweft::prelude::*;
use graphweft_agents::{Agent, AgentError, Classifier, Constrained, GenaiModel, ModelError, Models, Tool, spent};
use graphweft_tests::{paths, records};

/// The model, if there has to be one.
fn model() -> Option<GenaiModel> {
    let url = std::env::var("GRAPHWEFT_SMOLLM2").ok()?;
    Some(GenaiModel::new("openai::smollm2").unwrap().endpoint(url))
}

fn engine(models: Models) -> Engine {
    Engine::builder().resource(models).build().unwrap()
}

#[value]
#[derive(Debug)]
struct Ticket {
    text: String,
}

#[value]
#[derive(Route)]
enum Desk {
    /// The customer wants money back.
    Refund(Ticket),
    /// Something does not work as it should.
    Bug(Ticket),
    /// Everything else.
    Other(Ticket),
}

#[node]
async fn refund(ticket: Ticket) -> String {
    format!("refund {}", ticket.text)
}

#[node]
async fn file(ticket: Ticket) -> String {
    format!("bug {}", ticket.text)
}

#[node]
async fn thank(ticket: Ticket) -> String {
    format!("other {}", ticket.text)
}

workflow! {
    desk(Ticket) -> String {
        let triage: Classifier<Ticket, Desk> = Classifier::new("You sort the mail of a shop.");
        START => triage => <refund: refund, bug: file, other: thank>;
        refund => END;
        file => END;
        thank => END;
    }
}

#[tokio::test]
async fn a_classifier_gives_one_of_its_labels_at_once() {
    let Some(model) = model() else { return };
    let engine = engine(Models::new(model));
    let text = "I want my money back.";
    let run = engine.start::<desk>(Ticket { text: text.into() }).await.unwrap();
    let routed = run.result().await.unwrap();
    let (label, ticket) = routed.split_once(' ').unwrap();
    assert!(["refund", "bug", "other"].contains(&label), "{routed}");
    assert_eq!(ticket, text);
    let spent = spent(&engine.history(run.id()).await.unwrap().unwrap());
    assert_eq!(spent["smollm2"].calls, 1, "the format holds it to a label");
    assert!(spent["smollm2"].usage.input > 0 && spent["smollm2"].usage.output > 0, "{spent:?}");
}

/// Says what the weather is in a city.
#[node]
async fn weather(city: String) -> String {
    format!("It rains in {city}.")
}

fn helper() -> Agent<String, String> {
    Agent::new("You help.").tool(Tool::of::<weather>()).temperature(0.0).max_tokens(80).max_turns(4)
}

workflow! {
    help(String) -> String {
        let helper: Agent<String, String> = helper();
        START => helper;
    }
}

#[tokio::test]
async fn a_model_without_tools_calls_one_and_then_answers() {
    let Some(model) = model() else { return };
    let engine = engine(Models::new(Constrained::new(model)));
    let run = engine.start::<help>("What is the weather in Paris?".into()).await.unwrap();
    let result = run.result().await;
    let history = records(&run).await;
    let completed = paths(&history, |kind| matches!(kind, EventKind::NodeCompleted { .. }));
    assert!(completed.contains(&"help/helper/weather:1.0".to_owned()), "it has called the tool: {completed:?}");
    match result {
        Ok(answer) => assert!(!answer.is_empty()),
        // It may talk to its limit.
        Err(error) => assert!(matches!(cause(&error), AgentError::CutOff { turn: 2, .. }), "{error}"),
    }
}

/// The error of the agent that a run has failed by.
fn cause(error: &RunError) -> AgentError {
    match error {
        RunError::Failed(failure) => failure.error_as().unwrap_or_else(|| panic!("no error of an agent: {failure}")),
        other => panic!("no failure: {other}"),
    }
}

fn talker() -> Agent<String, String> {
    Agent::new("You talk.").temperature(0.0).max_tokens(12)
}

workflow! {
    talk(String) -> String {
        let talker: Agent<String, String> = talker();
        START => talker;
    }
}

#[tokio::test]
async fn a_reply_arrives_in_pieces_and_ends_at_its_limit() {
    let Some(model) = model() else { return };
    let engine = engine(Models::new(model));
    let run = engine.start::<talk>("Tell me a long story about a fox.".into()).await.unwrap();
    let mut events = run.events();
    let mut pieces = Vec::new();
    while let Some(event) = events.next().await {
        if let EventKind::Progress { data, .. } = event.kind {
            pieces.push(data["text"].as_str().expect("a piece of the text").to_owned());
        }
    }
    assert!(pieces.len() > 3, "{pieces:?}");
    let error = run.result().await.unwrap_err();
    let AgentError::CutOff { turn: 1, tokens } = cause(&error) else { panic!("{error}") };
    assert!((1..=12).contains(&tokens), "{tokens}");
}

#[value]
#[derive(Debug)]
struct Sum {
    left: u8,
    right: u8,
}

/// Has a check that no output passes.
fn reckoner() -> Agent<String, Sum> {
    let check = |sum: &Sum| Err(format!("{} and {} are not what was meant", sum.left, sum.right));
    Agent::new("You read two numbers.").temperature(0.0).max_tokens(60).repairs(1).check(check)
}

workflow! {
    reckon(String) -> Sum {
        let reckoner: Agent<String, Sum> = reckoner();
        START => reckoner;
    }
}

#[tokio::test]
async fn what_it_does_not_manage_ends_as_a_typed_error_after_bounded_repairs() {
    let Some(model) = model() else { return };
    let engine = engine(Models::new(model));
    let run = engine.start::<reckon>("17 and 25".into()).await.unwrap();
    let error = run.result().await.unwrap_err();
    match cause(&error) {
        AgentError::Misfit { tries: 2, misfit } => {
            assert!(misfit.to_string().ends_with("not what was meant"), "{misfit}")
        }
        AgentError::CutOff { .. } => {}
        _ => panic!("{error}"),
    }
    let spent = spent(&engine.history(run.id()).await.unwrap().unwrap());
    assert!(spent["smollm2"].calls <= 2, "{spent:?}");
}

#[tokio::test]
async fn a_conversation_that_is_longer_than_its_context_is_refused_as_such() {
    let Some(model) = model() else { return };
    let engine = engine(Models::new(model));
    let run = engine.start::<talk>("word ".repeat(4_000)).await.unwrap();
    let error = run.result().await.unwrap_err();
    assert!(matches!(cause(&error), AgentError::Model(ModelError::TooLong { .. })), "{error}");
}
