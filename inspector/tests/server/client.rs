//! A client that sends exactly what a test says.

use std::net::SocketAddr;
use std::time::Duration;

use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

/// A test that waits longer has found something.
const PATIENCE: Duration = Duration::from_secs(30);

#[derive(Clone, Debug)]
pub(crate) struct Client {
    pub(crate) address: SocketAddr,
    pub(crate) token: Option<String>,
}

#[derive(Debug)]
pub(crate) struct Response {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: Vec<u8>,
}

impl Response {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        header(&self.head, name)
    }

    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// The body of a success.
    #[track_caller]
    pub(crate) fn ok(&self) -> Value {
        assert!((200..300).contains(&self.status), "{} {}", self.status, self.text());
        if self.body.is_empty() { Value::Null } else { self.json() }
    }

    /// The code and the field of a problem.
    #[track_caller]
    pub(crate) fn problem(&self, status: u16) -> (String, String) {
        assert_eq!(self.status, status, "{}", self.text());
        assert_eq!(self.header("content-type"), Some("application/problem+json"));
        let json = self.json();
        assert_eq!(json["status"], status);
        assert_eq!(json["type"], format!("urn:graphweft:{}", json["code"].as_str().unwrap()));
        assert!(!json["detail"].as_str().unwrap().is_empty());
        let text = |name: &str| json[name].as_str().unwrap_or_default().to_owned();
        (text("code"), text("field"))
    }
}

fn header<'h>(head: &'h str, name: &str) -> Option<&'h str> {
    let mut lines = head.lines().skip(1).filter_map(|line| line.split_once(':'));
    lines.find(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| value.trim())
}

impl Client {
    pub(crate) async fn get(&self, path: &str) -> Response {
        self.send("GET", path, &[], None).await
    }

    pub(crate) async fn post(&self, path: &str, body: Value) -> Response {
        self.send("POST", path, &[("Content-Type", "application/json")], Some(body.to_string())).await
    }

    pub(crate) async fn delete(&self, path: &str) -> Response {
        self.send("DELETE", path, &[], None).await
    }

    pub(crate) fn request(&self, method: &str, path: &str, headers: &[(&str, &str)], body: Option<&str>) -> String {
        let mut text = format!("{method} {path} HTTP/1.1\r\n");
        let names = |name: &str| headers.iter().any(|(key, _)| key.eq_ignore_ascii_case(name));
        if !names("host") {
            text.push_str(&format!("Host: {}\r\n", self.address));
        }
        if let Some(token) = self.token.as_ref().filter(|_| !names("x-graphweft-token")) {
            text.push_str(&format!("X-Graphweft-Token: {token}\r\n"));
        }
        for (name, value) in headers {
            text.push_str(&format!("{name}: {value}\r\n"));
        }
        if let Some(body) = body {
            text.push_str(&format!("Content-Length: {}\r\n", body.len()));
        }
        text.push_str("Connection: close\r\n\r\n");
        text.push_str(body.unwrap_or_default());
        text
    }

    pub(crate) async fn send(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: Option<String>,
    ) -> Response {
        self.raw(self.request(method, path, headers, body.as_deref()).as_bytes()).await
    }

    /// Sends bytes, and reads until the server closes.
    pub(crate) async fn raw(&self, bytes: &[u8]) -> Response {
        let mut stream = TcpStream::connect(self.address).await.unwrap();
        // A server that refuses early closes before it has read all.
        let _sent = stream.write_all(bytes).await;
        let mut read = Vec::new();
        let _read = timeout(PATIENCE, stream.read_to_end(&mut read)).await.expect("the response ends");
        let end = find(&read, b"\r\n\r\n").unwrap_or_else(|| panic!("{}", String::from_utf8_lossy(&read)));
        let head = String::from_utf8(read[..end].to_vec()).unwrap();
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        let is_chunked = header(&head, "transfer-encoding") == Some("chunked");
        let body = if is_chunked { unchunked(&read[end + 4..]) } else { read[end + 4..].to_vec() };
        Response { status, head, body }
    }

    /// Opens a stream of server-sent events.
    pub(crate) async fn stream(&self, path: &str, last: Option<&str>) -> Sse {
        let last = last.map(|last| ("Last-Event-ID", last));
        let mut stream = TcpStream::connect(self.address).await.unwrap();
        let request = self.request("GET", path, &Vec::from_iter(last), None);
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut sse = Sse { stream, read: Vec::new(), text: String::new(), is_over: false };
        while find(&sse.read, b"\r\n\r\n").is_none() {
            assert!(sse.more().await, "{}", String::from_utf8_lossy(&sse.read));
        }
        let end = find(&sse.read, b"\r\n\r\n").unwrap();
        let head = String::from_utf8(sse.read.drain(..end + 4).collect()).unwrap();
        assert!(head.starts_with("HTTP/1.1 200"), "{head}");
        assert_eq!(header(&head, "content-type"), Some("text/event-stream"));
        sse
    }
}

/// A message of a stream.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Sent {
    pub(crate) id: String,
    pub(crate) event: String,
    pub(crate) data: Value,
}

pub(crate) struct Sse {
    pub(crate) stream: TcpStream,
    read: Vec<u8>,
    text: String,
    is_over: bool,
}

impl Sse {
    async fn more(&mut self) -> bool {
        let mut bytes = [0; 16384];
        let length = timeout(PATIENCE, self.stream.read(&mut bytes)).await.expect("the stream continues").unwrap_or(0);
        self.read.extend_from_slice(&bytes[..length]);
        length > 0
    }

    /// The next message; `None` at the end of the stream.
    pub(crate) async fn next(&mut self) -> Option<Sent> {
        loop {
            if let Some((message, rest)) = self.text.split_once("\n\n") {
                let lines = |name: &str| {
                    let of = |line: &str| line.strip_prefix(name).map(|value| value.trim_start().to_owned());
                    message.lines().filter_map(of).collect::<Vec<_>>().join("\n")
                };
                let (id, event, data) = (lines("id:"), lines("event:"), lines("data:"));
                self.text = rest.to_owned();
                if data.is_empty() {
                    continue;
                }
                return Some(Sent { id, event, data: serde_json::from_str(&data).unwrap() });
            }
            if self.is_over {
                return None;
            }
            while let Some((chunk, used)) = chunk(&self.read) {
                self.is_over |= chunk.is_empty();
                self.text.push_str(std::str::from_utf8(chunk).unwrap());
                self.read.drain(..used);
            }
            if self.text.contains("\n\n") || self.is_over {
                continue;
            }
            self.is_over = !self.more().await;
        }
    }

    pub(crate) async fn all(mut self) -> Vec<Sent> {
        let mut all = Vec::new();
        while let Some(sent) = self.next().await {
            all.push(sent);
        }
        all
    }
}

fn find(bytes: &[u8], what: &[u8]) -> Option<usize> {
    bytes.windows(what.len()).position(|window| window == what)
}

/// The first chunk, and how many bytes it takes.
fn chunk(bytes: &[u8]) -> Option<(&[u8], usize)> {
    let line = find(bytes, b"\r\n")?;
    let length = usize::from_str_radix(std::str::from_utf8(&bytes[..line]).ok()?, 16).ok()?;
    let chunk = bytes.get(line + 2..line + 2 + length)?;
    (bytes.len() >= line + 4 + length).then_some((chunk, line + 4 + length))
}

fn unchunked(mut bytes: &[u8]) -> Vec<u8> {
    let mut whole = Vec::new();
    while let Some((chunk, used)) = chunk(bytes) {
        whole.extend_from_slice(chunk);
        bytes = &bytes[used..];
    }
    whole
}
