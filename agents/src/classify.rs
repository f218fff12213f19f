//! The classifier: a model chooses the label, and the value goes through unchanged.

use std::fmt::{self, Display, Write};
use std::marker::PhantomData;

use graphweft::__::{Made, MaxSize, ResourceNeed};
use graphweft::{Context, Fault, Json, Node, Payload, Route};
use schemars::SchemaGenerator;
use serde_json::json;

use crate::agent::{Agent, is_retryable, needs_models, shown};
use crate::agent_error::{AgentError, ClassifierError};
use crate::json_payload::JsonPayload;

/// A classifier: a model chooses one of the variants of an enum for a value.
///
/// Each variant of `Out` has the value, an `In`, or nothing. The doc comments of the variants are what the model chooses by. It
/// chooses the label only: the value goes through unchanged. `#[derive(Route)]` has the compiler check that the graph has an arm
/// for each label.
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
/// let engine = Engine::builder().resource(Models::new(Scripted::text(r#"{"label": "Refund"}"#))).build()?;
/// let run = engine.start::<help_desk>("I want my money back".into()).await?;
/// assert_eq!(run.result().await?, "paid: I want my money back");
/// # Ok::<(), Box<dyn std::error::Error>>(()) }).unwrap();
/// ```
pub struct Classifier<In, Out> {
    agent: Agent<String, String>,
    labels: Result<Vec<Label>, ClassifierError>,
    types: PhantomData<fn(In) -> Out>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Label {
    name: String,
    /// Whether the variant has the value.
    has_value: bool,
    description: Option<String>,
}

impl<In: JsonPayload, Out: JsonPayload + Route> Classifier<In, Out> {
    /// A classifier with these instructions. The labels and their descriptions are added to them.
    ///
    /// If a variant has another payload than `In`, [`verify`](Self::verify) returns the reason, and the node fails with it before it
    /// calls a model: it is one expression in a `workflow!`, so it is no `Result`.
    pub fn new(instructions: impl Display) -> Self {
        let labels = labels_of::<In, Out>();
        let known = labels.as_deref().unwrap_or_default();
        let mut text = format!("{instructions}\n\nAnswer with the label that fits best, and nothing else:\n");
        for Label { name, description, .. } in known {
            let description = description.as_deref().map(|text| format!(": {text}")).unwrap_or_default();
            // Writing to a `String` does not fail.
            let _ = writeln!(text, "- {name}{description}");
        }
        let names: Vec<String> = known.iter().map(|label| label.name.clone()).collect();
        let schema = json!({
            "type": "object",
            "properties": { "label": { "type": "string", "enum": names } },
            "required": ["label"],
            "additionalProperties": false,
        });
        let check = move |answer: &String| match chosen(answer, &names) {
            Some(_) => Ok(()),
            None => Err(format!("it is none of the labels {}", names.join(", "))),
        };
        Classifier { agent: Agent::new(text).format(schema).check(check), labels, types: PhantomData }
    }

