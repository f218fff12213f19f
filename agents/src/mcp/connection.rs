//! The connection to a server, which is made again after it was lost.

use std::collections::BTreeMap;
use std::error::Error;
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, ClientRequest, JsonObject, PingRequest, Tool as ServerTool,
};
use rmcp::service::{ClientInitializeError, RunningService, ServiceError};
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;
use rmcp::transport::{StreamableHttpClientTransport, TokioChildProcess};
use rmcp::{RoleClient, ServiceExt};
use tokio::process::Command;
use tokio::sync::Mutex;
use tokio::time::timeout;

use super::error::McpError;
use super::result;
use super::status::{self, ReadStatus};
use crate::causes::with_causes;
use crate::fingerprint::Fingerprint;

/// How long a server that has missed the time limit of a call may take to show that it is alive.
const PING: Duration = Duration::from_secs(5);

/// Where a server is.
pub(super) enum Target {
    Process { program: OsString, args: Vec<OsString>, env: BTreeMap<OsString, OsString>, directory: Option<PathBuf> },
    Http(StreamableHttpClientTransportConfig),
}

type Service = RunningService<RoleClient, ()>;

/// A connection, shared by the tools of a server. It ends with the last of them, and so does the program.
pub(super) struct Connection {
    target: Target,
    connect_timeout: Duration,
    pub(super) call_timeout: Duration,
    service: Mutex<Option<Arc<Live>>>,
    /// The schemas that the tools here have, by their names at the server.
    known: std::sync::OnceLock<BTreeMap<String, Fingerprint>>,
}

struct Live {
    service: Service,
    /// Whether a call has missed its time limit since the server was last seen alive.
    is_suspect: AtomicBool,
    is_lost: AtomicBool,
    /// Reads the status of HTTP from an error; none for a program.
    read_status: Option<ReadStatus>,
}

impl Connection {
    pub(super) fn new(target: Target, connect_timeout: Duration, call_timeout: Duration) -> Self {
        let (service, known) = (Mutex::default(), std::sync::OnceLock::new());
        Connection { target, connect_timeout, call_timeout, service, known }
    }

    /// The program or the address.
    pub(super) fn server(&self) -> String {
        match &self.target {
            Target::Process { program, .. } => program.to_string_lossy().into_owned(),
            Target::Http(config) => config.uri.to_string(),
        }
    }

    fn unreachable(&self, message: impl ToString) -> McpError {
        McpError::Unreachable { server: self.server(), message: message.to_string() }
    }

    /// Connects for the first time, and returns the tools.
    pub(super) async fn open(&self) -> Result<Vec<ServerTool>, McpError> {
        let mut service = self.service.lock().await;
        let (live, tools) = self.connect().await?;
        *service = Some(Arc::new(live));
        let known = tools.iter().map(|tool| (tool.name.to_string(), fingerprint(tool))).collect();
        // It is opened once.
        let _ = self.known.set(known);
        Ok(tools)
    }

    async fn connect(&self) -> Result<(Live, Vec<ServerTool>), McpError> {
        let connecting = async {
            let (service, read_status) = match &self.target {
                Target::Process { program, args, env, directory } => {
                    let mut command = Command::new(program);
                    command.args(args).envs(env).kill_on_drop(true);
                    if let Some(directory) = directory {
                        command.current_dir(directory);
                    }
                    let process = TokioChildProcess::builder(command).stderr(Stdio::inherit()).spawn();
                    let (process, _stderr) = process.map_err(|error| self.unreachable(error))?;
                    (().serve(process).await, None)
                }
                Target::Http(config) => {
                    let transport = StreamableHttpClientTransport::from_config(config.clone());
                    let read_status = status::reader(&transport);
                    (().serve(transport).await, Some(read_status))
                }
            };
            let service = service.map_err(|error| self.unreachable(why_not_begun(&error)))?;
            let tools = service.list_all_tools().await.map_err(|error| self.unreachable(why_failed(&error)))?;
            let (is_suspect, is_lost) = (AtomicBool::new(false), AtomicBool::new(false));
            Ok((Live { service, is_suspect, is_lost, read_status }, tools))
        };
        let late = || self.unreachable(format!("there was no connection within {:?}", self.connect_timeout));
        timeout(self.connect_timeout, connecting).await.unwrap_or_else(|_| Err(late()))
    }

