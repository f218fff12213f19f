//! What is recorded of a model call.
//!
//! Readers that do not know this crate, such as the inspector, find the conversations of a run by what is recorded. This is a format:
//!
//! | where | what |
//! | --- | --- |
//! | the output of a child, `desk/agent/model:2` | `{"gen_ai": "chat", "asked": [..], "message": {"assistant": {"text", "calls"}}, "model", "usage", "is_cut_off"}`: the reply of turn 2 |
//! | the error of such a child that has failed for good | `{"gen_ai": "chat", "asked": [..], "error": ..}`; not of a fault, such as a time limit |
//! | the child of the same node with the key `2.0`, `desk/agent/orders:2.0` | the first of the `calls` of turn 2 |
//! | the output of that child | the result for the model; `{"gen_ai.output": ..}` or `{"gen_ai.refused": "why"}` if a person was asked |
//! | the output of the step `desk/agent/gen_ai.error:2.0` | the error of that call, if it had one, once the model has acted on it |
//!
//! A call without such a child was not made: there is no such tool, or it does not take the arguments.

use std::io::{self, Write};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::message::{Message, Reply, Usage};
use crate::model::Request;

/// How many bytes of each text that a model was asked are recorded.
const ASKED: usize = 4096;

/// A model call as it is recorded: the reply, and what was new in the request.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct ModelCall {
    gen_ai: Operation,
    /// The beginnings of the texts, for readers of the record.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    asked: Vec<String>,
    pub(crate) message: Message,
    pub(crate) model: String,
    pub(crate) usage: Usage,
    #[serde(default)]
    pub(crate) is_cut_off: bool,
}

/// A model call that has failed, as it is recorded.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema, thiserror::Error)]
#[error("{error}")]
pub(crate) struct FailedCall<E: std::fmt::Display> {
    gen_ai: Operation,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    asked: Vec<String>,
    pub(crate) error: E,
}

/// By this, a record is known as that of a model call. The word is that of OpenTelemetry's `gen_ai.operation.name`.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Operation {
    Chat,
}

impl ModelCall {
    pub(crate) fn new(request: &Request, reply: Reply) -> Self {
        let asked = asked(request);
        let Reply { message, model, usage, is_cut_off } = reply;
        ModelCall { gen_ai: Operation::Chat, asked, message, model, usage, is_cut_off }
    }

    /// How many bytes it takes as JSON.
    pub(crate) fn size(&self) -> usize {
        let mut size = Size(0);
        // The writer does not fail, and this has no keys but texts.
        let _written = serde_json::to_writer(&mut size, self);
        size.0
    }
}

impl<E: std::fmt::Display> FailedCall<E> {
    pub(crate) fn new(request: &Request, error: E) -> Self {
        FailedCall { gen_ai: Operation::Chat, asked: asked(request), error }
    }
}

/// What is new in a request.
fn asked(request: &Request) -> Vec<String> {
    let news = request.messages.iter().rev().map_while(|message| match message {
        Message::User { text } => Some(beginning(text)),
        Message::Assistant { .. } | Message::Tool { .. } => None,
    });
    let mut asked: Vec<String> = news.collect();
    asked.reverse();
    asked
}

fn beginning(text: &str) -> String {
    if text.len() <= ASKED { text.to_owned() } else { format!("{}…", &text[..text.floor_char_boundary(ASKED)]) }
}

struct Size(usize);

impl Write for Size {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 += bytes.len();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
