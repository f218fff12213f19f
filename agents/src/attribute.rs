//! What `#[agent]` expands to. Not for use by hand, and without any promise of stability.

use std::fmt::Display;

use graphweft::Node;

use crate::agent::Agent;
pub use crate::agent::is_retryable;
use crate::json_payload::JsonPayload;
use crate::tool::Tool;

/// What the body of an agent's function ends in.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no prompt",
    label = "the body of an agent ends in its prompt: a text, or anything else that is `Display`",
    note = "write `format!(\"{{}} writes: {{}}\", mail.from, mail.text)`, implement `Display` for `{Self}`, or use a template that is"
)]
pub trait Prompt {
    /// What the model reads.
    fn into_text(self) -> String;
}

#[diagnostic::do_not_recommend]
impl<T: Display> Prompt for T {
    fn into_text(self) -> String {
        self.to_string()
    }
}

/// The text of a prompt.
pub fn prompt(prompt: impl Prompt) -> String {
    prompt.into_text()
}

/// What is named in `tools(..)`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a node, so it is no tool",
    label = "not a node",
    note = "a tool is an async function marked `#[node]`, a workflow or an agent"
)]
pub trait NodeByName: Node + Default {}

#[diagnostic::do_not_recommend]
impl<N: Node + Default> NodeByName for N {}

/// The error of a tool.
#[diagnostic::on_unimplemented(
    message = "the error `{Self}` of a tool is no payload",
    label = "this tool fails with `{Self}`, which cannot be recorded",
    note = "put `#[value]` on the error, return `Result<_, String>`, or have its text recorded: \
            `tools(Tool::error_as_text::<search>())`"
)]
pub trait ToolFailure: JsonPayload {}

#[diagnostic::do_not_recommend]
impl<E: JsonPayload> ToolFailure for E {}

/// A node as a tool.
pub fn node_tool<N: NodeByName>(_: N) -> Tool
where
    N::Input: JsonPayload,
    N::Output: JsonPayload,
    N::Error: ToolFailure,
{
    Tool::of::<N>().into()
}

/// An expression in `tools(..)`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no tool",
    label = "expected a `Tool`",
    note = "a tool is the name of a node, `tools(search)`, or made of one: `tools(Tool::of::<pay>().approve())`"
)]
pub trait IntoTool {
    /// The tool.
    fn into_tool(self) -> Tool;
}

#[diagnostic::do_not_recommend]
impl<T: Into<Tool>> IntoTool for T {
    fn into_tool(self) -> Tool {
        self.into()
    }
}

/// The tool of an expression.
pub fn made_tool(tool: impl IntoTool) -> Tool {
    tool.into_tool()
}

/// `with = |agent| agent.max_turns(6)`
pub fn with<Out>(
    agent: Agent<String, Out>,
    change: impl FnOnce(Agent<String, Out>) -> Agent<String, Out>,
) -> Agent<String, Out> {
    change(agent)
}
