//! Workflows as the tools of a server of the [Model Context Protocol](https://modelcontextprotocol.io) (MCP).
//!
//! A call of a tool starts a run. Over the standard streams, for a client that starts this program:
//!
//! ```no_run
//! use graphweft::prelude::*;
//! use graphweft_inspector::McpServer;
//!
//! # #[node] async fn double(n: u32) -> u32 { 2 * n }
//! # workflow! { pub doubled(u32) -> u32 { START => double; } }
//! # #[tokio::main]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let store = SqliteStore::open("runs.db").await?;
//! let engine = Engine::builder().store(store).register::<doubled>().build()?;
//! engine.recover().await?;
//! McpServer::new(engine.clone()).serve_stdio().await?;
//! engine.shutdown().await;
//! # Ok(())
//! # }
//! ```
//!
//! Over streamable HTTP, at `/mcp` beside the page: [`Inspector::with_mcp`](crate::Inspector::with_mcp).
//!
//! # What a client sees
//! - **Tools**: one for each registered workflow, with its name, its doc comment, and the schema of its input. An input that is a
//!   struct has its fields as arguments; any other input is the argument `input`. A workflow that is to be given keys of the state
//!   without a zero (`#[given(..)]`) is no tool, since a call gives none.
//! - **The id of the run**: the argument `run_id`, or `graphweft/run_id` in the `_meta` of the request, for a client that does not leave
//!   it to its model. A call with the id and the input of a run that exists gets the result of that run, whether it is under way,
//!   waits or has ended, also after a restart. Without an id the run gets a new one.
//! - **The result**, which the output schema describes: `run`, `status`, and `output`; for a run that waits, its open `questions` or
//!   the `signals` that it waits for; for a run that has failed, `error` with the path of the node, its attempts and causes, and
//!   `isError`. What is wrong with an input is a result with `isError` that names the field.
//! - **Progress**, for a call with a progress token: what has become of the nodes last, and their messages. At most ten
//!   notifications a second, and at least one in 15 s, so that a client with a time limit sees that the run is under way.
//! - **Questions** ([`Context::ask`](graphweft::Context::ask)), as an elicitation with a form, if the client has the capability. An
//!   answer that the form cannot express is a text field for JSON. If the person declines, the question is left open, and the result
//!   has it. If it is answered elsewhere meanwhile, the elicitation is cancelled. For a client without the capability, the result has
//!   the open questions, and the tool `answer` answers one. **Its model answers then**, and not a person; a client that can
//!   show forms does not have this tool.
//!   An answer that comes after another one is not taken: the result has a text with what was answered, and by whom if that is
//!   recorded; `answer` is an error then. The same answer again is a success.
//! - **A call that is cancelled or cut off** does not cancel its run. A later call with the same id finds it. To cancel a run, use the
//!   inspector, the command line, or [`Run::cancel`](graphweft::Run::cancel). An elicitation is cancelled with its call. If the person
//!   answers nevertheless within 10 min, the answer is recorded if the question is still open; if not, the log has a warning.
//!
//! # Limits
//! - A message has at most 16 MiB over streams, and [`max_body`](crate::Inspector::max_body) over HTTP. Its arrays and objects are nested
//!   at most 127 levels deep.
//! - What is no message gets an error of JSON-RPC: -32700 if it is not JSON or not UTF-8, -32600 if it is no message, too long or
//!   nested too deeply, with the id if it is a request whose id can be read. Of a message that is too long only the start is read, so
//!   its id is in the error only if it is there. Over HTTP the error has the status 400; of a body that is too long, 413.
//!   A notification that cannot be read is ignored.
//! - An error that quotes what was sent has at most some 1,000 characters.
//! - Over HTTP there are at most [`max_sessions`](crate::Inspector::max_sessions) sessions. One in which nothing is sent for 1 h is closed.
//!   Each open response is one of the [`max_streams`](crate::Inspector::max_streams).

mod answers;
mod brief;
mod call;
mod door;
mod form;
mod http;
mod late;
mod lines;
mod message;
mod outcome;
mod progress;
mod schema;
mod sessions;
mod tools;
mod until_end;

pub(crate) use http::routes;

use std::io;

use graphweft::Engine;
use rmcp::ServiceExt;
use rmcp::service::ServerInitializeError;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_util::sync::CancellationToken;

use door::Door;
use lines::Lines;
use until_end::UntilEnd;

/// The workflows of an engine as the tools of an MCP server over a pair of streams. See the [module](self).
#[derive(Clone, Debug)]
#[must_use = "nothing is served before `serve` or `serve_stdio` is awaited"]
pub struct McpServer {
    engine: Engine,
}

impl McpServer {
    /// Serves the workflows that are registered with this engine.
    pub fn new(engine: Engine) -> Self {
        McpServer { engine }
    }

    /// Serves a client over the standard streams, until it closes the standard input of this process. The process must
    /// write nothing else to its standard output.
    ///
    /// Runs that are under way at the end are not cancelled: as long as the engine lives they continue. A process that ends calls
    /// [`Engine::shutdown`], and the next one resumes them.
    ///
    /// # Errors
    /// If the client does not speak MCP.
    pub async fn serve_stdio(self) -> io::Result<()> {
        let (read, write) = rmcp::transport::stdio();
        self.serve(read, write).await
    }

    /// The same over other streams: a message of the client is a line of JSON, and so is one of the server.
    ///
    /// ```
    /// use graphweft::prelude::*;
    /// use graphweft_inspector::McpServer;
    /// use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, duplex, split};
    ///
    /// # #[node] async fn double(n: u32) -> u32 { 2 * n }
    /// # workflow! { pub doubled(u32) -> u32 { START => double; } }
    /// # #[tokio::main]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let engine = Engine::builder().register::<doubled>().build()?;
    /// let (client, server) = duplex(1 << 16);
    /// let (read, write) = split(server);
    /// let serving = tokio::spawn(McpServer::new(engine).serve(read, write));
    ///
    /// let (read, mut write) = split(client);
    /// let messages = [
    ///     r#"{"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "doc", "version": "1"}}}"#,
    ///     r#"{"jsonrpc": "2.0", "method": "notifications/initialized"}"#,
    ///     r#"{"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "doubled", "arguments": {"input": 4}}}"#,
    /// ];
    /// write.write_all(format!("{}\n", messages.join("\n")).as_bytes()).await?;
    ///
    /// let mut lines = BufReader::new(read).lines();
    /// assert!(lines.next_line().await?.is_some_and(|line| line.contains("graphweft")));
    /// assert!(lines.next_line().await?.is_some_and(|line| line.contains(r#""output":8"#)));
    ///
    /// drop((lines, write));
    /// serving.await??;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Cancel safety
    /// If the future is dropped the client is cut off, and its runs continue.
    ///
    /// # Errors
    /// If the client does not speak MCP.
    pub async fn serve<R, W>(self, read: R, write: W) -> io::Result<()>
    where
        R: AsyncRead + Send + Unpin + 'static,
        W: AsyncWrite + Send + Unpin + 'static,
    {
        let gone = CancellationToken::new();
        let _dropped = gone.clone().drop_guard();
        let door = Door::new(self.engine, gone.clone());
        match door.serve(Lines::new(UntilEnd::new(read, gone), write)).await {
            Ok(service) => match service.waiting().await {
                Ok(_why) => Ok(()),
                Err(error) => Err(io::Error::other(error)),
            },
            Err(ServerInitializeError::ConnectionClosed(_)) => Ok(()),
            Err(error) => Err(io::Error::new(io::ErrorKind::InvalidData, error.to_string())),
        }
    }
}
