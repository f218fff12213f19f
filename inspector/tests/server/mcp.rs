//! The guards in front of `/mcp`.

use graphweft_inspector::Inspector;
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::Server;
use crate::client::{Client, Response};
use crate::flows::engine;

const HEADERS: [(&str, &str); 2] =
    [("Content-Type", "application/json"), ("Accept", "application/json, text/event-stream")];

async fn server() -> Server {
    Server::with(Inspector::new(engine()).with_mcp()).await
}

fn initialize() -> String {
    let client = json!({"name": "test", "version": "1"});
    let params = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client});
    json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params}).to_string()
}

async fn post(client: &Client, more: &[(&str, &str)], body: String) -> Response {
    client.send("POST", "/mcp", &[&HEADERS, more].concat(), Some(body)).await
}

#[tokio::test]
async fn a_client_with_the_token_is_served() {
    let server = server().await;
    let response = post(&server, &[], initialize()).await;
    assert_eq!(response.status, 200, "{}", response.text());
    assert!(response.text().contains(r#""name":"graphweft""#), "{}", response.text());
    let own = format!("http://{}", server.address);
    assert_eq!(post(&server, &[("Origin", &own)], initialize()).await.status, 200);
}

/// Reading as well: what is read are results of calls.
#[tokio::test]
async fn every_request_needs_the_token_of_this_start() {
    let server = server().await;
    let stranger = Client { address: server.address, token: None };
    for method in ["POST", "GET", "DELETE", "OPTIONS", "HEAD"] {
        let refused = stranger.send(method, "/mcp", &HEADERS, Some(initialize())).await;
        assert_eq!(refused.status, 403, "{method}");
    }
    assert_eq!(post(&stranger, &[], initialize()).await.problem(403).0, "missing_token");
    let wrong = [("X-Graphweft-Token", "0")];
    assert_eq!(post(&stranger, &wrong, initialize()).await.problem(403).0, "wrong_token");
}

#[tokio::test]
async fn it_is_asked_for_by_its_own_names_and_pages_only() {
    let server = server().await;
    let rebound = format!("evil.example:{}", server.address.port());
    assert_eq!(post(&server, &[("Host", &rebound)], initialize()).await.problem(421).0, "unknown_host");
    for origin in ["http://evil.example", "null", "http://localhost"] {
        let refused = post(&server, &[("Origin", origin)], initialize()).await;
        assert_eq!(refused.problem(403).0, "cross_origin", "{origin}");
    }
    for method in ["POST", "GET"] {
        let refused = server.send(method, "/mcp", &[("Sec-Fetch-Site", "cross-site")], None).await;
        assert_eq!(refused.problem(403).0, "cross_origin", "{method}");
    }
}

#[tokio::test]
async fn a_read_only_inspector_refuses_calls() {
    let server = Server::with(Inspector::new(engine()).with_mcp().read_only()).await;
    for method in ["POST", "GET", "DELETE"] {
        let refused = server.send(method, "/mcp", &HEADERS, Some(initialize())).await;
        assert_eq!(refused.problem(403).0, "read_only", "{method}");
    }
}

#[tokio::test]
async fn bodies_and_streams_are_limited() {
    let server = Server::with(Inspector::new(engine()).with_mcp().max_body(1000)).await;
    assert_eq!(post(&server, &[], initialize()).await.status, 200);
    let long = format!("{}{}", initialize(), " ".repeat(1000));
    assert_eq!(post(&server, &[], long).await.problem(413).0, "body_too_large");
    let full = Server::with(Inspector::new(engine()).with_mcp().max_streams(0)).await;
    assert_eq!(post(&full, &[], initialize()).await.problem(429).0, "too_many_streams");
}

/// Opens a session, and returns its id.
async fn open(client: &Client) -> String {
    let response = post(client, &[], initialize()).await;
    assert_eq!(response.status, 200, "{}", response.text());
    let id = response.header("mcp-session-id").unwrap().to_owned();
    let initialized = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    assert_eq!(post(client, &[("Mcp-Session-Id", &id)], initialized.to_string()).await.status, 202);
    id
}

/// The status of a request in a session.
async fn ping(client: &Client, session: &str) -> u16 {
    let ping = json!({"jsonrpc": "2.0", "id": 2, "method": "ping"});
    post(client, &[("Mcp-Session-Id", session)], ping.to_string()).await.status
}

#[tokio::test]
async fn a_further_session_takes_the_place_of_the_one_that_is_silent_for_the_longest_time() {
    let server = Server::with(Inspector::new(engine()).with_mcp().max_sessions(2)).await;
    let (first, second) = (open(&server).await, open(&server).await);
    assert_eq!(ping(&server, &first).await, 200);
    let third = open(&server).await;
    assert_eq!(ping(&server, &second).await, 404);
    assert_eq!((ping(&server, &first).await, ping(&server, &third).await), (200, 200));
    // What is no session and what is refused takes no place.
    assert_eq!(ping(&server, "none").await, 404);
    assert_eq!(post(&server, &[], "{".to_owned()).await.status, 400);
    assert_eq!((ping(&server, &first).await, ping(&server, &third).await), (200, 200));
}

#[tokio::test]
async fn sessions_with_an_open_stream_are_not_closed() {
    let server = Server::with(Inspector::new(engine()).with_mcp().max_sessions(1)).await;
    let first = open(&server).await;
    let mut stream = tokio::net::TcpStream::connect(server.address).await.unwrap();
    let headers = [("Accept", "text/event-stream"), ("Mcp-Session-Id", &first)];
    stream.write_all(server.request("GET", "/mcp", &headers, None).as_bytes()).await.unwrap();
    let mut start = [0; 12];
    stream.read_exact(&mut start).await.unwrap();
    assert_eq!(&start, b"HTTP/1.1 200");
    assert_eq!(post(&server, &[], initialize()).await.problem(429).0, "too_many_sessions");
    assert_eq!(ping(&server, &first).await, 200);
    // Its client closes it.
    let closed = server.send("DELETE", "/mcp", &[("Mcp-Session-Id", &first)], None).await;
    assert!((200..300).contains(&closed.status), "{}", closed.text());
    open(&server).await;
}

#[tokio::test]
async fn what_is_no_message_gets_an_error_of_json_rpc() {
    let server = server().await;
    let session = open(&server).await;
    let deep = format!("{}{}", "[".repeat(10_000), "]".repeat(10_000));
    let deep = format!(
        r#"{{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{{"name":"x","arguments":{{"a":{deep}}}}}}}"#
    );
    let cases =
        [("{".to_owned(), -32700, json!(null)), (deep, -32600, json!(7)), ("[]".to_owned(), -32600, json!(null))];
    for (body, code, id) in cases {
        let refused = post(&server, &[("Mcp-Session-Id", &session)], body).await;
        assert_eq!(refused.status, 400, "{}", refused.text());
        assert_eq!((&refused.json()["error"]["code"], &refused.json()["id"]), (&json!(code), &id));
    }
    let call = json!({"jsonrpc": "2.0", "id": 8, "method": "tools/call", "params": {"name": "x", "arguments": [1]}});
    let refused = post(&server, &[("Mcp-Session-Id", &session)], call.to_string()).await;
    assert!(refused.text().contains("-32602"), "{}", refused.text());
}

#[tokio::test]
async fn it_is_not_there_unless_it_is_wanted() {
    let server = Server::of(&engine()).await;
    let response = post(&server, &[], initialize()).await;
    assert!((400..500).contains(&response.status), "{} {}", response.status, response.text());
}

/// The login of the app is in front of it.
#[tokio::test]
async fn in_an_app_it_has_no_token() {
    let listener = tokio::net::TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let client = Client { address: listener.local_addr().unwrap(), token: None };
    let app = axum::Router::new().nest("/runs", Inspector::new(engine()).with_mcp().router());
    let task = tokio::spawn(async { axum::serve(listener, app).await });
    let served = client.send("POST", "/runs/mcp", &HEADERS, Some(initialize())).await;
    assert_eq!(served.status, 200, "{}", served.text());
    let refused = [&HEADERS[..], &[("Origin", "http://evil.example")]].concat();
    let refused = client.send("POST", "/runs/mcp", &refused, Some(initialize())).await;
    assert_eq!(refused.problem(403).0, "cross_origin");
    task.abort();
}
