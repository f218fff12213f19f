//! The values of one thing of a run.

use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

use super::questions::Question;

/// The values of one thing of a run. What it does not have is left out.
#[derive(Clone, Debug, Default, Serialize, ToSchema)]
pub struct NodeValues {
    /// Its path.
    pub path: String,
    /// The input of its last start. Missing for a step, which has none, and for what has not started.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input: Option<Given>,
    /// Why the input is not known: the workflow is not registered with this server, or has changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input_unknown: Option<String>,
    /// Its output, and for a question the answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output: Option<Returned>,
    /// Its attempts, oldest first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub attempts: Vec<Attempt>,
    /// Its writes to the state of the run.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub state: Vec<Value>,
    /// Its messages.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub messages: Vec<Message>,
    /// Its notes.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<Note>,
    /// The question.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub question: Option<Question>,
}

/// An input.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct Given {
    /// The value.
    pub value: Value,
}

/// What a thing has returned.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct Returned {
    /// The number of the event.
    pub seq: u64,
    /// The value.
    pub value: Value,
    /// The arm that it took.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// For an answer: who gave it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// For an answer: a comment on it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub comment: Option<String>,
}

/// An attempt, as its events have it. Times are milliseconds since 1970.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct Attempt {
    /// Its number, from 1.
    pub attempt: u32,
    /// When it began.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub began: Option<u64>,
    /// When it ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ended: Option<u64>,
    /// Its error and the sources of it, outermost first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub error: Vec<String>,
    /// The fault, if it was one: a time limit, a panic and so on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fault: Option<Value>,
    /// The error as data, if it is recorded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error_value: Option<Given>,
    /// When the next attempt may start.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retry_at: Option<u64>,
}

/// A message.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct Message {
    /// The number of the event.
    pub seq: u64,
    /// When, in milliseconds since 1970.
    pub time: u64,
    /// The whole text.
    pub text: String,
}

/// A note.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct Note {
    /// The number of the event.
    pub seq: u64,
    /// When, in milliseconds since 1970.
    pub time: u64,
    /// Its name.
    pub name: String,
    /// Its data.
    pub payload: Value,
}
