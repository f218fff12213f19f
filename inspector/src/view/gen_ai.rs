//! By what a record is known as that of a model call or a tool call. `graphweft-agents` writes these forms; its `model_call.rs` has the
//! table of them, and a test of this crate holds both together.

use serde::Deserialize;
use serde_json::Value;

/// What is recorded of a model call.
#[derive(Debug, Deserialize)]
pub(super) struct ModelCall {
    #[serde(rename = "gen_ai")]
    _operation: Operation,
    /// What was new in the request.
    #[serde(default)]
    pub(super) asked: Vec<String>,
    pub(super) message: Message,
    /// The model that has replied, as its provider names it.
    pub(super) model: String,
    #[serde(default)]
    pub(super) usage: Usage,
    #[serde(default)]
    pub(super) is_cut_off: bool,
}

/// What is recorded of a model call that has failed for good.
#[derive(Debug, Deserialize)]
pub(super) struct FailedCall {
    #[serde(rename = "gen_ai")]
    _operation: Operation,
    /// What was new in the request.
    #[serde(default)]
    pub(super) asked: Vec<String>,
    #[serde(rename = "error")]
    _error: Value,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Operation {
    Chat,
}

#[derive(Debug, Deserialize)]
pub(super) struct Message {
    pub(super) assistant: Reply,
}

#[derive(Debug, Deserialize)]
pub(super) struct Reply {
    #[serde(default)]
    pub(super) text: String,
    #[serde(default)]
    pub(super) calls: Vec<Call>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Call {
    pub(super) name: String,
    #[serde(default)]
    pub(super) arguments: Value,
}

#[derive(Debug, Default, Deserialize)]
pub(super) struct Usage {
    #[serde(default)]
    pub(super) input: u64,
    #[serde(default)]
    pub(super) output: u64,
    #[serde(default)]
    pub(super) cached: u64,
}

impl ModelCall {
    /// `None` if it is the output of anything else.
    pub(super) fn of(output: &Value) -> Option<Self> {
        output.get("gen_ai")?;
        ModelCall::deserialize(output).ok()
    }
}

impl FailedCall {
    /// `None` if it is the error of anything else.
    pub(super) fn of(error: &Value) -> Option<Self> {
        error.get("gen_ai")?;
        FailedCall::deserialize(error).ok()
    }
}

/// The result of a tool, as its model gets it.
pub(super) enum ToolResult<'v> {
    Output(&'v Value),
    /// A person's reason why there is none.
    Refused(&'v str),
}

impl<'v> ToolResult<'v> {
    pub(super) fn of(output: &'v Value) -> Self {
        let single = output.as_object().filter(|object| object.len() == 1);
        match single.and_then(|object| object.iter().next()) {
            Some((name, output)) if name == "gen_ai.output" => ToolResult::Output(output),
            Some((name, Value::String(why))) if name == "gen_ai.refused" => ToolResult::Refused(why),
            _ => ToolResult::Output(output),
        }
    }
}

/// Whether it is the step with which an agent keeps the error of a tool call. That of a call which has failed is known by another event.
pub(super) fn is_error_of_tool(path: &str) -> bool {
    name_and_key(path).is_some_and(|(name, _)| name == "gen_ai.error")
}

/// The name and the key of a child: `orders` and `2.0` of `orders:2.0`.
pub(super) fn name_and_key(path: &str) -> Option<(&str, &str)> {
    path.rsplit('/').next()?.split_once(':')
}
