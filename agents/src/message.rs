//! The messages of a conversation, and the reply of a model.

use std::ops::AddAssign;

use graphweft::Json;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A message of a conversation. The instructions are none of them: they are in the [`Request`](crate::Request).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Message {
    /// What the model is asked: the prompt, or the reason why its last output does not fit.
    User {
        /// The text.
        text: String,
    },
    /// What the model has replied.
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
}

/// A call of a tool, as the model asks for it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ToolCall {
    /// The provider's id of the call. Some providers send none, or one twice: it identifies nothing in the records.
    pub id: String,
    /// The name of the tool.
    pub name: String,
    /// The arguments, unchecked. The agent puts a text in place of those that nest more than 64 levels deep, since they could not
    /// be recorded. A tool does not take it, and the model gets that.
    pub arguments: Json,
}

/// A reply is recorded in some levels of its own, and a session in a few more; a record has at most 100.
const MAX_DEPTH: usize = 64;

impl Message {
    /// Makes every call one that can be recorded. Otherwise the reply would be paid, lost and asked for again.
    pub(crate) fn replace_deep_arguments(&mut self) {
        let Message::Assistant { calls, .. } = self else { return };
        for call in calls {
            if is_deeper(&call.arguments, MAX_DEPTH) {
                call.arguments = Json::String(format!("(they nest more than {MAX_DEPTH} levels deep)"));
            }
        }
    }
}

fn is_deeper(json: &Json, levels: usize) -> bool {
    match (json, levels.checked_sub(1)) {
        (Json::Array(items), Some(left)) => items.iter().any(|item| is_deeper(item, left)),
        (Json::Object(fields), Some(left)) => fields.values().any(|field| is_deeper(field, left)),
        (Json::Array(_) | Json::Object(_), None) => true,
        _ => false,
    }
}

/// A part of a reply that only its provider understands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OpaquePart {
    /// Who reads it, with the version of its format: `anthropic/1`. A [`ChatModel`](crate::ChatModel) ignores those of others.
    pub format: String,
    /// The part.
    pub data: Json,
}

/// The tokens of a model call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Usage {
    /// Tokens of the request.
    pub input: u64,
    /// Tokens of the reply.
    pub output: u64,
    /// Those of `input` that came from the provider's cache.
    #[serde(default)]
    pub cached: u64,
}

impl AddAssign for Usage {
    fn add_assign(&mut self, other: Usage) {
        self.input = self.input.saturating_add(other.input);
        self.output = self.output.saturating_add(other.output);
        self.cached = self.cached.saturating_add(other.cached);
    }
}

/// The reply of a model. This is what is recorded of a model call; the request is not, since it can be built again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
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
