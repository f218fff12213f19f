//! What others may try.

use std::time::Duration;

use graphweft_inspector::Inspector;
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::client::Client;
use crate::flows::engine;
use crate::{Server, encoded};

const JSON: (&str, &str) = ("Content-Type", "application/json");

/// A page of the attacker has a name that leads to this machine.
#[tokio::test]
async fn a_server_is_asked_for_by_its_own_names_only() {
    let server = Server::of(&engine()).await;
    let port = server.address.port();
    for own in [format!("127.0.0.1:{port}"), format!("localhost:{port}"), format!("[::1]:{port}")] {
        server.send("GET", "/api/runs", &[("Host", &own)], None).await.ok();
    }
    let others = [
        format!("evil.example:{port}"),
        "localhost".into(),
        format!("localhost:{}", port ^ 1),
        format!("localhost.evil.example:{port}"),
    ];
    for other in others.iter().map(String::as_str).chain(["", "evil.example", "localhost:80:80", "\u{e9}"]) {
        for path in ["/", "/api/runs", "/api/changes", "/assets/main.js", "/runs/x"] {
            let refused = server.send("GET", path, &[("Host", other)], None).await;
            // An HTTP library may refuse a host that is none by itself.
            assert!([400, 421].contains(&refused.status), "{other} {path}: {}", refused.status);
            assert!(!refused.text().contains(server.token.as_deref().unwrap()));
        }
    }
    let two =
        format!("GET /api/runs HTTP/1.1\r\nHost: localhost:{port}\r\nHost: evil.example\r\nConnection: close\r\n\r\n");
    assert!([400, 421].contains(&server.raw(two.as_bytes()).await.status));
    let absolute =
        format!("GET http://evil.example/api/runs HTTP/1.1\r\nHost: localhost:{port}\r\nConnection: close\r\n\r\n");
    assert_eq!(server.raw(absolute.as_bytes()).await.status, 421);
}

#[tokio::test]
async fn a_further_name_may_be_allowed() {
    let server = Server::with(Inspector::new(engine()).allow_host("runs.example")).await;
    let host = format!("runs.example:{}", server.address.port());
    server.send("GET", "/api/runs", &[("Host", &host)], None).await.ok();
    let origin = format!("http://{host}");
    let headers = [("Host", host.as_str()), ("Origin", &origin), JSON];
    server.send("POST", "/api/workflows/wide/runs", &headers, Some(json!({"input": 1}).to_string())).await.ok();
}

#[tokio::test]
async fn what_changes_something_needs_the_token_of_this_start() {
    let server = Server::of(&engine()).await;
    let stranger = Client { address: server.address, token: None };
    let body = || Some(json!({"input": 1, "id": "x"}).to_string());
    let routes = [
        ("POST", "/api/workflows/wide/runs"),
        ("POST", "/api/runs/x/cancel"),
        ("POST", "/api/runs/x/retry"),
        ("POST", "/api/runs/x/fork"),
        ("POST", "/api/runs/x/signals/s"),
        ("POST", "/api/runs/x/answers/q"),
        ("DELETE", "/api/runs/x"),
        ("PUT", "/api/runs/x"),
        ("PATCH", "/"),
    ];
    for (method, path) in routes {
        assert_eq!(
            stranger.send(method, path, &[JSON], body()).await.problem(403).0,
            "missing_token",
            "{method} {path}"
        );
        let token = server.token.as_deref().unwrap();
        for wrong in ["", "x", &token[1..], &format!("{token}0"), &"0".repeat(64)] {
            let refused = stranger.send(method, path, &[JSON, ("X-Graphweft-Token", wrong)], body()).await;
            assert_eq!(refused.problem(403).0, "wrong_token");
        }
    }
    assert_eq!(stranger.get("/api/runs/x").await.problem(404).0, "unknown_run", "nothing was started");
    // Another start has another token.
    let other = Server::of(&engine()).await;
    assert_ne!(other.token, server.token);
}

