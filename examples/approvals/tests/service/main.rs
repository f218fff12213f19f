//! The service as a process, with clients that have their streams of events open when it is stopped or killed.
#![cfg(unix)]

mod harness;
#[cfg(feature = "server")]
mod machines;

use std::process::ExitStatus;

use approvals::earlier;
use approvals::refunds::Refund;
use axum::Router;
use axum::body::Bytes;
use axum::routing::post;
use graphweft::prelude::*;
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt;
use tokio::process::Command;

use harness::{Bank, Service, large_refund, settle, shown, small_refund, soon};

#[tokio::test]
async fn a_client_that_follows_a_run_that_waits_sees_its_end_over_two_processes() {
    let directory = tempfile::tempdir().unwrap();
    let service = Service::start(directory.path(), Bank::IsQuick).await;
    large_refund(&service).await;
    let mut events = service.events("refund-large", None).await;
    let before = events.until("question_asked").await;

    service.terminate();

    assert_eq!(events.next().await, None, "the stream ends");
    assert_eq!(service.end().await, (ExitStatus::default(), String::new()));

    let service = Service::start(directory.path(), Bank::IsQuick).await;
    let last = before.last().map(|(id, _)| id.as_str());
    let mut events = service.events("refund-large", last).await;
    let yes = json!({"answer": true, "by": "ada", "comment": "a good customer"});
    let answered = service.send("POST", "/runs/refund-large/questions/approve", &yes).await;
    assert_eq!(answered, (204, Value::Null));
    settle(&service, "large", "new").await;
    let after = events.until("run_completed").await;
    assert_eq!(events.next().await, None);

    let all = service.events("refund-large", None).await.until("run_completed").await;
    assert_eq!([before, after].concat(), all, "none was missed");
    let output = "paid back 25000 cents for large, as refund-large:refund/pay, settled as TX-large";
    assert_eq!(all.last().unwrap().1["output"], output);
    let answer = all.iter().find(|(_, event)| event["type"] == "answered").unwrap();
    assert_eq!((&answer.1["by"], &answer.1["comment"]), (&json!("ada"), &json!("a good customer")));
}

#[tokio::test]
async fn a_node_at_work_is_stopped_and_starts_again_in_the_next_process() {
    let directory = tempfile::tempdir().unwrap();
    let service = Service::start(directory.path(), Bank::IsSlow).await;
    small_refund(&service).await;
    let mut events = service.events("refund-small", None).await;
    let mut last = String::new();
    while let Some((id, event)) = events.next().await {
        last = id;
        if (&event["type"], &event["path"]) == (&json!("node_started"), &json!("refund/pay")) {
            break;
        }
    }

    service.terminate();

    assert_eq!(events.next().await, None, "the stream ends");
    assert_eq!(service.end().await, (ExitStatus::default(), String::new()));

    let service = Service::start(directory.path(), Bank::IsQuick).await;
    let mut events = service.events("refund-small", Some(&last)).await;
    let mut after = events.until("signal_awaited").await;
    settle(&service, "small", "new").await;
    after.extend(events.until("run_completed").await);
    let after = shown(&after);
    assert_eq!(after[..2], ["refund run_resumed", "refund/pay node_completed"]);
    assert_eq!(after.last().unwrap(), "refund run_completed");
}

#[tokio::test]
async fn a_refund_survives_a_kill_wherever_it_is() {
    let directory = tempfile::tempdir().unwrap();
    let service = Service::start(directory.path(), Bank::IsSlow).await;
    large_refund(&service).await;
    service.events("refund-large", None).await.until("question_asked").await;
    service.kill().await;

    let service = Service::start(directory.path(), Bank::IsSlow).await;
    let mut events = service.events("refund-large", None).await;
    let answered = service.send("POST", "/runs/refund-large/questions/approve", &json!({"answer": true})).await;
    assert_eq!(answered, (204, Value::Null));
    while events.next().await.expect("it pays").1["path"] != "refund/pay" {}
    service.kill().await;

    let service = Service::start(directory.path(), Bank::IsQuick).await;
    settle(&service, "large", "new").await;
    let all = shown(&service.events("refund-large", None).await.until("run_completed").await);
    let count = |of: &str| all.iter().filter(|event| *event == of).count();
    assert_eq!(all.last().unwrap(), "refund run_completed");
    assert_eq!(count("refund run_resumed"), 2, "{all:?}");
    assert_eq!(count("refund/decide/approve question_asked"), 1, "{all:?}");
    assert_eq!(count("refund/pay node_completed"), 1, "{all:?}");
    service.terminate();
    assert_eq!(service.end().await, (ExitStatus::default(), String::new()));
}

