//! Models: what they are asked, and the names under which an engine knows them.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use futures::future::BoxFuture;
use graphweft::Json;
use serde::Serialize;

use crate::budget::Budget;
use crate::message::{Message, Reply};
use crate::model_error::ModelError;

/// A request to a model. Cheap to clone: the long parts are shared.
///
/// A test looks at what a model was asked:
///
/// ```
/// use graphweft::prelude::*;
/// use graphweft_agents::{Agent, Message, Models, Request, Scripted};
///
/// workflow! {
///     pub chat(String) -> String {
///         let agent: Agent<String, String> = Agent::new("You are polite.");
///         START => agent;
///     }
/// }
///
/// # graphweft::block_on(async {
/// let model = Scripted::text("Good day.");
/// let engine = Engine::builder().resource(Models::new(model.clone())).build()?;
/// engine.start::<chat>("Hi".into()).await?.result().await?;
/// let request: Request = model.requests().remove(0);
/// assert!(request.instructions.contains("You are polite."));
/// assert_eq!(*request.messages, [Message::user("Hi")]);
/// assert!(request.tools.is_empty() && request.format.is_none());
/// # Ok::<(), Box<dyn std::error::Error>>(()) }).unwrap();
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Request {
    /// The instructions, also called the system prompt.
    pub instructions: Arc<str>,
    /// The conversation.
    pub messages: Arc<Vec<Message>>,
    /// The tools that the model may call.
    pub tools: Arc<[ToolSpec]>,
    /// The format of the reply; `None` for free text. Beside tools, only the corrections of an output have one: the reply is a call of a
    /// tool or has this format. An adapter whose provider does not take both leaves the format out, since the schema is in the messages too.
    pub format: Option<Format>,
    /// Options of the model.
    pub options: ModelOptions,
}

impl Request {
    /// A request without tools, for free text. The other fields are set one by one.
    ///
    /// A test of an adapter:
    ///
    /// ```
    /// use graphweft::json;
    /// use graphweft_agents::{Format, Message, Request};
    ///
    /// let mut request = Request::new("You are polite.", vec![Message::user("Hi")]);
    /// request.format = Some(Format::new("answer", json!({ "type": "object" })));
    /// assert_eq!((request.messages.len(), request.tools.len()), (1, 0));
    /// ```
    pub fn new(instructions: impl Into<Arc<str>>, messages: Vec<Message>) -> Self {
        Request {
            instructions: instructions.into(),
            messages: Arc::new(messages),
            tools: Arc::from([]),
            format: None,
            options: ModelOptions::default(),
        }
    }
}

/// What a model knows of a tool.
///
/// What a model knows of a function:
///
/// ```
/// use graphweft::prelude::*;
/// use graphweft_agents::Tool;
///
/// /// Looks up what a customer has bought.
/// #[node]
/// async fn orders(customer: String) -> Result<Vec<String>, String> { Ok(vec![customer]) }
///
/// let tool: Tool = Tool::of::<orders>().into();
/// let spec = tool.spec();
/// assert_eq!((&*spec.name, &*spec.description), ("orders", "Looks up what a customer has bought."));
/// assert_eq!(spec.parameters["properties"]["customer"]["type"], "string");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct ToolSpec {
    /// The name by which it is called.
    pub name: String,
    /// What it does.
    pub description: String,
    /// The JSON Schema of its arguments: an object.
    pub parameters: Json,
}

impl ToolSpec {
    /// A tool with this name.
    pub fn new(name: impl Into<String>, description: impl Into<String>, parameters: Json) -> Self {
        ToolSpec { name: name.into(), description: description.into(), parameters }
    }
}

/// The format of a reply.
///
/// An adapter passes it on, under the name that its provider wants:
///
/// ```
/// use graphweft::{Json, json};
/// use graphweft_agents::Format;
///
/// fn response_format(format: &Format) -> Json {
///     json!({ "type": "json_schema", "json_schema": { "name": format.name, "schema": format.schema, "strict": true } })
/// }
///
/// let format = Format::new("answer", json!({ "type": "object" }));
/// assert_eq!(response_format(&format)["json_schema"]["name"], "answer");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Format {
    /// A name for it, which some providers want.
    pub name: String,
    /// Its JSON Schema: an object.
    pub schema: Json,
}

impl Format {
    /// A format with this JSON Schema.
    pub fn new(name: impl Into<String>, schema: Json) -> Self {
        Format { name: name.into(), schema }
    }
}

