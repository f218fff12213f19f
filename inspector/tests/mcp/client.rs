//! A client that sends exactly what a test says.

use std::time::Duration;

use graphweft::Engine;
use graphweft_inspector::McpServer;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, Lines, ReadHalf, WriteHalf, duplex, split};
use tokio::task::JoinHandle;
use tokio::time::timeout;

/// A test that waits longer has found something.
const PATIENCE: Duration = Duration::from_secs(30);

pub(crate) struct Client {
    lines: Lines<BufReader<ReadHalf<DuplexStream>>>,
    write: WriteHalf<DuplexStream>,
    serving: JoinHandle<std::io::Result<()>>,
    /// In the `_meta` of each request, for a client of version 2026-07-28.
    meta: Option<Value>,
    id: u64,
}

impl Client {
    fn connect(engine: &Engine) -> Self {
        let (client, server) = duplex(1 << 20);
        let (read, write) = split(server);
        let serving = tokio::spawn(McpServer::new(engine.clone()).serve(read, write));
        let (read, write) = split(client);
        Client { lines: BufReader::new(read).lines(), write, serving, meta: None, id: 0 }
    }

    /// A client of version 2025-11-25.
    pub(crate) async fn of(engine: &Engine, capabilities: Value) -> Self {
        let mut client = Client::connect(engine);
        let about = json!({"name": "test", "version": "1"});
        let params = json!({"protocolVersion": "2025-11-25", "capabilities": capabilities, "clientInfo": about});
        let initialized = client.request("initialize", params).await;
        assert_eq!(initialized["result"]["protocolVersion"], "2025-11-25");
        client.send(json!({"jsonrpc": "2.0", "method": "notifications/initialized"})).await;
        client
    }

    /// A client of version 2026-07-28, to which servers send no requests.
    pub(crate) async fn of_2026(engine: &Engine, capabilities: Value) -> Self {
        let mut client = Client::connect(engine);
        client.meta = Some(json!({
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
            "io.modelcontextprotocol/clientCapabilities": capabilities,
        }));
        client
    }

    pub(crate) async fn send(&mut self, message: Value) {
        self.write.write_all(format!("{message}\n").as_bytes()).await.unwrap();
    }

    /// Sends a line that need not be a message.
    pub(crate) async fn send_line(&mut self, line: &[u8]) {
        self.write.write_all(&[line, b"\n"].concat()).await.unwrap();
    }

    /// The next message of the server; `None` at the end.
    pub(crate) async fn next(&mut self) -> Option<Value> {
        let line = timeout(PATIENCE, self.lines.next_line()).await.expect("the server says something").unwrap()?;
        Some(serde_json::from_str(&line).unwrap())
    }

    /// Sends a request, and returns its id.
    pub(crate) async fn begin(&mut self, method: &str, mut params: Value) -> u64 {
        self.id += 1;
        if let Some(meta) = &self.meta {
            params["_meta"] = meta.clone();
        }
        self.send(json!({"jsonrpc": "2.0", "id": self.id, "method": method, "params": params})).await;
        self.id
    }

    /// The response to a request.
    pub(crate) async fn request(&mut self, method: &str, params: Value) -> Value {
        let id = self.begin(method, params).await;
        let response = self.next().await.unwrap();
        assert_eq!(response["id"], id, "{response}");
        response
    }

    /// The result of a call.
    pub(crate) async fn call(&mut self, name: &str, arguments: Value) -> Value {
        let response = self.request("tools/call", json!({"name": name, "arguments": arguments})).await;
        assert!(response.get("error").is_none(), "{response}");
        response["result"].clone()
    }

    /// The names of the tools.
    pub(crate) async fn tools(&mut self) -> Vec<String> {
        let listed = self.request("tools/list", json!({})).await;
        let tools = listed["result"]["tools"].as_array().unwrap();
        tools.iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
    }

    /// Closes the streams, and waits until the server has noticed.
    pub(crate) async fn close(self) -> std::io::Result<()> {
        drop((self.lines, self.write));
        timeout(PATIENCE, self.serving).await.expect("the server ends").unwrap()
    }
}
