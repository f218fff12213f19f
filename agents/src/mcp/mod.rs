//! Tools of servers of the [Model Context Protocol](https://modelcontextprotocol.io) (MCP).

mod builder;
mod client;
mod connection;
mod error;
mod result;
mod status;
mod tool;

pub use builder::McpBuilder;
pub use client::McpClient;
pub use error::McpError;
pub use tool::McpTool;
