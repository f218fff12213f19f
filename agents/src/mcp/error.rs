//! How a server fails.

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Why a server of MCP did not do what it was asked for. As the error of a tool, the model gets its text.
///
/// A program that begins without a server that is not there:
///
/// ```
/// use graphweft_agents::{McpClient, McpError};
///
/// # graphweft::block_on(async {
/// match McpClient::process("/no/such/server").connect().await {
///     Ok(client) => println!("{} tools", client.names().count()),
///     Err(error @ McpError::Unreachable { .. }) => assert!(error.to_string().starts_with("MCP server `/no/such/server`")),
///     Err(other) => panic!("{other}"),
/// }
/// # });
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, thiserror::Error)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum McpError {
    /// The program cannot be started, the address cannot be reached, or what is there does not speak MCP. Nothing was called.
    #[error("MCP server `{server}` cannot be reached: {message}")]
    Unreachable {
        /// The program or the address.
        server: String,
        /// The problem.
        message: String,
    },
    /// The connection was lost during the call, so it is not known whether the call has had its effect. The next call connects again.
    #[error("MCP server `{server}` was lost during the call: {message}")]
    Lost {
        /// The program or the address.
        server: String,
        /// The problem.
        message: String,
    },
    /// The server answered with a status of HTTP which says that the call has not been made: 401, 403, 404 or 429. After any other
    /// it is [`Lost`](Self::Lost).
    #[error("MCP server `{server}` did not take the call (HTTP {status}): {message}")]
    NotTaken {
        /// The address.
        server: String,
        /// The status.
        status: u16,
        /// What it says.
        message: String,
    },
    /// There was no result in time, so it is not known whether the call has had its effect. A result of a program that takes more
    /// than 16 MiB in one line is not read, and never comes.
    #[error(
        "MCP server `{server}` did not answer within {after:?}; allow more with `McpBuilder::call_timeout`, if its result has no more \
         than 16 MiB: a larger one is dropped"
    )]
    TimedOut {
        /// The program or the address.
        server: String,
        /// The limit.
        after: Duration,
    },
    /// The server does not accept the call: it has no such tool, or other arguments.
    #[error("the MCP server refused the call: {message}")]
    Refused {
        /// The server's text.
        message: String,
    },
    /// The tool itself failed: its result is marked as an error.
    #[error("{message}")]
    Tool {
        /// The text of the result.
        message: String,
    },
    /// The tool asks its client for more, and there is nothing here that answers.
    #[error("the tool needs {needs}, which this client does not have")]
    Unsupported {
        /// What it asks for.
        needs: String,
    },
    /// The server has no tool of this name.
    #[error("MCP server `{server}` has no tool `{tool}`; it has {known}")]
    UnknownTool {
        /// The program or the address.
        server: String,
        /// The name that was asked for.
        tool: String,
        /// The names that there are.
        known: String,
    },
    /// An option of the builder is not valid.
    #[error("{message}")]
    Option {
        /// Which one, and what is wrong with it.
        message: String,
    },
}

impl McpError {
    /// Whether the call may have had its effect.
    pub(crate) fn is_uncertain(&self) -> bool {
        matches!(self, McpError::Lost { .. } | McpError::TimedOut { .. })
    }
}