#[tokio::test]
async fn a_page_of_another_site_changes_nothing() {
    let server = Server::of(&engine()).await;
    let port = server.address.port();
    let body = || Some(json!({"input": 1, "id": "x"}).to_string());
    let post = async |headers: &[(&str, &str)]| server.send("POST", "/api/workflows/wide/runs", headers, body()).await;
    for origin in
        ["https://evil.example", "null", "", "http://localhost", "http://127.0.0.1", "file://", "http://localhost:1"]
    {
        assert_eq!(post(&[JSON, ("Origin", origin)]).await.problem(403).0, "cross_origin", "{origin}");
    }
    for site in ["cross-site", "same-site", "", "what"] {
        assert_eq!(post(&[JSON, ("Sec-Fetch-Site", site)]).await.problem(403).0, "cross_origin", "{site}");
        // It may not use up the streams either.
        let read = server.send("GET", "/api/changes", &[("Sec-Fetch-Site", site)], None).await;
        assert_eq!(read.problem(403).0, "cross_origin");
    }
    // What a form can send.
    for kind in ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", ""] {
        assert_eq!(post(&[("Content-Type", kind)]).await.problem(415).0, "not_json", "{kind}");
    }
    assert_eq!(server.get("/api/runs/x").await.problem(404).0, "unknown_run", "nothing was started");
    let own = format!("http://localhost:{port}");
    post(&[JSON, ("Origin", &own), ("Sec-Fetch-Site", "same-origin")]).await.ok();
    // No other site may read anything.
    let read = server.send("GET", "/api/runs", &[("Origin", "https://evil.example")], None).await;
    let asks = server
        .send(
            "OPTIONS",
            "/api/workflows/wide/runs",
            &[("Origin", "https://evil.example"), ("Access-Control-Request-Method", "POST")],
            None,
        )
        .await;
    for response in [read, asks] {
        assert!(!response.head.to_lowercase().contains("access-control"), "{}", response.head);
    }
}

#[tokio::test]
async fn every_response_has_the_headers_that_bind_a_browser() {
    let server = Server::of(&engine()).await;
    for path in ["/", "/runs/x", "/api/runs", "/api/nothing", "/assets/nothing.js", "/api/runs/none"] {
        let response = server.get(path).await;
        let policy = response.header("content-security-policy").unwrap();
        assert!(policy.contains("default-src 'none'") && policy.contains("frame-ancestors 'none'"), "{path}");
        assert!(!policy.contains("unsafe"), "{path}");
        assert_eq!(response.header("x-content-type-options"), Some("nosniff"), "{path}");
        assert_eq!(response.header("x-frame-options"), Some("DENY"), "{path}");
        assert_eq!(response.header("cache-control"), Some("no-store"), "{path}");
    }
    let refused = server.send("GET", "/", &[("Host", "evil.example")], None).await;
    assert!(refused.header("content-security-policy").is_some());
}

#[tokio::test]
async fn a_read_only_server_changes_nothing() {
    let engine = engine();
    engine.start_json("wide", json!(1)).id("w").await.unwrap().outcome().await.unwrap();
    let server = Server::with(Inspector::new(engine.clone()).read_only()).await;
    for path in [
        "/api/workflows/wide/runs",
        "/api/runs/w/cancel",
        "/api/runs/w/retry",
        "/api/runs/w/fork",
        "/api/runs/w/signals/s",
    ] {
        assert_eq!(server.post(path, json!({})).await.problem(403).0, "read_only", "{path}");
    }
    assert_eq!(server.delete("/api/runs/w").await.problem(403).0, "read_only");
    assert_eq!(server.get("/api/server").await.ok()["read_only"], true);
    assert_eq!(server.get("/api/runs/w").await.ok()["status"], "completed");
}

