//! The messages of a conversation, and the reply of a model.

use std::ops::AddAssign;

use graphweft::Json;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A message of a conversation. The instructions are none of them: they are in the [`Request`](crate::Request).
///
/// A transcript for people, of what an agent has seen:
///
/// ```
/// use graphweft_agents::Message;
///
/// fn line(message: &Message) -> String {
///     match message {
///         Message::User { text, .. } => format!("> {text}"),
///         Message::Assistant { text, calls, .. } if calls.is_empty() => text.clone(),
///         Message::Assistant { calls, .. } => calls.iter().map(|call| format!("({})", call.name)).collect(),
///         Message::Tool { name, content, .. } => format!("({name}: {content})"),
///         _ => "..".to_owned(),
///     }
/// }
///
/// let said = [Message::user("Where is my lamp?"), Message::assistant("On its way.")];
/// assert_eq!(said.iter().map(line).collect::<Vec<_>>(), ["> Where is my lamp?", "On its way."]);
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Message {
    /// What the model is asked: the prompt, or the reason why its last output does not fit.
    #[non_exhaustive]
    User {
        /// The text.
        text: String,
    },
    /// What the model has replied.
    #[non_exhaustive]
    Assistant {
        /// The text; empty if it only calls tools.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        text: String,
        /// The tools that it calls, in order.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        calls: Vec<ToolCall>,
        /// Parts that the provider gets back unchanged, such as signatures of its reasoning.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        opaque: Vec<OpaquePart>,
    },
    /// The result of a tool call.
    #[non_exhaustive]
    Tool {
        /// The id of the [`ToolCall`].
        call_id: String,
        /// The name of the tool.
        name: String,
        /// Its output, or the reason why there is none.
        content: String,
    },
}

impl Message {
    /// A message to the model.
    pub fn user(text: impl Into<String>) -> Self {
        Message::User { text: text.into() }
    }

    /// A text of the model.
    pub fn assistant(text: impl Into<String>) -> Self {
        Message::Assistant { text: text.into(), calls: Vec::new(), opaque: Vec::new() }
    }

    /// The result of the tool call with this id, for the model.
    ///
    /// ```
    /// use graphweft::json;
    /// use graphweft_agents::{Message, ToolCall};
    ///
    /// let call = ToolCall::new("call_1", "orders", json!({ "customer": "Ada" }));
    /// let conversation = [
    ///     Message::user("Where is my lamp?"),
    ///     Message::assistant("").with_calls([call]),
    ///     Message::tool("call_1", "orders", "order 7: a lamp"),
    /// ];
    /// assert!(matches!(&conversation[1], Message::Assistant { calls, .. } if calls[0].name == "orders"));
    /// ```
    pub fn tool(call_id: impl Into<String>, name: impl Into<String>, content: impl Into<String>) -> Self {
        Message::Tool { call_id: call_id.into(), name: name.into(), content: content.into() }
    }

    /// The same reply of a model, with these tool calls behind those that it has. Of no effect on another message.
    #[must_use]
    pub fn with_calls(mut self, more: impl IntoIterator<Item = ToolCall>) -> Self {
        if let Message::Assistant { calls, .. } = &mut self {
            calls.extend(more);
        }
        self
    }

    /// The same reply of a model, with these parts behind those that it has. Of no effect on another message.
    #[must_use]
    pub fn with_opaque(mut self, more: impl IntoIterator<Item = OpaquePart>) -> Self {
        if let Message::Assistant { opaque, .. } = &mut self {
            opaque.extend(more);
        }
        self
    }
}

/// A call of a tool, as the model asks for it.
///
/// An adapter makes it of what the provider sends:
///
/// ```
/// use graphweft::{Json, json};
/// use graphweft_agents::ToolCall;
///
/// fn read(sent: &Json) -> Option<ToolCall> {
///     let arguments = serde_json::from_str(sent["function"]["arguments"].as_str()?).ok()?;
///     let text = |value: &Json| value.as_str().map(str::to_owned);
///     Some(ToolCall::new(text(&sent["id"])?, text(&sent["function"]["name"])?, arguments))
/// }
///
/// let call = read(&json!({ "id": "call_1", "function": { "name": "orders", "arguments": r#"{"customer":"Ada"}"# } }));
/// assert_eq!(call.expect("it is one").arguments, json!({ "customer": "Ada" }));
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct ToolCall {
    /// The provider's id of the call. Some providers send none, or one twice: it identifies nothing in the records.
    pub id: String,
    /// The name of the tool.
    pub name: String,
    /// The arguments, unchecked. The agent puts a text in place of those that nest more than 64 levels deep, since they could not
    /// be recorded. A tool does not take it, and the model gets that.
    pub arguments: Json,
}

impl ToolCall {
    /// A call of the tool with this name.
    pub fn new(id: impl Into<String>, name: impl Into<String>, arguments: Json) -> Self {
        ToolCall { id: id.into(), name: name.into(), arguments }
    }
}

/// How many levels a recorded value has at most.
pub(crate) use graphweft::__limits::MAX_DEPTH as MAX_RECORDED;

/// A reply is recorded in some levels of its own, and a session in a few more.
const MAX_DEPTH: usize = 64;

/// What is recorded where arguments nest too deep.
pub(crate) fn too_deep() -> String {
    format!("(they nest more than {MAX_DEPTH} levels deep)")
}

