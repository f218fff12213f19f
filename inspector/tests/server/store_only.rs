//! A store without the code of its workflows.

use graphweft::prelude::*;
use graphweft_inspector::Inspector;
use graphweft_inspector::view::{ViewPart, What};
use serde_json::json;
use std::path::Path;

use crate::Server;
use crate::flows::register;

async fn store(path: &Path) -> SqliteStore {
    SqliteStore::open(path).await.unwrap()
}

/// A file in which someone else's process has left one run of each kind.
async fn left_behind(path: &Path) {
    let engine = register(Engine::builder().store(store(path).await));
    for (id, cents) in [("waits", 2000), ("failed", 13), ("done", 1)] {
        let run = engine.start_json("refund", json!({"order": id, "cents": cents})).id(id).await.unwrap();
        run.outcome().await.unwrap();
    }
    engine.shutdown().await;
}

#[tokio::test]
async fn what_is_stored_is_read_without_the_code() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("runs.db");
    left_behind(&path).await;
    let server = Server::with(Inspector::of_store(store(&path).await).unwrap()).await;
    assert_eq!(server.get("/api/workflows").await.ok(), json!({"workflows": []}));
    let counts = server.get("/api/counts").await.ok();
    assert_eq!((&counts["waiting"], &counts["failed"], &counts["completed"]), (&json!(1), &json!(1), &json!(1)));
    assert_eq!(server.get("/api/runs/waits").await.ok()["registered"], false);
    let graphs = server.get("/api/runs/failed/graph").await.ok();
    assert_eq!(graphs["graph"]["nodes"][3]["name"], "pay");

    let view: ViewPart = serde_json::from_value(server.get("/api/runs/failed/view").await.ok()).unwrap();
    assert_eq!(view.status, Some(RunStatus::Failed));
    assert!(!view.taken.is_empty());
    let pay = view.things.path.iter().position(|path| path == "refund/pay").unwrap();
    assert_eq!(view.moves_by_thing()[&(pay as u32)].last().unwrap().1, graphweft_inspector::view::State::Failed);

    let values = server.get("/api/runs/done/values?path=refund%2Fpay").await.ok();
    assert_eq!(values["output"]["value"], "paid 1");
    assert!(
        values["input_unknown"].as_str().unwrap().contains("does not have the code of workflow `refund`"),
        "{values}"
    );
    let of_run = server.get("/api/runs/done/values?path=refund").await.ok();
    assert_eq!(of_run["input"]["value"]["order"], "done");
    assert_eq!(server.get("/api/questions").await.ok()["questions"][0]["run"], "waits");
    let events = server.stream("/api/runs/done/events", None).await.all().await;
    assert_eq!(events.last().unwrap().data["type"], "run_completed");
}

#[tokio::test]
async fn what_needs_the_code_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("runs.db");
    left_behind(&path).await;
    let server = Server::with(Inspector::of_store(store(&path).await).unwrap()).await;
    let start = server.post("/api/workflows/refund/runs", json!({"input": {}})).await;
    assert_eq!(start.problem(404).0, "unknown_workflow");
    // No process lives that could read the answer.
    let answer = json!({"answer": {"fine": true, "reason": ""}});
    let refused = server.post("/api/runs/waits/answers/approve", answer).await;
    assert_eq!(refused.problem(409).0, "not_registered");
    assert!(refused.text().contains("no living process has workflow `refund`"), "{}", refused.text());
    assert_eq!(server.post("/api/runs/waits/retry", json!({})).await.problem(409).0, "not_failed");
    // A fork is requested, and so is a retry.
    assert_eq!(server.post("/api/runs/failed/fork", json!({"id": "fork"})).await.ok(), json!({"run": "fork"}));
    let fork = server.get("/api/runs/fork").await.ok();
    assert_eq!((&fork["status"], &fork["forked_from"]["run"]), (&json!("running"), &json!("failed")));
    assert_eq!(server.post("/api/runs/failed/fork", json!({"id": "fork"})).await.problem(409).0, "id_taken");
    assert_eq!(server.post("/api/runs/failed/retry", json!({})).await.ok(), json!({"run": "failed"}));
    assert_eq!(server.get("/api/runs/failed").await.ok()["status"], "running");
    // Cancelling and deleting need no code.
    server.post("/api/runs/waits/cancel", json!({})).await.ok();
    let mut live = server.stream("/api/runs/waits/live", None).await;
    while live.next().await.is_some_and(|sent| sent.event != "end") {}
    assert_eq!(server.get("/api/runs/waits").await.ok()["status"], "cancelled");
    assert_eq!(server.delete("/api/runs/done").await.status, 204);
}