/// Mounted in an app, which has its own login.
#[tokio::test]
async fn a_router_in_an_app_refuses_what_comes_from_another_site() {
    let app = axum::Router::new().nest("/inspector", graphweft_inspector::router(engine()));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let client = Client { address: listener.local_addr().unwrap(), token: None };
    let served = tokio::spawn(axum::serve(listener, app).into_future());
    let start = "/inspector/api/workflows/wide/runs";
    client.post(start, json!({"input": 1, "id": "w"})).await.ok();
    client.get("/inspector/api/runs/w/view").await.ok();
    let own = format!("http://{}", client.address);
    let body = || Some(json!({"input": 1}).to_string());
    client.send("POST", start, &[JSON, ("Origin", &own)], body()).await.ok();
    // Behind a proxy that changes the host.
    let through = [JSON, ("Origin", "https://app.example"), ("Sec-Fetch-Site", "same-origin")];
    client.send("POST", start, &through, body()).await.ok();
    for headers in [[JSON, ("Origin", "https://evil.example")], [JSON, ("Sec-Fetch-Site", "cross-site")]] {
        assert_eq!(client.send("POST", start, &headers, body()).await.problem(403).0, "cross_origin");
    }
    assert_eq!(client.send("POST", start, &[("Content-Type", "text/plain")], body()).await.problem(415).0, "not_json");
    for path in ["/inspector", "/inspector/runs/w"] {
        let page = client.get(path).await;
        assert!(page.text().contains("src=\"/inspector/assets/"), "{path}: {}", page.text());
        assert!(!page.text().contains("graphweft-token"));
    }
    served.abort();
}

/// What users write is data wherever it is sent: JSON, or escaped.
#[tokio::test]
async fn script_in_names_ids_messages_and_outputs_stays_text() {
    let engine = engine();
    let server = Server::of(&engine).await;
    let evil = "<script>alert(1)</script>\"'&\r\n\r\nid: 9\n\ndata: {}\u{2028}";
    let start = json!({"input": evil, "id": evil, "tags": {"<b>": evil}});
    server.post("/api/workflows/echoes/runs", start).await.ok();
    engine.get_run(evil).await.unwrap().unwrap().outcome().await.unwrap();
    let id = encoded(evil);
    let question = server.get(&format!("/api/runs/{id}/questions")).await.ok()[0]["id"].as_str().unwrap().to_owned();
    let answer = format!("/api/runs/{id}/answers/{}", encoded(&question));
    server.post(&answer, json!({"answer": "fail", "by": evil, "comment": evil})).await.ok();
    engine.get_run(evil).await.unwrap().unwrap().outcome().await.unwrap();

    let run = server.get(&format!("/api/runs/{id}")).await;
    assert_eq!((&run.ok()["id"], run.header("content-type")), (&json!(evil), Some("application/json")));
    for path in ["view", "questions", "graph", "values?path=echoes%2Fecho"] {
        let response = server.get(&format!("/api/runs/{id}/{path}")).await;
        response.ok();
        assert_eq!(response.header("content-type"), Some("application/json"), "{path}");
    }
    let values = server.get(&format!("/api/runs/{id}/values?path=echoes%2Fecho")).await.ok();
    assert_eq!((&values["messages"][0]["text"], &values["attempts"][0]["error"][0]), (&json!(evil), &json!(evil)));
    // No line of theirs ends a message of a stream.
    let events = server.stream(&format!("/api/runs/{id}/events"), None).await.all().await;
    let numbers: Vec<String> = events.iter().map(|sent| sent.id.clone()).collect();
    assert!(numbers.is_sorted_by_key(|id| id.parse::<u64>().unwrap()), "{numbers:?}");
    assert!(events.iter().all(|sent| sent.data["run_id"] == evil));
    let page = server.get(&format!("/runs/{id}")).await;
    assert!(!page.text().contains("alert(1)"));
    // Nor does what is wrong come back as more than text.
    for path in [format!("/api/runs/x{id}"), format!("/api/runs?status={id}"), format!("/api/workflows/{id}")] {
        let problem = server.get(&path).await;
        assert!((400..500).contains(&problem.status));
        assert_eq!(problem.header("content-type"), Some("application/problem+json"));
    }
}

