//! Tools for a model that knows none.

use std::fmt::{self, Write};
use std::sync::Arc;

use futures::future::BoxFuture;
use graphweft::{Json, schema_part};
use serde_json::{Map, json};

use crate::message::{Message, Reply, ToolCall};
use crate::model::{ChatModel, Delta, Format, Request, ToolSpec};
use crate::model_error::ModelError;
use crate::plain_text::in_plain_text;

/// Lets a model without tools call them: its replies are held to a schema, in which each tool is one alternative.
///
/// It is for small local models whose server supports a JSON Schema as the format of the reply. A request with tools becomes one
/// with a format, `{"tool": .., "arguments": ..}` or `{"answer": ".."}`, and the reply is read back as a [`ToolCall`] or a text.
/// Calls and results in the conversation become plain text.
///
/// Small models call for ever if they are free to, and never if they are free to answer at once. So the first reply to a message of
/// the user is a call, and after its result comes the answer. [`max_calls`](Self::max_calls) allows more of them. A request without
/// tools, or with a format of its own as that of a correction, passes with that and without tools.
///
/// ```
/// use graphweft::prelude::*;
/// use graphweft_agents::{Agent, Constrained, Models, Scripted, Tool};
///
/// /// Says what the weather is in a city.
/// #[node]
/// async fn weather(city: String) -> String {
///     format!("rain in {city}")
/// }
///
/// workflow! {
///     forecast(String) -> String {
///         let helper: Agent<String, String> = Agent::new("You help.").tool(Tool::of::<weather>());
///         START => helper;
///     }
/// }
///
/// # graphweft::block_on(async {
/// // A model that only completes JSON. With the feature `genai`: `GenaiModel::new("ollama::smollm2")?`.
/// let plain = Scripted::turns([
///     graphweft_agents::Message::assistant(r#"{"tool": "weather", "arguments": {"city": "Paris"}}"#),
///     graphweft_agents::Message::assistant(r#"{"answer": "Take an umbrella."}"#),
/// ]);
/// let engine = Engine::builder().resource(Models::new(Constrained::new(plain.clone()))).build()?;
/// let run = engine.start::<forecast>("How is Paris?".into()).await?;
/// assert_eq!(run.result().await?, "Take an umbrella.");
/// assert!(plain.requests().iter().all(|request| request.tools.is_empty()));
/// # Ok::<(), Box<dyn std::error::Error>>(()) }).unwrap();
/// ```
#[derive(Clone)]
#[must_use = "a model does nothing before it is one of `Models`"]
pub struct Constrained<M> {
    model: M,
    max_calls: usize,
}

impl<M: ChatModel> Constrained<M> {
    /// Wraps a model. It calls one tool for each message of the user.
    pub fn new(model: M) -> Self {
        Constrained { model, max_calls: 1 }
    }

    /// How many tools it calls at most, one after another, before it has to answer. From the second on it may answer instead.
    pub fn max_calls(mut self, calls: usize) -> Self {
        self.max_calls = calls.max(1);
        self
    }

    /// The steps that the model may take now.
    fn steps(&self, request: &Request) -> Vec<Step> {
        let is_user = |message: &Message| matches!(message, Message::User { .. });
        let asked = request.messages.iter().rposition(is_user).map_or(0, |at| at + 1);
        let made = request.messages[asked..].iter().filter(|it| matches!(it, Message::Tool { .. })).count();
        let mut steps = Vec::new();
        if made < self.max_calls {
            steps.extend(request.tools.iter().cloned().map(Step::Call));
        }
        if made > 0 {
            steps.push(Step::Answer);
        }
        steps
    }
}

/// What a reply may be.
enum Step {
    Call(ToolSpec),
    Answer,
}

impl<M: ChatModel> ChatModel for Constrained<M> {
    fn name(&self) -> &str {
        self.model.name()
    }

