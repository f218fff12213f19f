//! A tool of a server, as a node.

use std::fmt;
use std::sync::Arc;

use graphweft::{Context, Json, Node, NodeFacts};

use super::connection::Connection;
use super::error::McpError;

/// A tool of a server of MCP, as a node: it takes the arguments as a JSON object, and returns the result as JSON. It comes from
/// [`McpClient::tools`](crate::McpClient::tools).
///
/// One tool of a server, which a person has to approve:
///
/// ```no_run
/// use graphweft_agents::{McpClient, McpTool, NodeTool, Tool};
///
/// # async fn example() -> Result<(), graphweft_agents::McpError> {
/// let files = McpClient::process("npx").arg("@modelcontextprotocol/server-filesystem").arg("/srv").connect().await?;
/// let write: NodeTool<McpTool> = files.tool("write_file")?.approve();
/// println!("{}", Tool::from(write).spec().description);
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct McpTool {
    connection: Arc<Connection>,
    /// At the server.
    name: Arc<str>,
}

impl McpTool {
    pub(super) fn new(connection: Arc<Connection>, name: &str) -> Self {
        McpTool { connection, name: name.into() }
    }
}

impl Node for McpTool {
    type Input = Json;
    type Output = Json;
    type Error = McpError;
    const FACTS: NodeFacts<Json, McpError> =
        NodeFacts::named("mcp_tool").error_text(|error: &McpError| vec![error.to_string()]).recorded_error();

    async fn run(&self, input: Json, _: &Context) -> Result<Json, McpError> {
        let Json::Object(arguments) = input else {
            return Err(McpError::Refused { message: format!("`{}` takes an object of arguments", self.name) });
        };
        self.connection.call(&self.name, arguments).await
    }
}

impl fmt::Debug for McpTool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("McpTool").field("name", &self.name).field("server", &self.connection.server()).finish()
    }
}