#[tokio::test]
async fn no_path_leads_out_of_the_page() {
    let server = Server::of(&engine()).await;
    let paths = [
        "/../Cargo.toml",
        "/assets/../../Cargo.toml",
        "/assets/..%2f..%2fCargo.toml",
        "/%2e%2e/%2e%2e/etc/passwd",
        "//etc/passwd",
        "/assets/%00",
        "/..\\..\\Cargo.toml",
        "/assets//etc/passwd",
        "/index.html/../../x",
    ];
    for path in paths {
        let response = server.get(path).await;
        assert!(!response.text().contains("[package]") && !response.text().contains("root:"), "{path}");
        assert!(response.status < 500, "{path}");
        if response.status == 200 {
            assert_eq!(response.header("content-type"), Some("text/html; charset=utf-8"), "{path}: the page itself");
        }
    }
}

#[tokio::test]
async fn a_body_may_be_so_long_and_no_longer() {
    let server = Server::with(Inspector::new(engine()).max_body(1000)).await;
    let long = json!({"input": "x".repeat(2000)}).to_string();
    let refused = server.send("POST", "/api/workflows/echoes/runs", &[JSON], Some(long)).await;
    assert_eq!(refused.problem(413).0, "body_too_large");
    let fits = json!({"input": "x".repeat(900)}).to_string();
    server.send("POST", "/api/workflows/echoes/runs", &[JSON], Some(fits)).await.ok();

    // Without an end, and without a length.
    let mut stream = TcpStream::connect(server.address).await.unwrap();
    let head = server.request("POST", "/api/workflows/echoes/runs", &[JSON, ("Transfer-Encoding", "chunked")], None);
    stream.write_all(head.as_bytes()).await.unwrap();
    let chunk = format!("3e8\r\n{}\r\n", " ".repeat(1000));
    let mut sent = 0usize;
    while sent < 1 << 30 {
        match stream.write_all(chunk.as_bytes()).await {
            Ok(()) => sent += chunk.len(),
            Err(_) => break,
        }
        tokio::task::yield_now().await;
        let mut byte = [0];
        if tokio::time::timeout(Duration::from_millis(1), stream.peek(&mut byte)).await.is_ok() {
            break;
        }
    }
    let mut read = Vec::new();
    let _closed = tokio::time::timeout(Duration::from_secs(20), stream.read_to_end(&mut read)).await.unwrap();
    assert!(String::from_utf8_lossy(&read).starts_with("HTTP/1.1 413"), "{}", String::from_utf8_lossy(&read));
    assert!(sent < 64 << 20, "it stops reading: {sent}");
}

#[tokio::test]
async fn a_body_is_an_object_and_no_list_of_its_fields() {
    let engine = engine();
    let server = Server::of(&engine).await;
    for body in [json!(["A"]), json!([]), json!(null), json!(5), json!("x")] {
        let refused = server.post("/api/workflows/echoes/runs", body).await;
        assert_eq!(refused.problem(422), ("invalid_body".to_owned(), ".".to_owned()));
        assert!(refused.text().contains("JSON object"), "{}", refused.text());
    }
    for body in ["[", "nul", "[1] 2"] {
        let refused = server.send("POST", "/api/workflows/echoes/runs", &[JSON], Some(body.to_owned())).await;
        assert_eq!(refused.problem(400).0, "invalid_json", "{body}");
    }
    assert_eq!(server.get("/api/counts").await.ok()["all"], 0);
}

#[tokio::test]
async fn what_is_below_the_api_is_not_the_page() {
    let server = Server::of(&engine()).await;
    for path in ["/api", "/api/", "/api/none", "/api//"] {
        assert_eq!(server.get(path).await.problem(404).0, "no_such_route", "{path}");
    }
}

#[tokio::test]
async fn a_message_that_is_deep_or_no_json_is_refused() {
    let server = Server::of(&engine()).await;
    for body in ["", "{", "nul", "[1,2", "{\"input\":1}{}", "\u{0}", "{\"input\": 1e999}", "\"\\ud800\""] {
        let response = server.send("POST", "/api/workflows/wide/runs", &[JSON], Some(body.to_owned())).await;
        assert!((400..500).contains(&response.status), "{body}: {} {}", response.status, response.text());
    }
    let deep = format!("{{\"input\": {}1{}}}", "[".repeat(100_000), "]".repeat(100_000));
    let response = server.send("POST", "/api/workflows/wide/runs", &[JSON], Some(deep)).await;
    assert_eq!(response.problem(400).0, "invalid_json");
}