    fn chat<'a>(
        &'a self,
        request: &'a Request,
        show: &'a (dyn Fn(Delta) + Send + Sync),
    ) -> BoxFuture<'a, Result<Reply, ModelError>> {
        Box::pin(async move {
            let messages = Arc::new(in_plain_text(&request.messages));
            // With a choice, a small model would call a tool again in place of a correction.
            if request.tools.is_empty() || request.format.is_some() {
                return self.model.chat(&Request { messages, tools: Arc::default(), ..request.clone() }, show).await;
            }
            let steps = self.steps(request);
            let constrained = Request {
                instructions: instructions(&request.instructions, &steps).into(),
                messages,
                tools: Arc::default(),
                format: Some(Format { name: "step".to_owned(), schema: schema_of(&steps) }),
                options: request.options,
            };
            // The pieces of the text are pieces of JSON.
            let show_reasoning = |delta| match delta {
                Delta::Text(_) => {}
                Delta::Reasoning(_) => show(delta),
            };
            let mut reply = self.model.chat(&constrained, &show_reasoning).await?;
            read_step(&mut reply.message, request.messages.len(), show);
            Ok(reply)
        })
    }
}

/// Reads a step out of the text. What is none stays as it is. `turn` makes its id another one than those before.
fn read_step(message: &mut Message, turn: usize, show: &dyn Fn(Delta)) {
    let Message::Assistant { text, calls, .. } = message else { return };
    let Ok(Json::Object(mut step)) = serde_json::from_str::<Json>(text.trim()) else { return };
    match (step.remove("tool"), step.remove("answer")) {
        (Some(Json::String(name)), None) => {
            let arguments = step.remove("arguments").unwrap_or_default();
            calls.push(ToolCall { id: format!("call-{turn}"), name, arguments });
            text.clear();
        }
        (None, Some(Json::String(answer))) => {
            show(Delta::Text(answer.clone()));
            *text = answer;
        }
        _ => {}
    }
}

fn instructions(instructions: &str, steps: &[Step]) -> String {
    let mut all = instructions.to_owned();
    for step in steps {
        let Step::Call(tool) = step else { continue };
        // The description of the schema is not in what a server makes of it for the model.
        let _ = write!(all, "\nTool `{}`: {}", tool.name, tool.description);
    }
    all
}

/// One alternative for each step.
fn schema_of(steps: &[Step]) -> Json {
    let mut definitions = Map::new();
    let mut ways: Vec<Json> = Vec::new();
    for step in steps {
        let (properties, required) = match step {
            Step::Call(tool) => {
                let arguments = hoisted(tool, &mut definitions);
                (json!({ "tool": { "const": tool.name }, "arguments": arguments }), json!(["tool", "arguments"]))
            }
            Step::Answer => (json!({ "answer": { "type": "string" } }), json!(["answer"])),
        };
        ways.push(json!({
            "type": "object",
            "properties": properties,
            "required": required,
            "additionalProperties": false,
        }));
    }
    let mut schema = if ways.len() == 1 { ways.remove(0) } else { json!({ "anyOf": ways }) };
    if !definitions.is_empty() {
        schema["$defs"] = Json::Object(definitions);
    }
    schema
}

/// The schema of a tool's arguments, whose definitions move to the root: references begin there. Two tools may use one name for
/// two types, so the tool's name is put before it.
fn hoisted(tool: &ToolSpec, definitions: &mut Map<String, Json>) -> Json {
    let (mut schema, own) = schema_part(tool.parameters.clone(), &tool.name);
    rename_references(&mut schema, &tool.name);
    for (name, mut definition) in own {
        rename_references(&mut definition, &tool.name);
        definitions.insert(format!("{}.{name}", tool.name), definition);
    }
    schema
}

fn rename_references(schema: &mut Json, tool: &str) {
    match schema {
        Json::Object(object) => {
            for (key, value) in object {
                match value {
                    Json::String(reference) if key == "$ref" => {
                        if let Some(name) = reference.strip_prefix("#/$defs/") {
                            *reference = format!("#/$defs/{tool}.{name}");
                        }
                    }
                    value => rename_references(value, tool),
                }
            }
        }
        Json::Array(items) => items.iter_mut().for_each(|item| rename_references(item, tool)),
        _ => {}
    }
}

impl<M: ChatModel> fmt::Debug for Constrained<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Constrained { model, max_calls } = self;
        f.debug_struct("Constrained").field("model", &model.name()).field("max_calls", max_calls).finish()
    }
}
