//! What the tests share: the servers, and a node with an agent that has their tools.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use graphweft::prelude::*;
use graphweft::{Event, Json};
use graphweft_agents::{Agent, AgentError, McpBuilder, McpClient, Message, Models, Request, Scripted};
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("mcp")
}

fn everything_script() -> PathBuf {
    let script = folder().join("node_modules/@modelcontextprotocol/server-everything/dist/index.js");
    assert!(script.exists(), "run `npm ci` in {}", folder().display());
    script
}

/// The server with one of everything, over its standard streams.
pub(crate) fn everything() -> McpBuilder {
    McpClient::process("node").arg(everything_script()).arg("stdio")
}

/// The same over HTTP, until the process is dropped.
pub(crate) async fn everything_over_http() -> (Child, String) {
    // Another program may take the port before the server does.
    for _ in 0..5 {
        let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let mut command = Command::new("node");
        command.arg(everything_script()).arg("streamableHttp").env("PORT", port.to_string());
        let mut server = command.stdout(Stdio::null()).stderr(Stdio::piped()).kill_on_drop(true).spawn().unwrap();
        let mut lines = BufReader::new(server.stderr.take().unwrap()).lines();
        while let Some(line) = lines.next_line().await.unwrap() {
            if line.contains("listening") {
                return (server, format!("http://127.0.0.1:{port}/mcp"));
            }
        }
    }
    panic!("the server does not listen")
}

/// A server that is not to be relied on, and what it has done.
pub(crate) struct Unreliable(tempfile::TempDir);

impl Unreliable {
    pub(crate) fn new() -> Self {
        Unreliable(tempfile::tempdir().unwrap())
    }

    fn ledger_file(&self) -> PathBuf {
        self.0.path().join("ledger")
    }

    pub(crate) fn server(&self) -> McpBuilder {
        McpClient::process("node").arg(folder().join("server.mjs")).arg(self.ledger_file())
    }

    /// What all processes of the server have done, in order.
    pub(crate) fn ledger(&self) -> Vec<String> {
        let written = std::fs::read_to_string(self.ledger_file()).unwrap_or_default();
        written.lines().map(str::to_owned).collect()
    }

    pub(crate) fn calls(&self) -> Vec<String> {
        self.ledger().into_iter().filter(|line| line.starts_with("call ")).collect()
    }

    /// The processes that were started.
    pub(crate) fn processes(&self) -> Vec<String> {
        self.ledger().iter().filter_map(|line| line.strip_prefix("start ")).map(str::to_owned).collect()
    }
}

/// Waits until something is true, for a minute at most.
pub(crate) async fn until(what: &str, is_true: impl Fn() -> bool) {
    let waiting = async {
        while !is_true() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    assert!(tokio::time::timeout(Duration::from_secs(60), waiting).await.is_ok(), "{what}");
}

pub(crate) fn is_alive(process: &str) -> bool {
    let status = std::process::Command::new("kill").args(["-0", process]).stderr(Stdio::null()).status();
    status.unwrap().success()
}

#[node]
pub(crate) async fn clerk(text: String, #[resource] server: &McpClient, ctx: &Context) -> Result<String, AgentError> {
    Agent::new("You use tools.").tools(server.tools()).run(text, ctx).await
}

workflow! { pub(crate) desk(String) -> String { START => clerk; } }

/// Runs an agent with the tools of a server, and returns what its model was asked.
pub(crate) async fn requests(server: McpClient, replies: impl IntoIterator<Item = Message>) -> Vec<Request> {
    let model = Scripted::turns(replies);
    let engine = Engine::builder().resource(Models::new(model.clone())).resource(server).build().unwrap();
    let run = engine.start::<desk>("Go".into()).await.unwrap();
    assert_eq!(run.result().await.unwrap(), "Done.");
    model.requests()
}

/// The results of these calls, each in a turn of its own.
pub(crate) async fn results<'n>(server: McpClient, calls: impl IntoIterator<Item = (&'n str, Json)>) -> Vec<String> {
    let replies = calls.into_iter().map(|call| Scripted::calls([call])).chain([Message::assistant("Done.")]);
    let last = requests(server, replies.collect::<Vec<_>>()).await.pop().unwrap();
    let content = |message: &Message| match message {
        Message::Tool { content, .. } => Some(content.clone()),
        _ => None,
    };
    last.messages.iter().filter_map(content).collect()
}

/// The payloads of the notes of this name.
pub(crate) fn notes(history: &[Event], name: &str) -> Vec<Json> {
    let payload = |event: &Event| match &event.kind {
        EventKind::Note { name: of, payload, .. } if of == name => Some(payload.clone()),
        _ => None,
    };
    history.iter().filter_map(payload).collect()
}
