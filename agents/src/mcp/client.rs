//! The client of a server.

use std::fmt;
use std::sync::Arc;

use graphweft::Json;

use super::connection::Connection;
use super::error::McpError;
use super::tool::McpTool;
use crate::names::listed;
use crate::tool::NodeTool;

/// The client of a server of the [Model Context Protocol](https://modelcontextprotocol.io) (MCP), whose tools are tools here.
///
/// The server is a program that the client starts and talks to over its standard streams, or one behind a URL, over streamable HTTP.
///
/// ```no_run
/// use graphweft_agents::{Agent, McpClient};
///
/// # async fn example() -> Result<(), graphweft_agents::McpError> {
/// let files = McpClient::process("npx").arg("@modelcontextprotocol/server-filesystem").arg("/srv").prefix("files_");
/// let files = files.connect().await?;
/// let agent: Agent<String, String> = Agent::new("You tidy up.")
///     .tools(files.tools())
///     .tool(files.tool("write_file")?.approve());
/// # drop(agent);
/// # Ok(())
/// # }
/// ```
///
/// # Tools
/// A tool has the name, the description and the schema of the server. The server checks the arguments. Each tool is a
/// [`NodeTool`], with approval, retries and what repeating a call means: it is repeatable if the server hints so, by `readOnlyHint` or
/// `idempotentHint`. Otherwise it is too, as nodes are, unless [`McpBuilder::at_most_once`](crate::McpBuilder::at_most_once) or
/// [`NodeTool::at_most_once`] says that it is not. A hint is the server's word: for a server that you do not trust, say
/// `at_most_once` of each tool that matters.
///
/// # Results
/// The structured content, if the tool has any; otherwise its texts. Images, audio and other binary content are left out, with
/// their kind and size in the text. A result that is marked as an error, and whatever else fails ([`McpError`]), goes to the model as
/// text. For a tool that is `at_most_once`, a call that was lost or timed out is a question to a person instead. One that the server
/// did not take, by the status 401, 403, 404 or 429, is none: it has not been made ([`McpError::NotTaken`]).
///
/// # A server that hangs or dies
/// Each call has a time limit ([`McpBuilder::call_timeout`](crate::McpBuilder::call_timeout)). After a lost connection the next call connects again, and starts the
/// program again; so it does if the server has missed a time limit and answers no ping.
///
/// The connection, and the program, end with the last clone of the client and of its tools.
///
/// # Changes
/// An agent records which schemas the tools of servers have. If it is resumed and a schema is another one, a tool is gone, or there is
/// another, it records that as a note `tools_changed` with the names, and logs a warning. The run continues: recorded calls are not
/// made again, and the model sees the tools that the server had when this client connected.
#[derive(Clone)]
pub struct McpClient {
    connection: Arc<Connection>,
    tools: Vec<Known>,
}

#[derive(Clone)]
struct Known {
    /// The name here.
    name: String,
    tool: McpTool,
    description: String,
    parameters: Json,
    is_at_most_once: bool,
}

impl McpClient {
    pub(super) async fn open(connection: Arc<Connection>, prefix: &str, at_most_once: bool) -> Result<Self, McpError> {
        let tools = connection.open().await?;
        let known = |tool: rmcp::model::Tool| {
            let hints = tool.annotations.as_ref();
            let is_repeatable =
                hints.is_some_and(|it| it.read_only_hint == Some(true) || it.idempotent_hint == Some(true));
            Known {
                name: format!("{prefix}{}", tool.name),
                tool: McpTool::new(Arc::clone(&connection), &tool.name),
                description: tool.description.as_deref().unwrap_or_default().to_owned(),
                parameters: Json::Object((*tool.input_schema).clone()),
                is_at_most_once: at_most_once && !is_repeatable,
            }
        };
        let tools = tools.into_iter().map(known).collect();
        Ok(McpClient { connection, tools })
    }

    /// All tools of the server, for [`Agent::tools`](crate::Agent::tools).
    pub fn tools(&self) -> Vec<NodeTool<McpTool>> {
        self.tools.iter().map(Known::tool).collect()
    }

    /// One tool, by the name that it has here: with the prefix.
    ///
    /// # Errors
    /// [`McpError::UnknownTool`], with the names that there are.
    pub fn tool(&self, name: &str) -> Result<NodeTool<McpTool>, McpError> {
        self.tools.iter().find(|known| known.name == name).map(Known::tool).ok_or_else(|| {
            let known = listed(self.names());
            McpError::UnknownTool { server: self.connection.server(), tool: name.to_owned(), known }
        })
    }

    /// The names that the tools have here.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.tools.iter().map(|known| known.name.as_str())
    }
}

impl Known {
    fn tool(&self) -> NodeTool<McpTool> {
        let tool = NodeTool::of_server(self.name.clone(), self.tool.clone(), self.parameters.clone(), uncertain);
        let tool = tool.description(self.description.clone());
        if self.is_at_most_once { tool.at_most_once() } else { tool }
    }
}

fn uncertain(error: &McpError) -> Option<String> {
    error.is_uncertain().then(|| error.to_string())
}

impl fmt::Debug for McpClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = self.names().collect();
        f.debug_struct("McpClient").field("server", &self.connection.server()).field("tools", &names).finish()
    }
}