#[tokio::test]
async fn a_run_of_the_version_before_passes_the_check_and_ends_in_the_service() {
    let directory = tempfile::tempdir().unwrap();
    let database = directory.path().join("approvals.db");
    let refund = Refund { tenant: "acme".into(), order: "old".into(), cents: 25_000 };
    let store = SqliteStore::open(&database).await.unwrap();
    let before = Engine::builder().store(store).resource(approvals::refunds::Bank::default());
    let before = before.register::<earlier::refund>().build().unwrap();
    before.start::<earlier::refund>(refund).id("refund-old").await.unwrap().outcome().await.unwrap();
    before.shutdown().await;

    let mut admin = Command::new(env!("CARGO_BIN_EXE_approvals-admin"));
    let check = soon(admin.args(["check", "--json"]).current_dir(directory.path()).output()).await.unwrap();
    assert!(check.status.success(), "{check:?}");

    let service = Service::start(directory.path(), Bank::IsQuick).await;
    let answered = service.send("POST", "/runs/refund-old/questions/approve", &json!({"answer": true})).await;
    assert_eq!(answered, (204, Value::Null));
    settle(&service, "old", "new").await;
    let all = service.events("refund-old", None).await.until("run_completed").await;
    let output = "paid back 25000 cents for old, as refund-old:refund/pay, settled as TX-old";
    assert_eq!(all.last().unwrap().1["output"], output);
}

#[tokio::test]
async fn a_refund_is_in_the_trace_of_the_request_at_the_collector() {
    let (export, mut exported) = tokio::sync::mpsc::unbounded_channel::<Bytes>();
    let receive = move |spans: Bytes| {
        export.send(spans).unwrap();
        std::future::ready(())
    };
    let collector = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("http://{}", collector.local_addr().unwrap());
    tokio::spawn(axum::serve(collector, Router::new().route("/v1/traces", post(receive))).into_future());
    let directory = tempfile::tempdir().unwrap();
    let variables = [("OTEL_EXPORTER_OTLP_ENDPOINT", address)];
    let service = Service::start_with(directory.path(), Bank::IsQuick, &variables).await;
    let trace = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

    let mut client = service.connect().await;
    let body = json!({"tenant": "acme", "order": "traced", "cents": 25}).to_string();
    client.send("POST", "/refunds", &format!("traceparent: {trace}\r\n"), &body).await;
    assert_eq!(soon(client.head()).await, 201);
    settle(&service, "traced", "new").await;
    service.events("refund-traced", None).await.until("run_completed").await;
    service.terminate();

    assert_eq!(service.end().await, (ExitStatus::default(), String::new()));
    let mut spans = Vec::new();
    while let Ok(more) = exported.try_recv() {
        spans.extend(more);
    }
    let has = |part: &[u8]| spans.windows(part.len()).any(|window| window == part);
    assert!(has(b"refund/pay"), "the span of a node");
    assert!(has(&[0x4b, 0xf9, 0x2f, 0x35, 0x77, 0xb3, 0x4d, 0xa6, 0xa3, 0xce, 0x92, 0x9d, 0x0e, 0x0e, 0x47, 0x36]));
}

/// As in a deployment, in which the next process starts before the last one is stopped.
#[tokio::test]
async fn a_client_that_follows_the_run_of_another_process_does_not_keep_its_own() {
    let directory = tempfile::tempdir().unwrap();
    let first = Service::start(directory.path(), Bank::IsSlow).await;
    small_refund(&first).await;
    let mut of_first = first.events("refund-small", None).await;
    of_first.until("node_completed").await;
    let second = Service::start(directory.path(), Bank::IsQuick).await;
    let mut of_second = second.events("refund-small", None).await;
    of_second.until("node_completed").await;

    second.terminate();

    assert!(shown(&of_second.until("").await).ends_with(&["refund/pay node_started".to_owned()]), "the stream ends");
    assert_eq!(second.end().await, (ExitStatus::default(), String::new()));

    let third = Service::start(directory.path(), Bank::IsQuick).await;
    let mut of_third = third.events("refund-small", None).await;
    of_third.until("node_completed").await;
    first.terminate();
    assert!(shown(&of_first.until("").await).ends_with(&["refund/pay node_started".to_owned()]), "the stream ends");
    assert_eq!(first.end().await, (ExitStatus::default(), String::new()));
    // Early: the run may not wait for it yet.
    settle(&third, "small", "new").await;
    let after = shown(&of_third.until("run_completed").await);
    assert!(after.ends_with(&["refund run_completed".to_owned()]), "its run goes on: {after:?}");
}

