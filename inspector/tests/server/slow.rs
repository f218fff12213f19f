//! Clients that take their time. Under a paused clock, which goes on as soon as nothing else is to be done.

use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::{Instant, sleep};

use crate::Server;
use crate::flows::engine;

/// What a connection is sent until the server closes it, and how long that takes.
async fn until_closed(stream: &mut TcpStream) -> (String, Duration) {
    let began = Instant::now();
    let mut read = Vec::new();
    // A connection that is closed while something is sent is reset.
    let _end = stream.read_to_end(&mut read).await;
    (String::from_utf8_lossy(&read).into_owned(), began.elapsed())
}

#[tokio::test(start_paused = true)]
async fn headers_that_do_not_end_are_not_waited_for() {
    let server = Server::of(&engine()).await;
    let mut stream = TcpStream::connect(server.address).await.unwrap();
    stream.write_all(b"GET /api/server HTTP/1.1\r\nHost: localhost\r\n").await.unwrap();
    let began = Instant::now();
    // A header every second.
    let sent = async {
        while stream.write_all(b"X-More: 1\r\n").await.is_ok() && began.elapsed() < Duration::from_secs(60) {
            sleep(Duration::from_secs(1)).await;
        }
        began.elapsed()
    };
    let took = sent.await;
    assert!((9..15).contains(&took.as_secs()), "{took:?}");
}

#[tokio::test(start_paused = true)]
async fn a_connection_on_which_nothing_is_asked_for_is_closed() {
    let server = Server::of(&engine()).await;
    let mut silent = TcpStream::connect(server.address).await.unwrap();
    let (read, took) = until_closed(&mut silent).await;
    assert_eq!((read.as_str(), took.as_secs()), ("", 10));

    // Nor is one kept for a next request that does not come.
    let mut stream = TcpStream::connect(server.address).await.unwrap();
    let request = server.request("GET", "/api/server", &[], None).replace("Connection: close\r\n", "");
    stream.write_all(request.as_bytes()).await.unwrap();
    let (read, took) = until_closed(&mut stream).await;
    assert!(read.starts_with("HTTP/1.1 200"), "{read}");
    assert!((9..=10).contains(&took.as_secs()), "{took:?}");
}

#[tokio::test(start_paused = true)]
async fn a_body_that_does_not_arrive_is_a_problem() {
    let server = Server::of(&engine()).await;
    let headers = [("Content-Type", "application/json"), ("Content-Length", "100")];
    let mut stream = TcpStream::connect(server.address).await.unwrap();
    let head = server.request("POST", "/api/workflows/wide/runs", &headers, None);
    stream.write_all(head.as_bytes()).await.unwrap();
    stream.write_all(b"{\"input\":").await.unwrap();
    let (read, took) = until_closed(&mut stream).await;
    assert!(read.starts_with("HTTP/1.1 408") && read.contains("body_too_slow"), "{read}");
    assert!((19..=21).contains(&took.as_secs()), "{took:?}");
}

/// An open stream is no connection that is not used.
#[tokio::test(start_paused = true)]
async fn a_stream_that_waits_for_events_stays_open() {
    let engine = engine();
    engine.start_json("invoice", serde_json::json!(1)).id("i").await.unwrap().outcome().await.unwrap();
    let server = Server::of(&engine).await;
    let mut events = server.stream("/api/runs/i/events", None).await;
    while events.next().await.unwrap().data["type"] != "signal_awaited" {}
    sleep(Duration::from_secs(25)).await;
    engine.signal_json("i", "paid", serde_json::json!(1)).await.unwrap();
    assert_eq!(events.next().await.unwrap().data["type"], "signal_received");
}