/// The process that executes the run reads the answer of this one.
#[tokio::test]
async fn a_run_of_another_process_is_answered_and_followed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("runs.db");
    let owner = register(Engine::builder().store(store(&path).await));
    let run = owner.start_json("refund", json!({"order": "A", "cents": 2000})).id("a").await.unwrap();
    run.outcome().await.unwrap();
    let server = Server::with(Inspector::of_store(store(&path).await).unwrap()).await;
    let mut live = server.stream("/api/runs/a/live", None).await;
    assert_eq!(live.next().await.unwrap().data["status"], "waiting");
    let wrong = server.post("/api/runs/a/answers/approve", json!({"answer": {"fine": 3, "reason": ""}})).await;
    assert_eq!(wrong.problem(422), ("invalid_answer".to_owned(), "fine".to_owned()));
    let answer = json!({"answer": {"fine": true, "reason": ""}});
    assert_eq!(server.post("/api/runs/a/answers/approve", answer).await.ok(), json!({"accepted": true}));
    let mut last = json!(null);
    while let Some(sent) = live.next().await.filter(|sent| sent.event != "end") {
        last = sent.data["status"].clone();
    }
    assert_eq!(last, "completed");
}

/// What a run waits for and what it has called is in the store.
#[tokio::test]
async fn a_signal_is_checked_and_a_child_workflow_is_drawn_without_the_code() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("runs.db");
    let owner = register(Engine::builder().store(store(&path).await));
    let run = owner.start_json("parcel", json!("a book")).id("p").await.unwrap();
    run.outcome().await.unwrap();
    let server = Server::with(Inspector::of_store(store(&path).await).unwrap()).await;
    let awaited = server.get("/api/runs/p/signals").await.ok();
    assert_eq!((&awaited[0]["name"], &awaited[0]["path"]), (&json!("address"), &json!("parcel/send_to")));
    assert_eq!(awaited[0]["schema"]["properties"]["number"]["format"], "uint32");

    for (payload, field) in [
        (json!({"street": "High Street", "number": -3}), "number"),
        (json!({"street": 1, "number": 3}), "street"),
        (json!("High Street 3"), "."),
    ] {
        let wrong = server.post("/api/runs/p/signals/address", json!({"payload": payload})).await;
        assert_eq!(wrong.problem(422), ("invalid_payload".to_owned(), field.to_owned()));
    }
    let fits = json!({"payload": {"street": "High Street", "number": 3}});
    server.post("/api/runs/p/signals/address", fits).await.ok();
    assert_eq!(run.result().await.unwrap(), json!("a book to High Street 6"));
    assert_eq!(server.get("/api/runs/p/signals").await.ok(), json!([]));

    let view: ViewPart = serde_json::from_value(server.get("/api/runs/p/view").await.ok()).unwrap();
    let thing = |path: &str| view.things.path.iter().position(|at| at == path).unwrap();
    let (child, double) = (thing("parcel/send_to/doubled"), thing("parcel/send_to/doubled/double"));
    assert_eq!((view.things.within[double], view.things.node[double]), (child as i64, 2));
    let edges = view.taken.chunks(3).filter(|taken| taken[0] == child as i64).count();
    assert_eq!(edges, 2, "START => double => END: {:?}", view.taken);
    let hash = view.details.iter().find_map(|detail| match &detail.what {
        What::Entered { graph, .. } => graph.clone(),
        _ => None,
    });
    let hash = hash.unwrap();
    let graph = server.get(&format!("/api/graphs/{hash}")).await.ok();
    assert_eq!(graph["graph"]["nodes"][2]["name"], "double");
    let long = format!("0{hash}");
    for unknown in ["0000000000000007", "x", "-1", "11111111111111111", "7", "+000000000000007", &long] {
        let problem = server.get(&format!("/api/graphs/{unknown}")).await.problem(404);
        assert_eq!(problem, ("unknown_graph".to_owned(), "hash".to_owned()));
    }
}