impl Message {
    /// Makes every call one that can be recorded. Otherwise the reply would be paid, lost and asked for again.
    pub(crate) fn replace_deep_arguments(&mut self) {
        let Message::Assistant { calls, .. } = self else { return };
        for call in calls {
            if is_deeper(&call.arguments, MAX_DEPTH) {
                call.arguments = Json::String(too_deep());
            }
        }
    }
}

/// Whether a value nests more than so many levels deep.
pub(crate) fn is_deeper(json: &Json, levels: usize) -> bool {
    match (json, levels.checked_sub(1)) {
        (Json::Array(items), Some(left)) => items.iter().any(|item| is_deeper(item, left)),
        (Json::Object(fields), Some(left)) => fields.values().any(|field| is_deeper(field, left)),
        (Json::Array(_) | Json::Object(_), None) => true,
        _ => false,
    }
}

/// A part of a reply that only its provider understands.
///
/// An adapter sends its own parts back, and leaves out those of another provider, with which the run may have begun:
///
/// ```
/// use graphweft::json;
/// use graphweft_agents::{Message, OpaquePart};
///
/// fn mine(message: &Message) -> Vec<&OpaquePart> {
///     let Message::Assistant { opaque, .. } = message else { return Vec::new() };
///     opaque.iter().filter(|part| part.format == "parrot/1").collect()
/// }
///
/// let part = |format: &str| OpaquePart::new(format, json!({ "signature": "x" }));
/// let reply = Message::assistant("Hello").with_opaque([part("parrot/1"), part("other/3")]);
/// assert_eq!(mine(&reply).len(), 1);
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct OpaquePart {
    /// Who reads it, with the version of its format: `anthropic/1`. A [`ChatModel`](crate::ChatModel) ignores those of others.
    pub format: String,
    /// The part.
    pub data: Json,
}

impl OpaquePart {
    /// A part that an adapter which knows this format reads.
    pub fn new(format: impl Into<String>, data: Json) -> Self {
        OpaquePart { format: format.into(), data }
    }
}

/// The tokens of a model call.
///
/// ```
/// use graphweft_agents::Usage;
///
/// /// In millionths of a cent; what comes from the cache costs a tenth.
/// fn price(usage: Usage) -> u64 {
///     (usage.input - usage.cached) * 300 + usage.cached * 30 + usage.output * 1500
/// }
///
/// let mut total = Usage::default();
/// for call in [Usage::new(100, 10), Usage::new(120, 5).cached(100)] {
///     total += call;
/// }
/// assert_eq!(price(total), 120 * 300 + 100 * 30 + 15 * 1500);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct Usage {
    /// Tokens of the request.
    pub input: u64,
    /// Tokens of the reply.
    pub output: u64,
    /// Those of `input` that came from the provider's cache.
    #[serde(default)]
    pub cached: u64,
}

impl Usage {
    /// So many tokens of the request and of the reply; none from a cache.
    pub const fn new(input: u64, output: u64) -> Self {
        Usage { input, output, cached: 0 }
    }

    /// How many of those of the request came from the provider's cache.
    #[must_use]
    pub const fn cached(mut self, tokens: u64) -> Self {
        self.cached = tokens;
        self
    }
}

impl AddAssign for Usage {
    fn add_assign(&mut self, other: Usage) {
        self.input = self.input.saturating_add(other.input);
        self.output = self.output.saturating_add(other.output);
        self.cached = self.cached.saturating_add(other.cached);
    }
}

/// The reply of a model. This is what is recorded of a model call; the request is not, since it can be built again.
///
/// A test of what an agent does with a reply that was cut off:
///
/// ```
/// use graphweft::prelude::*;
/// use graphweft_agents::{Agent, AgentError, Message, Models, Scripted};
///
/// workflow! {
///     pub write(String) -> String {
///         let writer: Agent<String, String> = Agent::new("You write poems.");
///         START => writer;
///     }
/// }
///
/// # graphweft::block_on(async {
/// let model = Scripted::replies(|request| Ok(Scripted::reply(request, Message::assistant("Roses are")).cut_off()));
/// let engine = Engine::builder().resource(Models::new(model)).build()?;
/// let Outcome::Failed(failure) = engine.start::<write>("roses".into()).await?.outcome().await? else { panic!("it is no poem") };
/// assert_eq!(failure.error_as(), Some(AgentError::CutOff { turn: 1, tokens: 5 }));
/// # Ok::<(), Box<dyn std::error::Error>>(()) }).unwrap();
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct Reply {
    /// The message, [`Message::Assistant`].
    pub message: Message,
    /// The model that has replied, as its provider names it.
    pub model: String,
    /// What it has cost.
    pub usage: Usage,
    /// Whether the reply ends at the limit of tokens.
    #[serde(default)]
    pub is_cut_off: bool,
}

impl Reply {
    /// A whole reply of the model that its provider calls so. What it has cost is not known yet.
    ///
    /// ```
    /// use graphweft_agents::{Message, Reply, Usage};
    ///
    /// let reply = Reply::new(Message::assistant("Good day."), "parrot-2").usage(Usage::new(12, 3));
    /// assert!(reply.usage.output == 3 && !reply.is_cut_off);
    /// ```
    pub fn new(message: Message, model: impl Into<String>) -> Self {
        Reply { message, model: model.into(), usage: Usage::default(), is_cut_off: false }
    }

    /// What it has cost.
    #[must_use]
    pub fn usage(mut self, usage: Usage) -> Self {
        self.usage = usage;
        self
    }

    /// It ends at the limit of tokens.
    #[must_use]
    pub fn cut_off(mut self) -> Self {
        self.is_cut_off = true;
        self
    }
}