    /// Checks that each variant has the input or nothing, for a test or at the start of a program.
    ///
    /// # Errors
    /// See [`ClassifierError`].
    ///
    /// ```
    /// use graphweft::prelude::*;
    /// use graphweft_agents::{Classifier, ClassifierError};
    ///
    /// #[value]
    /// #[derive(Route)]
    /// enum Desk {
    ///     Refund(String),
    ///     Bug(u32),
    /// }
    ///
    /// let triage: Classifier<String, Desk> = Classifier::new("You sort mail.");
    /// let Err(ClassifierError::OtherPayload { variant, .. }) = triage.verify() else { panic!() };
    /// assert_eq!(variant, "Bug");
    /// ```
    pub fn verify(&self) -> Result<(), ClassifierError> {
        self.labels.clone().map(drop)
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

/// The label that an answer names: `{"label": "Refund"}`, or `Refund` alone.
fn chosen<'l>(answer: &str, labels: &'l [String]) -> Option<&'l String> {
    let json = serde_json::from_str::<Json>(answer.trim()).ok();
    let label = json.as_ref().and_then(|json| json.get("label").unwrap_or(json).as_str()).unwrap_or(answer);
    let label = label.trim().trim_matches(['"', '`', '.']);
    labels.iter().find(|name| name.eq_ignore_ascii_case(label))
}

/// The variants of `Out`, each checked against `In`.
fn labels_of<In: JsonPayload, Out: JsonPayload>() -> Result<Vec<Label>, ClassifierError> {
    // Of one generator, the schema of a type is the same wherever it is used.
    let mut generator = SchemaGenerator::default();
    let output = Out::json_schema(&mut generator).to_value();
    let input = generator.subschema_for::<In>().to_value();
    let description = |of: &Json| of.get("description").and_then(Json::as_str).map(str::to_owned);
    let named = |name: &Json, description: Option<String>| {
        Some(Label { name: name.as_str()?.to_owned(), has_value: false, description })
    };
    let short = |name: &'static str| name.rsplit("::").next().unwrap_or(name).to_owned();
    let (of_output, of_input) = (short(std::any::type_name::<Out>()), short(std::any::type_name::<In>()));
    let mut labels = Vec::new();
    let alternatives = output.get("oneOf").or_else(|| output.get("anyOf")).and_then(Json::as_array);
    for variant in alternatives.map_or(std::slice::from_ref(&output), Vec::as_slice) {
        if let Some(name) = variant.get("const") {
            labels.extend(named(name, description(variant)));
        } else if let Some(names) = variant.get("enum").and_then(Json::as_array) {
            let description = |_: &Json| if alternatives.is_some() { description(variant) } else { None };
            labels.extend(names.iter().filter_map(|name| named(name, description(name))));
        } else {
            let properties = variant.get("properties").and_then(Json::as_object);
            let only =
                properties.filter(|properties| properties.len() == 1).and_then(|properties| properties.iter().next());
            let Some((name, payload)) = only else {
                return Err(ClassifierError::NoVariants { output: of_output });
            };
            if !is_same(payload, &input) {
                return Err(ClassifierError::OtherPayload {
                    variant: name.clone(),
                    output: of_output,
                    input: of_input,
                });
            }
            labels.push(Label { name: name.clone(), has_value: true, description: description(variant) });
        }
    }
    if labels.is_empty() { Err(ClassifierError::NoVariants { output: of_output }) } else { Ok(labels) }
}

/// Whether two schemas are the same, apart from their descriptions.
fn is_same(one: &Json, other: &Json) -> bool {
    let bare = |schema: &Json| {
        let mut schema = schema.clone();
        if let Some(schema) = schema.as_object_mut() {
            schema.remove("description");
        }
        schema
    };
    bare(one) == bare(other)
}

impl<In: JsonPayload, Out: JsonPayload + Route> Node for Classifier<In, Out> {
    type Input = In;
    type Output = Out;
    type Error = AgentError;
    const MADE: Made<In, AgentError> =
        Made::of("classifier", "", &[], None, [Some(|error| vec![error.to_string()])], None);

    async fn run(&self, input: In, ctx: &Context) -> Result<Out, AgentError> {
        let labels = self.labels.as_ref().map_err(|error| AgentError::Classifier(error.clone()))?;
        let unwritable =
            |problem: String| Fault::Context { message: format!("the value of a classifier is lost: {problem}") };
        let text = shown(&input);
        let value = input.__to_json(MaxSize::DEFAULT).map_err(|error| unwritable(error.to_string()))?;
        drop(input);
        let answer = self.agent.run(text, ctx).await?;
        let names: Vec<String> = labels.iter().map(|label| label.name.clone()).collect();
        let name = chosen(&answer, &names).cloned().unwrap_or_default();
        let has_value = labels.iter().any(|label| label.has_value && label.name == name);
        let output = if has_value { json!({ name: value }) } else { Json::String(name) };
        Ok(Out::__from_json(&output).map_err(|error| unwritable(error.to_string()))?)
    }

    fn retry_when(&self, error: &AgentError) -> bool {
        is_retryable(error)
    }

    fn resources() -> Vec<ResourceNeed> {
        needs_models()
    }
}

impl<In, Out> fmt::Debug for Classifier<In, Out> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Classifier").field("labels", &self.labels).finish_non_exhaustive()
    }
}
