//! What each route does.

use graphweft::prelude::*;
use serde_json::{Value, json};

use crate::flows::{engine, refund};
use crate::{Server, encoded};

async fn ended(engine: &Engine, id: &str) {
    engine.get_run(id).await.unwrap().unwrap().outcome().await.unwrap();
}

#[tokio::test]
async fn workflows_are_listed_with_their_graphs_and_pictures() {
    let server = Server::of(&engine()).await;
    let list = server.get("/api/workflows").await.ok();
    let names: Vec<&str> =
        list["workflows"].as_array().unwrap().iter().map(|one| one["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["echoes", "fails", "invoice", "parcel", "refund", "talks", "wide"]);
    assert_eq!(list["workflows"][4], json!({"name": "refund", "doc": "Pays back.", "nodes": 3}));

    let graphs = server.get("/api/workflows/refund").await.ok();
    assert_eq!(graphs["graph"]["nodes"][2]["name"], "decide");
    assert_eq!(graphs["graph"]["input"]["properties"]["cents"]["type"], "integer");
    let described: graphweft_inspector::model::Graphs = serde_json::from_value(graphs).unwrap();
    assert_eq!(described.graph.edges.len(), 5);

    assert!(server.get("/api/workflows/refund/pictures/mermaid").await.text().contains("decide"));
    assert!(server.get("/api/workflows/refund/pictures/dot").await.text().contains("digraph"));
    assert_eq!(server.get("/api/workflows/refund/pictures/gif").await.problem(404).0, "unknown_format");
    assert_eq!(server.get("/api/workflows/nothing").await.problem(404).0, "unknown_workflow");
}

/// The document describes graphs by types of its own: all that a graph has is in them.
#[tokio::test]
async fn graphs_with_everything_are_as_the_document_says() {
    let server = Server::of(&engine()).await;
    for name in ["refund", "invoice", "wide", "echoes"] {
        let graphs = server.get(&format!("/api/workflows/{name}")).await.ok();
        let described: graphweft_inspector::model::Graphs = serde_json::from_value(graphs.clone()).unwrap();
        assert_eq!(serde_json::to_value(described).unwrap(), graphs, "{name}");
    }
}

#[tokio::test]
async fn a_run_is_started_watched_answered_and_read() {
    let engine = engine();
    let server = Server::of(&engine).await;
    let body = json!({"input": {"order": "A-1", "cents": 2000}, "id": "acme/1", "tags": {"tenant": "acme"}});
    assert_eq!(server.post("/api/workflows/refund/runs", body.clone()).await.ok(), json!({"run": "acme/1"}));
    assert_eq!(server.post("/api/workflows/refund/runs", body).await.status, 201, "the same again is the same run");
    ended(&engine, "acme/1").await;

    let run = server.get("/api/runs/acme%2F1").await.ok();
    assert_eq!(
        (&run["status"], &run["workflow"], &run["open_questions"]),
        (&json!("waiting"), &json!("refund"), &json!(1))
    );
    assert_eq!((&run["registered"], &run["tags"]), (&json!(true), &json!({"tenant": "acme"})));
    assert_eq!(run["question"]["prompt"], "Pay this back?");

    let inbox = server.get("/api/questions?name=approve&tag=tenant%3Dacme").await.ok();
    let asked = &inbox["questions"][0];
    assert_eq!((&asked["run"], &inbox["next"]), (&json!("acme/1"), &Value::Null));
    let of_run = server.get("/api/runs/acme%2F1/questions").await.ok();
    assert_eq!(of_run[0], asked["question"]);

    let answers = format!("/api/runs/acme%2F1/answers/{}", encoded(asked["question"]["id"].as_str().unwrap()));
    let wrong = server.post(&answers, json!({"answer": {"fine": 1, "reason": "no"}})).await;
    assert_eq!(wrong.problem(422), ("invalid_answer".to_owned(), "fine".to_owned()));
    let missing = server.post(&answers, json!({"answer": {"fine": true}})).await;
    assert_eq!(missing.problem(422).0, "invalid_answer");
    let body = json!({"answer": {"fine": true, "reason": "it is"}, "by": "ada", "comment": "once"});
    assert_eq!(server.post(&answers, body.clone()).await.ok(), json!({"accepted": true}));
    assert_eq!(server.post(&answers, body).await.problem(409).0, "already_answered");
    ended(&engine, "acme/1").await;

    let values = server.get("/api/runs/acme%2F1/values?path=refund%2Fdecide").await.ok();
    assert_eq!(values["input"]["value"], json!({"order": "A-1", "cents": 2000}));
    assert_eq!((&values["output"]["value"], &values["output"]["label"]), (&json!(2000), &json!("ok")));
    assert_eq!(values["messages"][0]["text"], "order A-1");
    assert_eq!(values["notes"][0]["payload"]["cents"], 2000);
    assert_eq!(values["state"][0], json!({"key": "note", "op": "set", "value": "A-1"}));
    let answer = server.get("/api/runs/acme%2F1/values?path=refund%2Fdecide%2Fapprove").await.ok();
    assert_eq!((&answer["output"]["by"], &answer["output"]["comment"]), (&json!("ada"), &json!("once")));
    assert_eq!(answer["question"]["payload"], json!({"order": "A-1", "cents": 2000}));
    let whole = server.get("/api/runs/acme%2F1/values?path=refund").await.ok();
    assert_eq!(whole["output"]["value"], "paid 2000");
    let before = server.get("/api/runs/acme%2F1/values?path=refund%2Fdecide&at=1").await.ok();
    assert_eq!((before.get("output"), before.get("messages")), (None, None));
    assert_eq!(server.get("/api/runs/acme%2F1/values?path=refund%2Fnone").await.problem(404).0, "unknown_path");
}

#[tokio::test]
async fn the_input_of_a_start_names_the_field_that_is_wrong() {
    let server = Server::of(&engine()).await;
    let start = async |body: Value| server.post("/api/workflows/refund/runs", body).await;
    let wrong = start(json!({"input": {"order": "A-1", "cents": "many"}})).await;
    assert_eq!(wrong.problem(422), ("invalid_input".to_owned(), "cents".to_owned()));
    let input = json!({"order": "A-1", "cents": 1});
    let long = start(json!({"input": input, "id": "x".repeat(2000)})).await;
    assert_eq!(long.problem(422), ("invalid_id".to_owned(), "id".to_owned()));
    let tag = start(json!({"input": input, "tags": {"": "x"}})).await;
    assert_eq!(tag.problem(422).0, "invalid_tag");
    // It could not be looked for.
    let tag = start(json!({"input": input, "tags": {"a=b": "x"}})).await;
    assert_eq!(tag.problem(422), ("invalid_tag".to_owned(), "tags.a=b".to_owned()));
    let key = start(json!({"input": input, "state": {"owner": 1}})).await;
    assert_eq!(key.problem(422), ("invalid_state".to_owned(), "state.owner".to_owned()));
    let field = start(json!({"inptu": input})).await;
    assert_eq!(field.problem(422).0, "invalid_body");
    let other = start(json!({"input": input, "tags": {"a": 1}})).await;
    assert_eq!(other.problem(422), ("invalid_body".to_owned(), "tags.a".to_owned()));
    start(json!({"input": input, "id": "a"})).await.ok();
    let taken = start(json!({"input": {"order": "A-2", "cents": 1}, "id": "a"})).await;
    assert_eq!(taken.problem(409), ("other_input".to_owned(), "id".to_owned()));
    let later = start(json!({"input": input, "id": "later", "after": 3_600_000})).await;
    later.ok();
    assert_eq!(server.get("/api/runs/later").await.ok()["status"], "sleeping");
    assert_eq!(server.post("/api/workflows/none/runs", json!({})).await.problem(404).0, "unknown_workflow");
}

#[tokio::test]
async fn runs_are_listed_by_every_filter_and_page_by_page() {
    let engine = engine();
    let server = Server::of(&engine).await;
    for at in 0..7u32 {
        let input = crate::flows::Refund { order: at.to_string(), cents: if at == 3 { 13 } else { 100 * at } };
        let tenant = if at % 2 == 0 { "even" } else { "odd" };
        let run = engine.start::<refund>(input).id(format!("acme/{at}")).tag("tenant", tenant).await.unwrap();
        run.outcome().await.unwrap();
    }
    engine.start_json("invoice", json!(5)).id("other").await.unwrap().outcome().await.unwrap();
    let ids = async |query: &str| {
        let page = server.get(&format!("/api/runs{query}")).await.ok();
        let ids = page["runs"].as_array().unwrap().iter().map(|run| run["id"].as_str().unwrap().to_owned());
        (ids.collect::<Vec<_>>().join(" "), page["next"].as_str().map(str::to_owned))
    };
    assert_eq!(ids("?id_prefix=acme%2F&limit=3").await.0, "acme/6 acme/5 acme/4");
    let next = ids("?id_prefix=acme%2F&limit=3").await.1.unwrap();
    let second = ids(&format!("?id_prefix=acme%2F&limit=3&cursor={next}")).await;
    assert_eq!(second.0, "acme/3 acme/2 acme/1");
    let last = ids(&format!("?id_prefix=acme%2F&limit=3&cursor={}", second.1.unwrap())).await;
    assert_eq!(last, ("acme/0".to_owned(), None));
    assert_eq!(ids("?order=oldest&limit=2").await.0, "acme/0 acme/1");
    let next = ids("?order=oldest&limit=2").await.1.unwrap();
    assert_eq!(ids(&format!("?order=oldest&limit=2&cursor={next}")).await.0, "acme/2 acme/3");
    assert_eq!(ids("?status=failed").await.0, "acme/3");
    assert_eq!(ids("?status=failed,waiting").await.0, "other acme/3");
    assert_eq!(ids("?status=failed&status=waiting").await.0, "other acme/3");
    assert_eq!(ids("?workflow=invoice").await.0, "other");
    assert_eq!(ids("?tag=tenant%3Dodd").await.0, "acme/5 acme/3 acme/1");
    assert_eq!(ids("?from=99999999999999").await.0, "");
    assert_eq!(ids("?until=1").await.0, "");

    let failed = server.get("/api/runs/acme%2F3").await.ok();
    assert!(failed["failure"].as_str().unwrap().contains("the bank does not like 13"), "{failed}");
    let counts = server.get("/api/counts").await.ok();
    assert_eq!((&counts["completed"], &counts["failed"], &counts["waiting"]), (&json!(6), &json!(1), &json!(1)));
    assert_eq!(counts["all"], 8);
    assert_eq!(server.get("/api/counts?workflow=refund&tag=tenant%3Dodd").await.ok()["all"], 3);

    let error = server.get("/api/runs/acme%2F3/values?path=refund%2Fpay").await.ok();
    assert_eq!(error["attempts"][0]["error"], json!(["the bank does not like 13"]));
}

#[tokio::test]
async fn a_parameter_that_is_wrong_is_named() {
    let server = Server::of(&engine()).await;
    for (query, field) in [
        ("runs?limit=0", "limit"),
        ("runs?limit=501", "limit"),
        ("runs?limit=x", "limit"),
        ("runs?limit=1&limit=2", "limit"),
        ("runs?cursor=x", "cursor"),
        ("runs?cursor=-1", "cursor"),
        ("runs?status=done", "status"),
        ("runs?order=random", "order"),
        ("runs?tag=tenant", "tag"),
        ("runs?from=yesterday", "from"),
        ("runs?from=18446744073709551615", "from"),
        ("runs?stauts=failed", "stauts"),
        ("questions?cursor=%7B%7D", "cursor"),
        ("changes?after=x", "after"),
        ("counts?limit=1", "limit"),
        ("counts?status=failed", "status"),
    ] {
        let problem = server.get(&format!("/api/{query}")).await.problem(400);
        assert_eq!(problem, ("invalid_parameter".to_owned(), field.to_owned()), "{query}");
    }
}

/// In a URL they are folders, also percent-encoded, and a browser removes them.
#[tokio::test]
async fn a_run_is_not_named_by_dots_only() {
    let engine = engine();
    let server = Server::of(&engine).await;
    server.post("/api/workflows/wide/runs", json!({"input": 1, "id": "..."})).await.ok();
    ended(&engine, "...").await;
    for id in [".", ".."] {
        let started = server.post("/api/workflows/wide/runs", json!({"input": 1, "id": id})).await;
        assert_eq!(started.problem(422), ("invalid_id".to_owned(), "id".to_owned()));
        let forked = server.post("/api/runs/.../fork", json!({"id": id})).await;
        assert_eq!(forked.problem(422), ("invalid_id".to_owned(), "id".to_owned()));
    }
}

#[tokio::test]
async fn a_run_that_has_ended_is_not_cancelled_and_the_response_says_how_it_ended() {
    let engine = engine();
    let server = Server::of(&engine).await;
    server.post("/api/workflows/wide/runs", json!({"input": 1, "id": "w"})).await.ok();
    ended(&engine, "w").await;
    let cancelled = server.post("/api/runs/w/cancel", json!({})).await;
    assert_eq!((cancelled.status, cancelled.json()), (200, json!({"run": "w", "status": "completed"})));
}

#[tokio::test]
async fn a_run_is_cancelled_retried_forked_and_deleted() {
    let engine = engine();
    let server = Server::of(&engine).await;
    let body = json!({"input": {"order": "A-1", "cents": 2000}, "id": "a"});
    server.post("/api/workflows/refund/runs", body).await.ok();
    ended(&engine, "a").await;
    assert_eq!(server.delete("/api/runs/a").await.problem(409).0, "not_over");
    assert_eq!(server.post("/api/runs/a/retry", json!({})).await.problem(409).0, "not_failed");
    assert!([200, 202].contains(&server.post("/api/runs/a/cancel", json!({})).await.status));
    ended(&engine, "a").await;
    let again = server.post("/api/runs/a/cancel", json!({})).await;
    assert_eq!((again.status, again.json()), (200, json!({"run": "a", "status": "cancelled"})));
    assert_eq!(server.get("/api/runs/a").await.ok()["status"], "cancelled");

    let unknown = server.post("/api/runs/a/retry", json!({"from_nodes": ["refund/nothing"]})).await;
    assert_eq!(unknown.problem(422), ("unknown_path".to_owned(), "from_nodes".to_owned()));
    assert_eq!(server.post("/api/runs/a/retry", json!({})).await.ok(), json!({"run": "a"}));
    ended(&engine, "a").await;
    assert_eq!(server.get("/api/runs/a").await.ok()["status"], "waiting");

    assert_eq!(server.post("/api/runs/a/fork", json!({"before": 1, "id": "b"})).await.ok(), json!({"run": "b"}));
    ended(&engine, "b").await;
    let fork = server.get("/api/runs/b").await.ok();
    assert_eq!(fork["forked_from"], json!({"run": "a", "before": 1}));
    assert_eq!(server.get("/api/runs?forked_from=a").await.ok()["runs"][0]["id"], "b");
    let taken = server.post("/api/runs/a/fork", json!({"before": 1, "id": "b"})).await;
    assert_eq!(taken.problem(409), ("id_taken".to_owned(), "id".to_owned()));
    let none = server.post("/api/runs/a/fork", json!({"before": 1000})).await;
    assert_eq!(none.problem(422), ("no_such_event".to_owned(), "before".to_owned()));

    server.send("POST", "/api/runs/b/cancel", &[("Content-Type", "application/json")], None).await.ok();
    ended(&engine, "b").await;
    assert_eq!(server.delete("/api/runs/b").await.status, 204);
    assert_eq!(server.get("/api/runs/b").await.problem(404).0, "unknown_run");
    assert_eq!(server.delete("/api/runs/b").await.problem(404).0, "unknown_run");
}

#[tokio::test]
async fn a_signal_is_sent_once() {
    let engine = engine();
    let server = Server::of(&engine).await;
    server.post("/api/workflows/invoice/runs", json!({"input": 2, "id": "i"})).await.ok();
    ended(&engine, "i").await;
    assert_eq!(server.get("/api/runs/i").await.ok()["awaited_signals"], json!(["paid"]));
    let wrong = server.post("/api/runs/i/signals/paid", json!({"payload": "much"})).await;
    assert_eq!(wrong.problem(422).0, "invalid_payload");
    let empty = server.post("/api/runs/i/signals/paid", json!({"payload": 3, "id": ""})).await;
    assert_eq!(empty.problem(422), ("invalid_length".to_owned(), "id".to_owned()));
    let body = json!({"payload": 3, "id": "evt_1", "by": "the bank"});
    assert_eq!(server.post("/api/runs/i/signals/paid", body).await.ok(), json!({"duplicate": false}));
    ended(&engine, "i").await;
    assert_eq!(server.post("/api/runs/i/signals/paid", json!({"payload": 3})).await.problem(409).0, "run_over");
    assert_eq!(server.post("/api/runs/none/signals/paid", json!({})).await.problem(404).0, "unknown_run");
    let wait = server.get("/api/runs/i/view").await.ok();
    let path = wait["things"]["path"].as_array().unwrap().iter().find(|path| path.as_str().unwrap().contains("wait:"));
    let values =
        server.get(&format!("/api/runs/i/values?path={}", encoded(path.unwrap().as_str().unwrap()))).await.ok();
    assert_eq!((&values["output"]["value"], &values["output"]["by"]), (&json!(3), &json!("the bank")));
}

#[tokio::test]
async fn a_server_says_what_it_is_and_a_route_that_is_not_there_is_a_problem() {
    let server = Server::of(&engine()).await;
    let what = server.get("/api/server").await.ok();
    assert_eq!((&what["read_only"], &what["needs_token"]), (&json!(false), &json!(true)));
    let document = server.get("/api/openapi.json").await.ok();
    assert_eq!(document, serde_json::to_value(graphweft_inspector::api::document()).unwrap());
    assert_eq!(server.get("/api/nothing").await.problem(404).0, "no_such_route");
    assert_eq!(server.get("/api").await.problem(404).0, "no_such_route");
    assert_eq!(server.post("/api/runs", json!({})).await.problem(405).0, "no_such_method");
    assert_eq!(server.get("/api/runs/none/view").await.problem(404).0, "unknown_run");
    assert_eq!(server.get("/api/runs/none/graph").await.problem(404).0, "unknown_run");
    assert_eq!(server.get("/api/runs/none/signals").await.problem(404).0, "unknown_run");
    assert_eq!(server.post("/api/runs/none/cancel", json!({})).await.problem(404).0, "unknown_run");
    assert_eq!(server.get("/api/runs/none/live").await.problem(404).0, "unknown_run");
    assert_eq!(server.get("/api/runs/none/events").await.problem(404).0, "unknown_run");
}

/// Every route of the document is there, and no other.
#[tokio::test]
async fn the_document_has_the_routes_of_the_server() {
    let server = Server::of(&engine()).await;
    let document = serde_json::to_value(graphweft_inspector::api::document()).unwrap();
    let mut routes = 0;
    for (path, methods) in document["paths"].as_object().unwrap() {
        let path = path.split('/').map(|part| if part.starts_with('{') { "x" } else { part });
        let path = path.collect::<Vec<_>>().join("/");
        for method in methods.as_object().unwrap().keys() {
            if path == "/api/changes" {
                continue;
            }
            let method = method.to_uppercase();
            let response = server.send(&method, &path, &[("Content-Type", "application/json")], None).await;
            let is_missing = [404, 405].contains(&response.status)
                && ["no_such_route", "no_such_method"].contains(&response.json()["code"].as_str().unwrap());
            assert!(!is_missing, "{method} {path}");
            routes += 1;
        }
    }
    assert!(routes > 15, "{routes}");
}
