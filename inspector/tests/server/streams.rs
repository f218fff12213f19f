//! Server-sent events.

use graphweft::prelude::*;
use graphweft_inspector::Inspector;
use graphweft_inspector::view::ViewPart;
use serde_json::json;

use crate::Server;
use crate::flows::{engine, register};

async fn ended(engine: &Engine, id: &str) {
    engine.get_run(id).await.unwrap().unwrap().outcome().await.unwrap();
}

#[tokio::test]
async fn events_come_as_they_are_recorded_and_end_with_the_run() {
    let engine = engine();
    let server = Server::of(&engine).await;
    server.post("/api/workflows/refund/runs", json!({"input": {"order": "A", "cents": 2000}, "id": "a"})).await.ok();
    ended(&engine, "a").await;
    let mut events = server.stream("/api/runs/a/events", None).await;
    let mut types = Vec::new();
    loop {
        let event = events.next().await.unwrap().data;
        types.push(event["type"].as_str().unwrap().to_owned());
        if event["type"] == "question_asked" {
            break;
        }
    }
    assert_eq!(types, ["run_started", "node_started", "message", "note", "question_asked"]);
    let answer = json!({"answer": {"fine": false, "reason": "no"}});
    server.post("/api/runs/a/answers/approve", answer).await.ok();
    let rest = events.all().await;
    assert_eq!(rest[0].data["type"], "answered");
    assert_eq!(rest.last().unwrap().data["type"], "run_completed");

    // Behind what was seen, nothing twice, nothing left out.
    let all = server.stream("/api/runs/a/events", None).await.all().await;
    for at in 0..all.len() {
        let after = server.stream("/api/runs/a/events", Some(&all[at].id)).await.all().await;
        // What follows from the event that was seen may come again.
        let from = (0..=at).find(|one| all[*one].id == all[at].id).unwrap();
        let derived = all[from + 1..].iter().take_while(|sent| sent.id == all[at].id).count();
        let expected = if derived > 0 { &all[from + 1..] } else { &all[at + 1..] };
        assert_eq!(after, expected, "after {at}");
    }
    let odd = server.send("GET", "/api/runs/a/events", &[("Last-Event-ID", "yesterday")], None).await;
    assert_eq!(odd.problem(400), ("invalid_parameter".to_owned(), "after".to_owned()));
    let odd = server.send("GET", "/api/runs/a/live", &[("Last-Event-ID", "\u{e9}")], None).await;
    assert_eq!(odd.problem(400), ("invalid_parameter".to_owned(), "Last-Event-ID".to_owned()));
}

#[tokio::test]
async fn a_view_comes_in_parts_until_the_run_ends() {
    let engine = engine();
    let server = Server::of(&engine).await;
    server.post("/api/workflows/refund/runs", json!({"input": {"order": "A", "cents": 2000}, "id": "a"})).await.ok();
    ended(&engine, "a").await;
    let first: ViewPart = serde_json::from_value(server.get("/api/runs/a/view").await.ok()).unwrap();
    assert!(first.whole);
    assert_eq!(first.status, Some(RunStatus::Waiting));
    let mut live = server.stream(&format!("/api/runs/a/live?since={}", first.cursor), None).await;
    server.post("/api/runs/a/answers/approve", json!({"answer": {"fine": true, "reason": "no"}})).await.ok();
    let (mut parts, mut last) = (Vec::new(), first.cursor.clone());
    while let Some(sent) = live.next().await {
        if sent.event == "end" {
            break;
        }
        let part: ViewPart = serde_json::from_value(sent.data).unwrap();
        assert_eq!((part.whole, &part.cursor), (false, &sent.id));
        last.clone_from(&sent.id);
        parts.push(part);
    }
    assert_eq!(parts.last().unwrap().status, Some(RunStatus::Completed));
    assert_eq!(live.next().await, None);
    // What the parts have together is what the whole has.
    let whole: ViewPart = serde_json::from_value(server.get("/api/runs/a/view").await.ok()).unwrap();
    let things = first.things.path.len() + parts.iter().map(|part| part.things.path.len()).sum::<usize>();
    let moves = first.moves.len() + parts.iter().map(|part| part.moves.len()).sum::<usize>();
    assert_eq!((things, moves), (whole.things.path.len(), whole.moves.len()));
    // With nothing new, the end comes at once.
    let again = server.stream("/api/runs/a/live", Some(&last)).await.all().await;
    assert_eq!(again.iter().map(|sent| sent.event.as_str()).collect::<Vec<_>>(), ["end"]);
    let nothing: ViewPart =
        serde_json::from_value(server.get(&format!("/api/runs/a/view?since={last}")).await.ok()).unwrap();
    assert_eq!((nothing.whole, nothing.moves.len(), nothing.things.path.len()), (false, 0, 0));
}

