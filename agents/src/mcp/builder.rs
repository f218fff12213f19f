//! How a server is reached, and the options of its tools.

use std::collections::{BTreeMap, HashMap};
use std::ffi::OsString;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;

use super::client::McpClient;
use super::connection::{Connection, Target};
use super::error::McpError;

/// The options of an [`McpClient`].
///
/// ```no_run
/// use std::time::Duration;
/// use graphweft_agents::McpClient;
///
/// # async fn example() -> Result<(), graphweft_agents::McpError> {
/// let tickets = McpClient::http("https://example.com/mcp")
///     .header("Authorization", "Bearer ..")
///     .prefix("tickets_") // beside the tools of other servers
///     .call_timeout(Duration::from_secs(10))
///     .at_most_once() // what the server does not hint to be repeatable
///     .connect()
///     .await?;
/// println!("{:?}", tickets.names().collect::<Vec<_>>());
/// # Ok(())
/// # }
/// ```
#[must_use = "nothing is connected before `connect` is awaited"]
pub struct McpBuilder {
    target: Builds,
    prefix: String,
    connect_timeout: Duration,
    call_timeout: Duration,
    at_most_once: bool,
}

enum Builds {
    Process { program: OsString, args: Vec<OsString>, env: BTreeMap<OsString, OsString>, directory: Option<PathBuf> },
    Http { url: String, headers: Vec<(String, String)> },
}

impl McpClient {
    /// A program that is started, and ends with the client.
    pub fn process(program: impl Into<OsString>) -> McpBuilder {
        McpBuilder::from_program(program.into())
    }

    /// A server behind a URL, such as `https://example.com/mcp`.
    pub fn http(url: impl Into<String>) -> McpBuilder {
        McpBuilder::from_url(url.into())
    }
}

impl McpBuilder {
    fn new(target: Builds) -> Self {
        McpBuilder {
            target,
            prefix: String::new(),
            connect_timeout: Duration::from_secs(30),
            call_timeout: Duration::from_secs(60),
            at_most_once: false,
        }
    }

    fn from_program(program: OsString) -> Self {
        McpBuilder::new(Builds::Process { program, args: Vec::new(), env: BTreeMap::new(), directory: None })
    }

    fn from_url(url: String) -> Self {
        McpBuilder::new(Builds::Http { url, headers: Vec::new() })
    }

    /// Adds an argument of the program. Without effect over HTTP.
    pub fn arg(mut self, arg: impl Into<OsString>) -> Self {
        if let Builds::Process { args, .. } = &mut self.target {
            args.push(arg.into());
        }
        self
    }

    /// Sets a variable of the program's environment, beside those of this process. Without effect over HTTP.
    pub fn env(mut self, name: impl Into<OsString>, value: impl Into<OsString>) -> Self {
        if let Builds::Process { env, .. } = &mut self.target {
            env.insert(name.into(), value.into());
        }
        self
    }

    /// Sets the directory in which the program starts. Without effect over HTTP.
    pub fn current_dir(mut self, path: impl Into<PathBuf>) -> Self {
        if let Builds::Process { directory, .. } = &mut self.target {
            *directory = Some(path.into());
        }
        self
    }

    /// Adds a header to each request over HTTP, such as `Authorization`. Without effect on a program.
    pub fn header(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        if let Builds::Http { headers, .. } = &mut self.target {
            headers.push((name.into(), value.into()));
        }
        self
    }

    /// What the names of the tools begin with here, so that those of two servers differ: with `"files_"`, the server's `read` is
    /// `files_read`.
    pub fn prefix(mut self, prefix: impl Into<String>) -> Self {
        self.prefix = prefix.into();
        self
    }

    /// Limits the time that a connection takes, with the start of the program. 30 s by default.
    pub fn connect_timeout(mut self, limit: Duration) -> Self {
        self.connect_timeout = limit;
        self
    }

    /// Limits the time of each call, without that of a connection that is made again before it. 60 s by default.
    ///
    /// A result of a program may take 16 MiB, in one line of JSON. A larger one is dropped by the transport, and its call ends at this
    /// limit, however long it is: let the tool return a part of it, or the name of a file.
    pub fn call_timeout(mut self, limit: Duration) -> Self {
        self.call_timeout = limit;
        self
    }

    /// Makes each tool [`at_most_once`](crate::NodeTool::at_most_once) of which the server does not hint that it may be repeated, by
    /// `readOnlyHint` or `idempotentHint`. By default each tool is repeatable, as nodes are.
    pub fn at_most_once(mut self) -> Self {
        self.at_most_once = true;
        self
    }

    /// Connects to the server and reads which tools it has.
    ///
    /// # Errors
    /// [`McpError::Unreachable`] if the server cannot be reached in time, and [`McpError::Option`] for a header that is none.
    ///
    /// # Cancel safety
    /// If the future is dropped, a program that was started ends.
    pub async fn connect(self) -> Result<McpClient, McpError> {
        let McpBuilder { target, prefix, connect_timeout, call_timeout, at_most_once } = self;
        let target = match target {
            Builds::Process { program, args, env, directory } => Target::Process { program, args, env, directory },
            Builds::Http { url, headers } => {
                let mut parsed = HashMap::new();
                for (name, value) in headers {
                    let invalid = |problem: &dyn fmt::Display| McpError::Option {
                        message: format!("`{name}` is no header that can be sent: {problem}"),
                    };
                    let key = name.parse().map_err(|error| invalid(&error))?;
                    parsed.insert(key, value.parse().map_err(|error| invalid(&error))?);
                }
                Target::Http(StreamableHttpClientTransportConfig::with_uri(url).custom_headers(parsed))
            }
        };
        let connection = Arc::new(Connection::new(target, connect_timeout, call_timeout));
        McpClient::open(connection, &prefix, at_most_once).await
    }
}

impl fmt::Debug for McpBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The environment and the headers may have secrets.
        let server: &dyn fmt::Debug = match &self.target {
            Builds::Process { program, .. } => program,
            Builds::Http { url, .. } => url,
        };
        f.debug_struct("McpBuilder").field("server", server).field("prefix", &self.prefix).finish_non_exhaustive()
    }
}
