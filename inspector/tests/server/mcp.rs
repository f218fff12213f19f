//! The guards in front of `/mcp`.

use graphweft_inspector::Inspector;
use serde_json::json;

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
