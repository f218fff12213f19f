// Of several definitions of a link the first counts.
#![doc = include_str!("../docs/links.md")]
#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]
#![cfg_attr(docsrs, feature(doc_cfg))]

#[doc(hidden)]
#[path = "attribute.rs"]
pub mod __;
mod agent;
mod agent_error;
mod budget;
#[cfg(any(feature = "genai", feature = "mcp"))]
mod causes;
mod chat;
mod choice;
mod classify;
mod constrained;
#[cfg(feature = "mcp")]
mod fingerprint;
mod guarded;
mod json_payload;
#[cfg(feature = "mcp")]
mod mcp;
mod memory;
mod message;
mod model;
mod model_call;
mod model_error;
mod names;
mod output;
mod plain_text;
#[cfg(feature = "genai")]
mod provider;
mod scripted;
#[cfg(feature = "mcp")]
mod served;
mod tool;
mod tool_node;
mod trace;
mod usage;

#[doc = include_str!("../docs/links.md")]
#[doc = include_str!("../docs/guide.md")]
pub mod guide {}

pub use agent::Agent;
pub use agent_error::AgentError;
pub use budget::{Budget, BudgetOf, OverBudget};
pub use classify::Classifier;
pub use constrained::Constrained;
#[doc = include_str!("../docs/agent.md")]
#[doc(inline)]
pub use graphweft_agents_macros::agent;
pub use guarded::{Approval, Resolution};
pub use json_payload::JsonPayload;
#[cfg(feature = "mcp")]
pub use mcp::{McpBuilder, McpClient, McpError, McpTool};
pub use memory::{
    CONVERSATION, Compaction, Memory, Overlap, RunAgent, SESSION, Session, SessionEntry, SessionError, Sessions, TurnId,
};
pub use message::{Message, OpaquePart, Reply, ToolCall, Usage};
pub use model::{ChatModel, Delta, Format, ModelOptions, Models, Request, ToolSpec};
pub use model_error::ModelError;
pub use output::Misfit;
#[cfg(feature = "genai")]
pub use provider::GenaiModel;
pub use scripted::Scripted;
pub use tool::{NodeTool, Tool};
pub use tool_node::{ToolNode, ToolNodeError};
pub use usage::{ModelUsage, Spent, spent};