#[tokio::test]
async fn runs_are_found_listed_looked_at_cancelled_and_deleted() {
    let directory = tempfile::tempdir().unwrap();
    let service = Service::start(directory.path(), Bank::IsQuick).await;
    for order in 0..5 {
        let refund = json!({"tenant": "acme", "order": format!("{order}"), "cents": 20_000 + order});
        assert_eq!(service.send("POST", "/refunds", &refund).await.0, 201);
    }
    small_refund(&service).await;
    let ids = |page: &Value| -> Vec<String> {
        page["runs"].as_array().unwrap().iter().map(|run| run["id"].as_str().unwrap().to_owned()).collect()
    };
    let (status, first) = service.send("GET", "/runs?tenant=acme&limit=2", &Value::Null).await;
    assert_eq!((status, ids(&first), &first["of"]), (200, vec!["refund-4".into(), "refund-3".into()], &json!(5)));
    let next = format!("/runs?tenant=acme&limit=2&before={}", first["next"]);
    let (_, second) = service.send("GET", &next, &Value::Null).await;
    assert_eq!((ids(&second), &second["of"]), (vec!["refund-2".into(), "refund-1".into()], &json!(5)));
    service.events("refund-0", None).await.until("question_asked").await;

    let (_, inbox) = service.send("GET", "/inbox?tenant=acme", &Value::Null).await;
    assert!(inbox.as_array().unwrap().iter().any(|asked| asked["run"] == "refund-0"), "{inbox}");
    let (_, info) = service.send("GET", "/runs/refund-0", &Value::Null).await;
    assert_eq!((&info["open_questions"], &info["tags"]["tenant"]), (&json!(1), &json!("acme")));
    assert_eq!(service.send("DELETE", "/runs/refund-0", &Value::Null).await.0, 409, "it has not ended");
    assert_eq!(service.send("POST", "/runs/refund-0/cancel", &Value::Null).await.0, 202);
    service.events("refund-0", None).await.until("run_cancelled").await;
    let (_, cancelled) = service.send("GET", "/runs?status=cancelled", &Value::Null).await;
    assert_eq!(ids(&cancelled), ["refund-0"]);
    assert_eq!(service.send("DELETE", "/runs/refund-0", &Value::Null).await.0, 204);
    assert_eq!(service.send("GET", "/runs/refund-0", &Value::Null).await.0, 404);
    let refund = json!({"tenant": "acme", "order": "0", "cents": 20_000});
    assert_eq!(service.send("POST", "/refunds", &refund).await.0, 409, "its id is kept");

    settle(&service, "small", "new").await;
    let late = service.send("POST", "/runs/refund-small/signals/settled?id=evt_1", &json!({"reference": "TX"})).await;
    assert!(matches!(late.0, 200 | 409), "{late:?}");
    let odd = service.send("POST", "/runs/refund-1/signals/settled?id=", &json!({"reference": "TX"})).await;
    assert_eq!(odd.0, 422, "{odd:?}");
    assert_eq!(service.send("POST", "/runs/none/signals/settled", &json!(1)).await.0, 404);
    service.terminate();
    assert_eq!(service.end().await, (ExitStatus::default(), String::new()));
}

#[tokio::test]
async fn connections_without_a_request_do_not_keep_the_process() {
    let directory = tempfile::tempdir().unwrap();
    let service = Service::start(directory.path(), Bank::IsQuick).await;
    // A browser opens such ones before it needs them, and keeps those that it has used.
    let _unused = service.connect().await;
    let mut used = service.connect().await;
    used.send("GET", "/runs/none/questions", "", "").await;
    assert_eq!(soon(used.head()).await, 404);

    service.terminate();

    assert_eq!(service.end().await, (ExitStatus::default(), String::new()));
}

#[tokio::test]
async fn a_client_that_never_ends_its_request_keeps_the_process_for_a_bounded_time() {
    let directory = tempfile::tempdir().unwrap();
    let service = Service::start(directory.path(), Bank::IsQuick).await;
    let mut connection = service.connect().await;
    // The service has read the head when it asks for the rest.
    let head = "POST /refunds HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\
                Expect: 100-continue\r\n\r\n";
    connection.0.write_all(head.as_bytes()).await.unwrap();
    assert_eq!(soon(connection.head()).await, 100);

    service.terminate();

    let expected = "a connection was still open after 5 s\n".to_owned();
    assert_eq!(service.end().await, (ExitStatus::default(), expected));
}
