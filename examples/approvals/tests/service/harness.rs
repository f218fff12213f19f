//! A service as a process, and a client of it.

use std::path::Path;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;
use tokio::process::{Child, Command};

/// Nothing here takes long. What would never come is a failure after this time.
pub(crate) async fn soon<T>(future: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(30), future).await.expect("it comes soon")
}

pub(crate) struct Service {
    process: Child,
    address: String,
}

impl Service {
    /// In a directory, where its database is. At a slow bank a payment never ends.
    pub(crate) async fn start(directory: &Path, bank: Bank) -> Self {
        Self::start_with(directory, bank, &[]).await
    }

    pub(crate) async fn start_with(directory: &Path, bank: Bank, variables: &[(&str, String)]) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_approvals"));
        command.args(["--address", "127.0.0.1:0", "--bank-seconds", bank.seconds()]).current_dir(directory);
        command.envs(variables.iter().cloned());
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
        let mut process = command.spawn().unwrap();
        let mut line = String::new();
        soon(BufReader::new(process.stdout.as_mut().unwrap()).read_line(&mut line)).await.unwrap();
        let address = line.trim_end().strip_prefix("listening on http://").expect("it listens").to_owned();
        Service { process, address }
    }

    pub(crate) async fn connect(&self) -> Connection {
        Connection(BufReader::new(TcpStream::connect(&self.address).await.unwrap()))
    }

    /// A request on a connection of its own.
    pub(crate) async fn send(&self, method: &str, path: &str, body: &Value) -> (u16, Value) {
        let mut connection = self.connect().await;
        soon(connection.send(method, path, "Connection: close\r\n", &body.to_string())).await;
        let status = soon(connection.head()).await;
        let mut body = String::new();
        soon(connection.0.read_to_string(&mut body)).await.unwrap();
        (status, serde_json::from_str(&body).unwrap_or(Value::Null))
    }

    /// The events of a run from those with the last number that a client has seen.
    pub(crate) async fn events(&self, run: &str, last: Option<&str>) -> Events {
        let mut connection = self.connect().await;
        let seen = last.map_or(String::new(), |id| format!("Last-Event-ID: {id}\r\n"));
        soon(connection.send("GET", &format!("/runs/{run}/events"), &seen, "")).await;
        assert_eq!(soon(connection.head()).await, 200);
        Events { connection, text: String::new() }
    }

    pub(crate) fn terminate(&self) {
        let kill = std::process::Command::new("kill").arg(self.process.id().unwrap().to_string()).status();
        assert!(kill.unwrap().success());
    }

    /// Without any warning.
    pub(crate) async fn kill(mut self) {
        self.process.kill().await.unwrap();
    }

    /// How it has ended, and what it has said of that.
    pub(crate) async fn end(self) -> (ExitStatus, String) {
        let output = soon(self.process.wait_with_output()).await.unwrap();
        (output.status, String::from_utf8(output.stderr).unwrap())
    }
}

#[derive(Clone, Copy)]
pub(crate) enum Bank {
    IsQuick,
    IsSlow,
}

impl Bank {
    pub(crate) fn seconds(self) -> &'static str {
        match self {
            Bank::IsQuick => "0",
            Bank::IsSlow => "1000000",
        }
    }
}

pub(crate) struct Connection(pub(crate) BufReader<TcpStream>);

impl Connection {
    pub(crate) async fn send(&mut self, method: &str, path: &str, headers: &str, body: &str) {
        let request = format!(
            "{method} {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n\
             Content-Length: {}\r\n{headers}\r\n{body}",
            body.len()
        );
        self.0.write_all(request.as_bytes()).await.unwrap();
    }

    /// Reads the head of a response, and returns its status.
    pub(crate) async fn head(&mut self) -> u16 {
        let status = self.line().await;
        while !self.line().await.is_empty() {}
        status.split(' ').nth(1).unwrap().parse().unwrap()
    }

    pub(crate) async fn line(&mut self) -> String {
        let mut line = String::new();
        self.0.read_line(&mut line).await.unwrap();
        line.strip_suffix("\r\n").expect("the connection is open").to_owned()
    }

    /// The next piece of a body; empty at its end.
    pub(crate) async fn chunk(&mut self) -> String {
        let length = usize::from_str_radix(&self.line().await, 16).unwrap();
        let mut chunk = vec![0; length];
        self.0.read_exact(&mut chunk).await.unwrap();
        assert_eq!(self.line().await, "", "a chunk ends with its line");
        String::from_utf8(chunk).unwrap()
    }
}

/// A stream of server-sent events.
pub(crate) struct Events {
    connection: Connection,
    text: String,
}

impl Events {
    /// The id and the data of the next one; `None` after the last. A connection that is cut before that is a failure.
    pub(crate) async fn next(&mut self) -> Option<(String, Value)> {
        loop {
            if let Some((event, rest)) = self.text.split_once("\n\n") {
                let field = |name| event.lines().find_map(|line| line.strip_prefix(name)).map(str::to_owned);
                let found = field("id: ").zip(field("data: "));
                self.text = rest.to_owned();
                match found {
                    Some((id, data)) => return Some((id, serde_json::from_str(&data).unwrap())),
                    // It only keeps the connection.
                    None => continue,
                }
            }
            let chunk = soon(self.connection.chunk()).await;
            if chunk.is_empty() {
                return None;
            }
            self.text += &chunk;
        }
    }

    /// All until one of this type, or until the stream ends.
    pub(crate) async fn until(&mut self, kind: &str) -> Vec<(String, Value)> {
        let mut seen = Vec::new();
        while let Some(event) = self.next().await {
            seen.push(event);
            if seen.last().is_some_and(|(_, event)| event["type"] == kind) {
                break;
            }
        }
        seen
    }
}

/// What happened where.
pub(crate) fn shown(events: &[(String, Value)]) -> Vec<String> {
    let shown = |(_, event): &(String, Value)| {
        format!("{} {}", event["path"].as_str().unwrap(), event["type"].as_str().unwrap())
    };
    events.iter().map(shown).collect()
}

pub(crate) async fn large_refund(service: &Service) {
    let started = service.send("POST", "/refunds", &json!({"tenant": "acme", "order": "large", "cents": 25_000})).await;
    assert_eq!(started, (201, json!({"run": "refund-large"})));
}

pub(crate) async fn small_refund(service: &Service) {
    let started = service.send("POST", "/refunds", &json!({"tenant": "zoo", "order": "small", "cents": 25})).await;
    assert_eq!(started, (201, json!({"run": "refund-small"})));
}

/// The bank calls back.
pub(crate) async fn settle(service: &Service, order: &str, expected: &str) {
    let path = format!("/runs/refund-{order}/signals/settled?id=evt_1");
    let sent = service.send("POST", &path, &json!({"reference": format!("TX-{order}")})).await;
    assert_eq!(sent, (200, json!({"signal": expected})));
}
