//! A server behind a URL that answers a call with an error of HTTP.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use graphweft::prelude::*;
use graphweft::{Json, json};
use graphweft_agents::{McpClient, Message, Models, Scripted};

use crate::scene::{desk, results};

/// The methods that a server was asked for.
type Asked = Arc<Mutex<Vec<String>>>;

/// A server with the tool `pay`. It answers the calls with these heads, and then with a result.
fn server(heads: &[&'static str]) -> (String, Asked) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    let heads = heads.to_vec();
    let (asked, heads) = (Asked::default(), Mutex::new(heads.into_iter()));
    let log = Arc::clone(&asked);
    std::thread::spawn(move || {
        for socket in listener.incoming() {
            serve(socket.unwrap(), &log, || heads.lock().unwrap().next());
        }
    });
    (url, asked)
}

/// Answers one request. `None` if the connection is closed.
fn serve(mut socket: TcpStream, log: &Asked, next: impl Fn() -> Option<&'static str>) -> Option<()> {
    let mut lines = BufReader::new(socket.try_clone().unwrap());
    let (mut first, mut length) = (String::new(), 0);
    lines.read_line(&mut first).ok()?;
    loop {
        let mut line = String::new();
        lines.read_line(&mut line).ok()?;
        if let Some(value) = line.to_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().unwrap();
        }
        if line.trim().is_empty() {
            break;
        }
    }
    let mut body = vec![0; length];
    lines.read_exact(&mut body).ok()?;
    let asked: Json = serde_json::from_slice(&body).unwrap_or_default();
    let method = asked["method"].as_str().unwrap_or_default().to_owned();
    let result = match method.as_str() {
        "initialize" => Some(json!({
            "protocolVersion": "2025-06-18", "capabilities": { "tools": {} }, "serverInfo": { "name": "bank", "version": "1" },
        })),
        "tools/list" => Some(json!({ "tools": [{ "name": "pay", "inputSchema": { "type": "object" } }] })),
        "tools/call" => Some(json!({ "content": [{ "type": "text", "text": "paid" }] })),
        "ping" => Some(json!({})),
        _ => None,
    };
    let failure = if method == "tools/call" { next() } else { None };
    let (head, text) = match (failure, result) {
        (Some(head), _) => (head, "no".to_owned()),
        (None, Some(result)) => {
            let text = json!({ "jsonrpc": "2.0", "id": asked["id"], "result": result }).to_string();
            ("200 OK\r\ncontent-type: application/json\r\nmcp-session-id: one", text)
        }
        // It has no stream of its own.
        (None, None) if first.starts_with("GET") => ("405 Method Not Allowed", String::new()),
        (None, None) if method == "server/discover" => ("400 Bad Request", String::new()),
        (None, None) => ("202 Accepted", String::new()),
    };
    log.lock().unwrap().push(method);
    let answer = format!("HTTP/1.1 {head}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{text}", text.len());
    socket.write_all(answer.as_bytes()).ok()
}

fn times(asked: &Asked, method: &str) -> usize {
    asked.lock().unwrap().iter().filter(|asked| *asked == method).count()
}

#[tokio::test]
async fn a_status_that_says_that_nothing_was_done_is_an_error_and_the_session_is_used_further() {
    let refusals = [
        ("401 Unauthorized", "HTTP 401"),
        ("401 Unauthorized\r\nwww-authenticate: Bearer", "HTTP 401"),
        ("403 Forbidden", "HTTP 403"),
        ("429 Too Many Requests\r\nretry-after: 5", "HTTP 429"),
    ];
    for (head, text) in refusals {
        let (url, asked) = server(&[head]);
        let client = McpClient::http(url).at_most_once().connect().await.unwrap();
        // For such a tool a call that was lost would be a question.
        let results = results(client, [("pay", json!({})), ("pay", json!({}))]).await;
        assert!(results[0].contains("did not take the call") && results[0].contains(text), "{results:?}");
        assert!(!results[0].contains("::StreamableHttp"), "{results:?}");
        assert_eq!(results[1], "paid");
        assert_eq!(times(&asked, "initialize"), 1, "the session is kept");
    }
}

#[tokio::test]
async fn after_any_other_status_it_is_not_known_whether_the_call_went_through() {
    let (url, asked) = server(&["500 Internal Server Error"]);
    let client = McpClient::http(url).at_most_once().connect().await.unwrap();
    let model = Scripted::turns([Scripted::calls([("pay", json!({}))]), Message::assistant("Done.")]);
    let engine = Engine::builder().resource(Models::new(model)).resource(client).build().unwrap();
    let run = engine.start::<desk>("Go".into()).await.unwrap();
    let Outcome::Waiting(questions) = run.outcome().await.unwrap() else { panic!("a person is asked") };
    let prompt = &questions[0].prompt;
    assert!(prompt.contains("was lost during the call: HTTP 500). Did it go through?"), "{prompt}");
    run.answer("went_through", "retry").await.unwrap();
    assert_eq!(run.result().await.unwrap(), "Done.");
    assert_eq!((times(&asked, "initialize"), times(&asked, "tools/call")), (1, 2));
}
