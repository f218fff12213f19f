//! A run of 20,000 events, and readers that do not read.

use std::time::{Duration, Instant};

use graphweft::prelude::*;
use graphweft_inspector::Inspector;
use graphweft_inspector::view::ViewPart;
use serde_json::json;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;

use crate::Server;
use crate::flows::engine;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_run_of_20_000_events_has_a_small_view() {
    let engine = engine();
    let run = engine.start_json("wide", json!(10_000)).id("w").await.unwrap();
    run.outcome().await.unwrap();
    let server = Server::of(&engine).await;
    let began = Instant::now();
    let response = server.get("/api/runs/w/view").await;
    let first = began.elapsed();
    let view: ViewPart = serde_json::from_value(response.ok()).unwrap();
    assert!(view.seq > 20_000, "{}", view.seq);
    assert_eq!(view.things.path.len(), 10_004);
    let began = Instant::now();
    let zipped = server.send("GET", "/api/runs/w/view", &[("Accept-Encoding", "gzip")], None).await;
    assert_eq!(zipped.header("content-encoding"), Some("gzip"));
    let (plain, zipped) = (response.body.len(), zipped.body.len());
    println!("{} events: {plain} bytes, {zipped} compressed, {first:?}, then {:?}", view.seq + 1, began.elapsed());
    assert!(plain < 700_000 && zipped < 120_000, "{plain} {zipped}");
    assert_eq!(view.status, Some(RunStatus::Completed));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_list_of_runs_with_long_errors_is_short() {
    const RUNS: usize = 20;
    let engine = engine();
    for at in 0..RUNS {
        let run = engine.start_json("fails", json!(2_000_000)).id(format!("f{at}")).await.unwrap();
        run.outcome().await.unwrap();
    }
    let server = Server::of(&engine).await;
    let list = server.get("/api/runs").await;
    assert!(list.body.len() < 20_000, "{}", list.body.len());
    let list = list.ok();
    assert_eq!(list["runs"].as_array().unwrap().len(), RUNS);
    let failure = list["runs"][0]["failure"].as_str().unwrap();
    assert!(failure.starts_with("node `fails/fail` failed after 1 attempt: it is long: xxx"), "{failure}");
    assert_eq!((failure.chars().count(), failure.ends_with("x…")), (201, true));
    // The whole of it is where one run is looked at.
    let values = server.get("/api/runs/f0/values?path=fails%2Ffail").await.ok();
    assert!(values["attempts"][0]["error"][0].as_str().unwrap().len() > 1_000_000);
}

/// It takes as long as a reader has for what waits for it: ten seconds.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_reader_that_does_not_keep_up_is_cut_off_and_continues_where_it_was() {
    const MESSAGES: u32 = 400;
    let engine = engine();
    engine.start_json("talks", json!(MESSAGES)).id("t").await.unwrap().outcome().await.unwrap();
    let server = Server::with(Inspector::new(engine.clone()).max_streams(1)).await;
    let mut slow = server.stream("/api/runs/t/events", None).await;
    assert_eq!(slow.next().await.unwrap().data["type"], "run_started");
    // Its place is free when it is cut off.
    for attempt in 0.. {
        if server.get("/api/runs/none/events").await.status == 404 {
            break;
        }
        assert!(attempt < 600, "its place is still taken");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    let mut seen = vec![0];
    let mut last = String::new();
    while let Some(sent) = slow.next().await {
        seen.push(sent.data["seq"].as_u64().unwrap());
        last = sent.id;
    }
    assert!(seen.len() < MESSAGES as usize, "it was cut off after {} events", seen.len());
    let rest = server.stream("/api/runs/t/events", Some(&last)).await.all().await;
    seen.extend(rest.iter().map(|sent| sent.data["seq"].as_u64().unwrap()));
    assert_eq!(rest.last().unwrap().data["type"], "run_completed");
    assert_eq!(seen, (0..u64::from(MESSAGES) + 4).collect::<Vec<_>>());
    // In the view, texts are short.
    let view = server.get("/api/runs/t/view").await;
    assert!(view.body.len() < 400 * MESSAGES as usize, "{}", view.body.len());
}

/// A view is there once, however many watch it: what a reader has not read is not kept for it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn readers_that_do_not_read_hold_up_no_one() {
    let engine = engine();
    let server = Server::of(&engine).await;
    engine.start_json("invoice", json!(1)).id("i").await.unwrap().outcome().await.unwrap();
    let mut idle = Vec::new();
    for at in 0..60 {
        let mut stream = TcpStream::connect(server.address).await.unwrap();
        let path = ["/api/runs/i/live", "/api/runs/i/events", "/api/changes?after=beginning"][at % 3];
        stream.write_all(server.request("GET", path, &[], None).as_bytes()).await.unwrap();
        idle.push(stream);
    }
    let run = engine.start_json("wide", json!(3_000)).id("w").await.unwrap();
    let mut live = server.stream("/api/runs/w/live", None).await;
    run.outcome().await.unwrap();
    let mut last = json!(null);
    while let Some(sent) = live.next().await.filter(|sent| sent.event != "end") {
        last = sent.data["status"].clone();
    }
    assert_eq!(last, "completed");
    engine.signal_json("i", "paid", json!(1)).await.unwrap();
    engine.get_run("i").await.unwrap().unwrap().outcome().await.unwrap();
    assert_eq!(server.get("/api/runs/i").await.ok()["status"], "completed");
}
