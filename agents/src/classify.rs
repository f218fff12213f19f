//! The classifier: a model chooses the label, and the value goes through unchanged.

use std::fmt::{self, Display, Write};
use std::iter;
use std::marker::PhantomData;

use graphweft::{Context, Fault, Json, Node, NodeFacts, NodeInfo, ResourceNeed, Route, RouteOf};
use serde_json::json;

use crate::agent::{Agent, facts, is_retryable, needs_models, shown};
use crate::agent_error::AgentError;
use crate::json_payload::JsonPayload;
use crate::output::fenced;

/// A classifier: a model chooses one of the variants of an enum for a value.
///
/// Each variant of `Out` has the value, an `In`, or nothing; another payload does not compile. The labels of the variants and their
/// doc comments are what the model chooses by. It chooses the label only: the value goes through unchanged. `#[derive(Route)]` has
/// the compiler check that the graph has an arm for each label.
///
/// ```
/// use graphweft::prelude::*;
/// use graphweft_agents::{Classifier, Models, Scripted};
///
/// #[value]
/// #[derive(Route)]
/// enum Desk {
///     /// The customer wants money back.
///     Refund(String),
///     /// Everything else.
///     Other(String),
/// }
///
/// #[node]
/// async fn pay(mail: String) -> String {
///     format!("paid: {mail}")
/// }
///
/// #[node]
/// async fn reply(mail: String) -> String {
///     format!("replied: {mail}")
/// }
///
/// workflow! {
///     pub help_desk(String) -> String {
///         let triage: Classifier<String, Desk> = Classifier::new("You sort the mail of a shop.");
///         START => triage => <refund: pay, other: reply>;
///         pay => END;
///         reply => END;
///     }
/// }
///
/// # graphweft::block_on(async {
/// let engine = Engine::builder().resource(Models::new(Scripted::text(r#"{"label": "refund"}"#))).build()?;
/// let run = engine.start::<help_desk>("I want my money back".into()).await?;
/// assert_eq!(run.result().await?, "paid: I want my money back");
/// # Ok::<(), Box<dyn std::error::Error>>(()) }).unwrap();
/// ```
#[must_use = "a classifier does nothing before it is a node of a graph"]
pub struct Classifier<In, Out> {
    agent: Agent<String, String>,
    types: PhantomData<fn(In) -> Out>,
}

// That `Out` is a `RouteOf<In>` is asked of the node alone, so that it is one error.
impl<In: JsonPayload, Out: JsonPayload + Route> Classifier<In, Out> {
    /// A classifier with these instructions. The labels and their descriptions are added to them.
    pub fn new(instructions: impl Display) -> Self {
        let mut text = format!("{instructions}\n\nAnswer with the label that fits best, and nothing else:\n");
        let docs = Out::DOCS.iter().copied().chain(iter::repeat(""));
        for (label, doc) in Out::LABELS.iter().zip(docs) {
            let description = if doc.is_empty() { String::new() } else { format!(": {doc}") };
            // Writing to a `String` does not fail.
            let _ = writeln!(text, "- {label}{description}");
        }
        let schema = json!({
            "type": "object",
            "properties": { "label": { "type": "string", "enum": Out::LABELS } },
            "required": ["label"],
            "additionalProperties": false,
        });
        let check = |answer: &String| match chosen(answer, Out::LABELS) {
            Some(_) => Ok(()),
            None => Err(format!("it is none of the labels {}", Out::LABELS.join(", "))),
        };
        Classifier { agent: Agent::new(text).format(schema).check(check), types: PhantomData }
    }

    /// Which of the engine's [`Models`](crate::Models) it uses.
    pub fn model(mut self, name: &str) -> Self {
        self.agent = self.agent.model(name);
        self
    }

    /// Changes the agent that chooses: its options, or the prompt made from the value's text.
    pub fn with_agent(mut self, change: impl FnOnce(Agent<String, String>) -> Agent<String, String>) -> Self {
        self.agent = change(self.agent);
        self
    }
}

/// The number of the label that an answer names: `{"label": "refund"}`, or `refund` alone, also in a fence.
fn chosen(answer: &str, labels: &[&str]) -> Option<usize> {
    let answer = fenced(answer).unwrap_or(answer);
    let json = serde_json::from_str::<Json>(answer.trim()).ok();
    let label = json.as_ref().and_then(|json| json.get("label").unwrap_or(json).as_str()).unwrap_or(answer);
    let label = label.trim().trim_matches(['"', '`', '.']);
    labels.iter().position(|known| known.eq_ignore_ascii_case(label))
}

impl<In: JsonPayload, Out: JsonPayload + RouteOf<In>> Node for Classifier<In, Out> {
    type Input = In;
    type Output = Out;
    type Error = AgentError;
    const FACTS: NodeFacts<In, AgentError> = facts("classifier");

    async fn run(&self, input: In, ctx: &Context) -> Result<Out, AgentError> {
        let answer = self.agent.run(shown(&input), ctx).await?;
        match chosen(&answer, Out::LABELS).and_then(|label| Out::at(label, input)) {
            Some(output) => Ok(output),
            // The agent has checked its answer: this is an enum without variants.
            None => Err(Fault::Context { message: "the enum of a classifier has no variants".to_owned() }.into()),
        }
    }

    fn retry_when(&self, error: &AgentError) -> bool {
        is_retryable(error)
    }

    fn resources(&self) -> Vec<ResourceNeed> {
        needs_models()
    }

    fn uses(&self) -> Vec<NodeInfo> {
        self.agent.uses()
    }
}

impl<In, Out> fmt::Debug for Classifier<In, Out> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Classifier").field("agent", &self.agent).finish_non_exhaustive()
    }
}
