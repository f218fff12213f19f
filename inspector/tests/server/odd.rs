//! No input leads to an error of the server, or to a panic.

use serde_json::json;

use crate::flows::engine;
use crate::{Server, encoded};

/// What stands for anything.
const ODD: &[&str] = &[
    "",
    " ",
    ".",
    "..",
    "/",
    "%",
    "%zz",
    "%ff",
    "%00",
    "\u{0}",
    "a/b",
    "a#2",
    "a[3]",
    "[a]",
    "[",
    "]",
    "#",
    ":",
    "a:b",
    "0",
    "-1",
    "1e9",
    "18446744073709551615",
    "18446744073709551616",
    "9223372036854775808",
    "null",
    "true",
    "{}",
    "[]",
    "\"",
    "'",
    "<",
    "\u{202e}",
    "\u{1f600}",
    "\u{feff}",
    "refund",
    "refund/decide",
    "refund/decide/approve",
    "w",
    "17.3",
    "1.2.3",
    "a=b",
];

#[tokio::test]
async fn no_input_leads_to_an_error_of_the_server() {
    let engine = engine();
    engine.start_json("refund", json!({"order": "A", "cents": 2000})).id("w").await.unwrap().outcome().await.unwrap();
    let server = Server::of(&engine).await;
    let mut sent = 0;
    for odd in ODD.iter().copied().chain([&*"x".repeat(5000)]) {
        let odd = encoded(odd);
        let gets = [
            format!("/api/runs/{odd}"),
            format!("/api/runs/{odd}/view"),
            format!("/api/runs/{odd}/graph"),
            format!("/api/runs/{odd}/questions"),
            format!("/api/runs/{odd}/values?path={odd}&at={odd}"),
            format!("/api/runs/w/values?path={odd}"),
            format!("/api/runs/w/values?path=refund&at={odd}"),
            format!("/api/runs/w/view?since={odd}"),
            format!("/api/workflows/{odd}"),
            format!("/api/workflows/{odd}/pictures/{odd}"),
            format!("/api/workflows/refund/pictures/{odd}"),
            format!("/api/runs?cursor={odd}"),
            format!("/api/runs?limit={odd}"),
            format!("/api/runs?status={odd}&workflow={odd}&tag={odd}&id_prefix={odd}"),
            format!("/api/runs?from={odd}&until={odd}&order={odd}&forked_from={odd}"),
            format!("/api/runs?from={odd}"),
            format!("/api/runs?until={odd}"),
            format!("/api/runs?tag=a={odd}"),
            format!("/api/runs?id_prefix={odd}&forked_from={odd}"),
            format!("/api/runs?{odd}"),
            format!("/api/questions?cursor={odd}&name={odd}"),
            format!("/api/questions?name={odd}&workflow={odd}"),
            format!("/api/counts?workflow={odd}"),
            format!("/api/{odd}"),
            format!("/{odd}"),
        ];
        for path in gets {
            let response = server.get(&path).await;
            assert!(response.status < 500, "{path}: {} {}", response.status, response.text());
            sent += 1;
        }
        for raw in [
            format!("/api/runs/{}", "%ff"),
            "/api/runs/%zz".into(),
            "/api/runs?status=%ff".into(),
            "/api/runs?%".into(),
        ] {
            assert!(server.get(&raw).await.status < 500, "{raw}");
        }
    }
    let values = [
        json!(null),
        json!(true),
        json!(-1),
        json!(1.5),
        json!(u64::MAX),
        json!(""),
        json!("x".repeat(2000)),
        json!([]),
        json!({}),
        json!([[[]]]),
        json!({"a": null}),
    ];
    for value in &values {
        for odd in ["w", "none", "%00", "a%2Fb"] {
            let posts = [
                (
                    "/api/workflows/refund/runs".to_owned(),
                    json!({"input": value, "id": value, "tags": value, "state": value, "after": value}),
                ),
                (format!("/api/workflows/{odd}/runs"), json!({"input": value})),
                ("/api/workflows/wide/runs".to_owned(), json!({"input": 1, "after": value})),
                ("/api/workflows/wide/runs".to_owned(), json!({"input": 0, "id": value})),
                ("/api/workflows/wide/runs".to_owned(), json!({"input": 0, "tags": {"a": value}})),
                (format!("/api/runs/{odd}/answers/{odd}"), json!({"answer": value, "by": value, "comment": value})),
                (format!("/api/runs/{odd}/answers/approve"), json!({"answer": value})),
                (format!("/api/runs/{odd}/signals/{odd}"), json!({"payload": value})),
                (format!("/api/runs/{odd}/signals/x"), json!({"payload": value, "id": value, "by": value})),
                (format!("/api/runs/{odd}/retry"), json!({"from_nodes": [value], "rerun": [value]})),
                ("/api/runs/none/fork".to_owned(), json!({"before": value, "id": value})),
                (format!("/api/runs/{odd}/fork"), json!({"before": value})),
                ("/api/runs/none/cancel".to_owned(), value.clone()),
            ];
            for (path, body) in posts {
                let response = server.post(&path, body.clone()).await;
                assert!(response.status < 500, "{path} {body}: {} {}", response.status, response.text());
                sent += 1;
            }
        }
    }
    assert!(sent > 1000, "{sent}");
    // It is still there, and so is the run.
    assert_eq!(server.get("/api/runs/w").await.ok()["id"], "w");
}