/// Options of a model call.
///
/// An adapter for a provider that wants a limit of tokens in each request has a default of its own:
///
/// ```
/// use graphweft::{Json, json};
/// use graphweft_agents::ModelOptions;
///
/// fn body(options: ModelOptions) -> Json {
///     let mut body = json!({ "max_tokens": options.max_tokens.unwrap_or(4096) });
///     if let Some(temperature) = options.temperature {
///         body["temperature"] = json!(temperature);
///     }
///     body
/// }
///
/// assert_eq!(body(ModelOptions::default()), json!({ "max_tokens": 4096 }));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct ModelOptions {
    /// The temperature; `None` for the provider's default.
    pub temperature: Option<f64>,
    /// The longest reply, in tokens; `None` for the provider's default. An adapter of a provider that wants one sends that of the model.
    pub max_tokens: Option<u32>,
}

/// A piece of a reply, as it arrives. It is sent to the subscribers of the run's events and not recorded.
///
/// A page that shows a reply as it arrives reads it from the [progress](graphweft::EventKind::Progress) of the run, where it is JSON:
///
/// ```
/// use graphweft::Json;
/// use graphweft_agents::Delta;
///
/// /// The text, and nothing of what the model thinks.
/// fn piece(progress: &Json) -> Option<&str> {
///     progress["text"].as_str()
/// }
///
/// assert_eq!(piece(&serde_json::to_value(Delta::Text("Good ".into()))?), Some("Good "));
/// assert_eq!(piece(&serde_json::to_value(Delta::Reasoning("Be polite.".into()))?), None);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Delta {
    /// A piece of the text.
    Text(String),
    /// A piece of the reasoning.
    Reasoning(String),
}

/// A model that replies to requests: an adapter to a provider.
///
/// ```
/// use futures::future::BoxFuture;
/// use graphweft_agents::{ChatModel, Delta, Message, ModelError, Reply, Request, Usage};
///
/// /// Repeats the last message.
/// struct Parrot;
///
/// impl ChatModel for Parrot {
///     fn name(&self) -> &str {
///         "parrot"
///     }
///
///     fn chat<'a>(
///         &'a self,
///         request: &'a Request,
///         show: &'a (dyn Fn(Delta) + Send + Sync),
///     ) -> BoxFuture<'a, Result<Reply, ModelError>> {
///         Box::pin(async move {
///             let Some(Message::User { text, .. }) = request.messages.last() else {
///                 return Err(ModelError::Rejected { message: "there is nothing to repeat".to_owned() });
///             };
///             show(Delta::Text(text.clone()));
///             let usage = Usage::new(text.len() as u64, text.len() as u64);
///             Ok(Reply::new(Message::assistant(text), "parrot").usage(usage))
///         })
///     }
/// }
/// ```
pub trait ChatModel: Send + Sync + 'static {
    /// The name for traces: `claude-sonnet-5`.
    fn name(&self) -> &str;

    /// Replies to a request. `show` gets the pieces of the reply as they arrive.
    ///
    /// # Errors
    /// Passing ones ([`ModelError::is_passing`]) are retried by the agent, so an adapter does not retry.
    ///
    /// The future is dropped if the run is cancelled or the time limit has passed; that has to end the request.
    fn chat<'a>(
        &'a self,
        request: &'a Request,
        show: &'a (dyn Fn(Delta) + Send + Sync),
    ) -> BoxFuture<'a, Result<Reply, ModelError>>;
}

/// The models of an engine, by name: a resource of it, `Engine::builder().resource(models)`.
///
/// An agent uses the one that is called `default`, unless it names another ([`Agent::model`](crate::Agent::model)).
///
/// ```
/// use graphweft_agents::{Models, Scripted};
///
/// let models = Models::new(Scripted::text("a long answer")).with("small", Scripted::text("short"));
/// assert_eq!(models.names().collect::<Vec<_>>(), ["default", "small"]);
/// ```
#[derive(Clone, Default)]
#[must_use = "models are of no use before they are a resource of an engine"]
pub struct Models {
    by_name: BTreeMap<String, Arc<dyn ChatModel>>,
    run_budget: Option<Budget>,
}

impl Models {
    /// The name of the model of agents that name none.
    pub const DEFAULT: &'static str = "default";

    /// A model for all agents that name none.
    pub fn new(default: impl ChatModel) -> Self {
        Models::default().with(Models::DEFAULT, default)
    }

    /// Adds a model, or replaces the one of this name.
    pub fn with(mut self, name: impl Into<String>, model: impl ChatModel) -> Self {
        self.by_name.insert(name.into(), Arc::new(model));
        self
    }

    /// How much each run of the engine may spend, with all its agents. By default there is no limit.
    pub fn run_budget(mut self, budget: Budget) -> Self {
        self.run_budget = Some(budget);
        self
    }

    pub(crate) fn budget_of_runs(&self) -> Option<Budget> {
        self.run_budget
    }

    /// The model of this name.
    pub fn get(&self, name: &str) -> Option<&Arc<dyn ChatModel>> {
        self.by_name.get(name)
    }

    /// All names, sorted.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.by_name.keys().map(String::as_str)
    }
}

impl fmt::Debug for Models {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.by_name.iter().map(|(name, model)| (name, model.name()))).finish()
    }
}