#[tokio::test]
async fn a_view_goes_on_after_a_retry() {
    let engine = engine();
    let server = Server::of(&engine).await;
    server.post("/api/workflows/refund/runs", json!({"input": {"order": "A", "cents": 13}, "id": "a"})).await.ok();
    ended(&engine, "a").await;
    let failed: ViewPart = serde_json::from_value(server.get("/api/runs/a/view").await.ok()).unwrap();
    assert_eq!(failed.status, Some(RunStatus::Failed));
    server.post("/api/runs/a/retry", json!({})).await.ok();
    ended(&engine, "a").await;
    let again: ViewPart = serde_json::from_value(server.get("/api/runs/a/view").await.ok()).unwrap();
    assert!(
        again.seq > failed.seq
            && again
                .details
                .iter()
                .any(|detail| { matches!(detail.what, graphweft_inspector::view::What::Retried { .. }) })
    );
}

/// The first process dies, and the reader goes on with the second.
#[tokio::test]
async fn a_reader_continues_where_it_was_after_a_restart() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("runs.db");
    let first = register(Engine::builder().store(SqliteStore::open(&path).await.unwrap()));
    let server = Server::of(&first).await;
    server.post("/api/workflows/refund/runs", json!({"input": {"order": "A", "cents": 2000}, "id": "a"})).await.ok();
    ended(&first, "a").await;
    let mut events = server.stream("/api/runs/a/events", None).await;
    let mut live = server.stream("/api/runs/a/live", None).await;
    let mut changes = server.stream("/api/changes?after=beginning", None).await;
    let mut seen = Vec::new();
    while seen.len() < 3 {
        seen.push(events.next().await.unwrap());
    }
    let part = live.next().await.unwrap();
    let change = changes.next().await.unwrap();
    assert_eq!(
        (&change.data["run"], &change.data["seq"], &change.data["type"]),
        (&json!("a"), &json!(0), &json!("run_started"))
    );
    first.shutdown().await;
    drop((server, events, live, changes, first));

    let second = register(Engine::builder().store(SqliteStore::open(&path).await.unwrap()));
    second.recover().await.unwrap();
    let server = Server::of(&second).await;
    let mut rest = server.stream("/api/runs/a/events", Some(&seen[2].id)).await;
    assert_eq!(rest.next().await.unwrap().data["seq"], 3);
    // Another process folds anew, so its reader gets the whole.
    let mut live = server.stream("/api/runs/a/live", Some(&part.id)).await;
    assert_eq!(live.next().await.unwrap().data["whole"], true);
    let mut changes = server.stream("/api/changes", Some(&change.id)).await;
    assert_eq!(changes.next().await.unwrap().data["seq"], 1);
    server.post("/api/runs/a/answers/approve", json!({"answer": {"fine": true, "reason": ""}})).await.ok();
    assert_eq!(rest.all().await.last().unwrap().data["type"], "run_completed");
    loop {
        let change = changes.next().await.unwrap().data;
        assert_eq!(change.get("output"), None);
        if change["type"] == "run_completed" {
            break;
        }
    }
}

#[tokio::test]
async fn the_changes_of_runs_are_filtered() {
    let engine = engine();
    let server = Server::of(&engine).await;
    let mut of_workflow = server.stream("/api/changes?workflow=invoice", None).await;
    let mut of_tag = server.stream("/api/changes?tag=tenant%3Dacme", None).await;
    for (id, workflow, tenant) in
        [("a", "wide", "acme"), ("b", "invoice", "other"), ("c", "wide", "other"), ("d", "wide", "acme")]
    {
        let path = format!("/api/workflows/{workflow}/runs");
        server.post(&path, json!({"input": 1, "id": id, "tags": {"tenant": tenant}})).await.ok();
        ended(&engine, id).await;
    }
    assert_eq!(of_workflow.next().await.unwrap().data["run"], "b");
    loop {
        let run = of_tag.next().await.unwrap().data["run"].clone();
        assert!(run == "a" || run == "d", "{run}");
        if run == "d" {
            break;
        }
    }
}

#[tokio::test]
async fn so_many_streams_are_open_and_no_more() {
    let engine = engine();
    let server = Server::with(Inspector::new(engine.clone()).max_streams(3)).await;
    server.post("/api/workflows/invoice/runs", json!({"input": 1, "id": "i"})).await.ok();
    ended(&engine, "i").await;
    let one = server.stream("/api/runs/i/live", None).await;
    let two = server.stream("/api/runs/i/events", None).await;
    let three = server.stream("/api/changes", None).await;
    for path in ["/api/runs/i/live", "/api/runs/i/events", "/api/changes"] {
        let refused = server.get(path).await;
        assert_eq!(refused.problem(429).0, "too_many_streams");
        assert_eq!(refused.header("retry-after"), Some("2"));
    }
    // Everything else is answered.
    server.get("/api/runs/i/view").await.ok();
    drop(two);
    // The server finds out when it writes to a connection that is closed.
    engine.signal_json("i", "paid", json!(1)).await.unwrap();
    for attempt in 0.. {
        let response = server.get("/api/runs/none/events").await;
        if response.status == 404 {
            break;
        }
        assert!(attempt < 2000, "the place of a reader that is gone is free again");
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    }
    drop((one, three));
}