    /// The connection that is there, or another one.
    async fn live(&self) -> Result<Arc<Live>, McpError> {
        let mut service = self.service.lock().await;
        if let Some(live) = service.clone() {
            if live.is_alive().await {
                return Ok(live);
            }
            *service = None;
            tracing::warn!(server = self.server(), "the connection to an MCP server is made again");
        }
        let (live, tools) = self.connect().await?;
        self.warn_of_changes(&tools);
        Ok(Arc::clone(service.insert(Arc::new(live))))
    }

    /// The tools here are those of the first connection.
    fn warn_of_changes(&self, tools: &[ServerTool]) {
        for (name, known) in self.known.get().into_iter().flatten() {
            let now = tools.iter().find(|tool| tool.name == **name).map(fingerprint);
            match now {
                Some(now) if now == *known => {}
                Some(_) => tracing::warn!(server = self.server(), tool = name, "the schema of an MCP tool has changed"),
                None => tracing::warn!(server = self.server(), tool = name, "an MCP tool is not there any more"),
            }
        }
    }

    /// Calls a tool.
    pub(super) async fn call(&self, tool: &str, arguments: JsonObject) -> Result<graphweft::Json, McpError> {
        let calling = async {
            let live = self.live().await?;
            let params = CallToolRequestParams::new(tool.to_owned()).with_arguments(arguments);
            // Dropped at the time limit, the call is cancelled at the server.
            let called = timeout(self.call_timeout, live.service.call_tool_once(params)).await;
            match called {
                Ok(Ok(CallToolResponse::Complete(result))) => result::read(result),
                Ok(Ok(CallToolResponse::InputRequired(_))) => {
                    Err(McpError::Unsupported { needs: "answers from a person".to_owned() })
                }
                Ok(Ok(_)) => Err(McpError::Unsupported { needs: "to be asked later for its result".to_owned() }),
                Ok(Err(ServiceError::McpError(error))) => {
                    Err(McpError::Refused { message: error.message.into_owned() })
                }
                Ok(Err(error)) => Err(self.failed(&live, &error)),
                Err(_) => {
                    live.is_suspect.store(true, Ordering::Relaxed);
                    Err(McpError::TimedOut { server: self.server(), after: self.call_timeout })
                }
            }
        };
        calling.await
    }

    /// A call that the transport has not brought to its end.
    fn failed(&self, live: &Live, error: &ServiceError) -> McpError {
        let server = self.server();
        let status = match (error, live.read_status) {
            (ServiceError::TransportSend(error), Some(read)) => read(&*error.error),
            _ => None,
        };
        // With a status the server is there, but for a session that it does not know.
        let is_gone = status.as_ref().is_none_or(|status| status.code == 404);
        if is_gone && matches!(error, ServiceError::TransportClosed | ServiceError::TransportSend(_)) {
            live.is_lost.store(true, Ordering::Relaxed);
        }
        match status.as_ref().and_then(|status| Some((status.code, status.refusal()?))) {
            Some((status, message)) => McpError::NotTaken { server, status, message },
            None => McpError::Lost { server, message: why_failed(error) },
        }
    }
}

/// The text of an error, without the name of the transport: that is a type.
fn why_failed(error: &ServiceError) -> String {
    match error {
        ServiceError::TransportSend(error) => text_of(&*error.error),
        error => with_causes(error),
    }
}

/// Why a transport has failed: the error of an HTTP client says which request it was, and its causes say why.
fn text_of(error: &(dyn Error + 'static)) -> String {
    with_causes(status::of_client(error).unwrap_or(error))
}

/// The same of one while a connection begins.
fn why_not_begun(error: &ClientInitializeError) -> String {
    match error {
        ClientInitializeError::TransportError { error, context } => {
            format!("{}, when {context}", text_of(&*error.error))
        }
        error => with_causes(error),
    }
}

impl Live {
    async fn is_alive(&self) -> bool {
        if self.is_lost.load(Ordering::Relaxed) || self.service.is_closed() || self.service.is_transport_closed() {
            return false;
        }
        if !self.is_suspect.load(Ordering::Relaxed) {
            return true;
        }
        let ping = self.service.send_request(ClientRequest::PingRequest(PingRequest::default()));
        let is_alive = matches!(timeout(PING, ping).await, Ok(Ok(_) | Err(ServiceError::McpError(_))));
        self.is_suspect.store(!is_alive, Ordering::Relaxed);
        is_alive
    }
}

/// That of a tool, to see whether its schema has changed.
fn fingerprint(tool: &ServerTool) -> Fingerprint {
    Fingerprint::of(&graphweft::Json::Object((*tool.input_schema).clone()))
}
