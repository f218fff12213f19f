//! A tool as a step of a graph.

use std::fmt;
use std::marker::PhantomData;

use graphweft::{Context, Fault, Json, Node, NodeFacts, NodeInfo};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::json_payload::JsonPayload;
use crate::output::{Misfit, fit};
use crate::tool::{Tool, ToolError};

/// A tool as a node of a graph: a step that always calls it, and no model decides. Its approval, its retries and what repeating a call
/// means are those of the tool.
///
/// `In` is written as the JSON that [`DynNode::call`](graphweft::DynNode::call) takes: a `#[value]` struct with the names of the parameters, also
/// for a function with a single one that is no object; for a node without named parameters, its input. `Out` is read from the result. For a tool of a server of MCP these are the types that its
/// schemas describe; an `Out` of `String` takes a result of text as it is, and another type reads it as JSON.
///
/// ```
/// use graphweft::prelude::*;
/// use graphweft_agents::{Tool, ToolNode};
///
/// /// Looks up the price of an article.
/// #[node]
/// async fn price(article: String, amount: u32) -> Result<u32, String> {
///     if article == "lamp" { Ok(9_900 * amount) } else { Err(format!("there is no {article}")) }
/// }
///
/// #[value]
/// struct Wish {
///     article: String,
///     amount: u32,
/// }
///
/// workflow! {
///     shop(Wish) -> u32 {
///         let price: ToolNode<Wish, u32> = ToolNode::new(Tool::of::<price>());
///         START => price;
///     }
/// }
///
/// # graphweft::block_on(async {
/// let engine = Engine::builder().build()?;
/// let run = engine.start::<shop>(Wish { article: "lamp".into(), amount: 2 }).await?;
/// assert_eq!(run.result().await?, 19_800);
/// # Ok::<(), Box<dyn std::error::Error>>(()) }).unwrap();
/// ```
///
/// The path of the call is below the node: `shop/price/price:1`.
#[must_use = "a tool does nothing before it is a node of a graph"]
pub struct ToolNode<In, Out> {
    tool: Tool,
    types: PhantomData<fn(In) -> Out>,
}

impl<In: JsonPayload, Out: JsonPayload> ToolNode<In, Out> {
    /// A node that calls this tool.
    pub fn new(tool: impl Into<Tool>) -> Self {
        ToolNode { tool: tool.into(), types: PhantomData }
    }
}

/// Why a [`ToolNode`] gave no output. It is a payload, so it can be routed, and it is `From<Fault>`.
///
/// A step that always looks up the price, and an arm for what it cannot find:
///
/// ```
/// use graphweft::prelude::*;
/// use graphweft_agents::{Tool, ToolNode, ToolNodeError};
///
/// #[value]
/// struct Wish { item: String }
///
/// #[node]
/// async fn price(item: String) -> Result<u32, String> { Err(format!("there is no {item}")) }
/// #[node]
/// async fn show(cents: u32) -> String { format!("{cents} cents") }
/// #[node]
/// async fn explain(error: ToolNodeError) -> String { error.to_string() }
///
/// workflow! {
///     shop(Wish) -> String {
///         let look_up: ToolNode<Wish, u32> = ToolNode::new(Tool::of::<price>());
///         START => look_up => <ok: show, err: explain>;
///     }
/// }
///
/// assert_eq!(graphweft::block_on(shop(Wish { item: "lamp".into() })).unwrap(), "tool `price`: there is no lamp");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, thiserror::Error)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ToolNodeError {
    /// The tool does not take the input, it failed, or a person rejected the call: what a model would get as text.
    #[error("tool `{tool}`: {message}")]
    Failed {
        /// The name of the tool.
        tool: String,
        /// The problem.
        message: String,
    },
    /// The result of the tool does not fit the type of the output.
    #[error("the result of tool `{tool}` does not fit: {misfit}")]
    Misfit {
        /// The name of the tool.
        tool: String,
        /// The problem.
        misfit: Misfit,
    },
    /// A fault of the tool or of the node.
    #[error(transparent)]
    Fault(Fault),
}

impl From<Fault> for ToolNodeError {
    fn from(fault: Fault) -> Self {
        ToolNodeError::Fault(fault)
    }
}

impl<In: JsonPayload, Out: JsonPayload> Node for ToolNode<In, Out> {
    type Input = In;
    type Output = Out;
    type Error = ToolNodeError;
    const FACTS: NodeFacts<In, ToolNodeError> =
        NodeFacts::named("tool").error_text(|error: &ToolNodeError| vec![error.to_string()]).recorded_error();

    async fn run(&self, input: In, ctx: &Context) -> Result<Out, ToolNodeError> {
        let tool = &self.tool.spec().name;
        let failed = |message| ToolNodeError::Failed { tool: tool.clone(), message };
        let arguments = serde_json::to_value(&input).map_err(|error| failed(error.to_string()))?;
        drop(input);
        match self.tool.call_with(ctx, arguments, "1").await {
            Ok(result) => output(&result).map_err(|misfit| ToolNodeError::Misfit { tool: tool.clone(), misfit }),
            Err(ToolError::ForModel(message) | ToolError::Refused(message)) => Err(failed(message)),
            Err(ToolError::Fault(fault)) => Err(ToolNodeError::Fault(fault)),
        }
    }

    /// The tool has its own retries.
    fn retry_when(&self, _: &ToolNodeError) -> bool {
        false
    }

    fn uses(&self) -> Vec<NodeInfo> {
        vec![self.tool.info().clone()]
    }
}

/// A result as an output: as it is, or a text that is JSON.
fn output<Out: JsonPayload>(result: &Json) -> Result<Out, Misfit> {
    fit(result).or_else(|misfit| {
        let inner = result.as_str().and_then(|text| serde_json::from_str::<Json>(text).ok());
        inner.map_or(Err(misfit), |json| fit(&json))
    })
}

impl<In, Out> Clone for ToolNode<In, Out> {
    fn clone(&self) -> Self {
        ToolNode { tool: self.tool.clone(), types: PhantomData }
    }
}

impl<In, Out> fmt::Debug for ToolNode<In, Out> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ToolNode").field("tool", &self.tool).finish()
    }
}
