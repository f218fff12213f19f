//! Three processes over one PostgreSQL, as on three machines: they share nothing but that.

use graphweft_postgres::tokio_postgres::{NoTls, connect};
use serde_json::{Value, json};

use crate::harness::{Bank, Service, settle, shown, soon};

/// A database of its own in the server whose address is in `GRAPHWEFT_POSTGRES`, as a URL.
async fn fresh_database() -> String {
    let server = std::env::var("GRAPHWEFT_POSTGRES").expect("`postgres/tests/with_server.sh` sets it");
    let name = format!("approvals_{}", std::process::id());
    let (client, connection) = connect(&server, NoTls).await.unwrap();
    tokio::spawn(connection);
    client.batch_execute(&format!("create database {name}")).await.unwrap();
    let part = |name: &str| server.split(' ').find_map(|part| part.strip_prefix(name)).unwrap().replace('/', "%2F");
    format!("postgres://{}@{}/{name}", part("user="), part("host="))
}

async fn refund(service: &Service, order: &str, cents: u32) {
    let refund = json!({"tenant": "acme", "order": order, "cents": cents});
    assert_eq!(service.send("POST", "/refunds", &refund).await.0, 201);
}

/// What happened in a run until its end.
async fn all(service: &Service, order: &str) -> Vec<String> {
    let run = format!("refund-{order}");
    shown(&soon(async { service.events(&run, None).await.until("run_completed").await }).await)
}

fn resumed(events: &[String]) -> usize {
    events.iter().filter(|event| *event == "refund run_resumed").count()
}

/// What is recorded is not executed again.
fn assert_is_not_repeated(events: &[String]) {
    let starts = events.iter().filter(|event| *event == "refund/check node_started").count();
    assert_eq!(starts, 1, "{events:?}");
}

#[tokio::test]
async fn three_processes_share_the_work_and_those_that_are_left_continue_it() {
    let directory = tempfile::tempdir().unwrap();
    let variables = [("APPROVALS_DATABASE", fresh_database().await)];
    let start = async |bank| Service::start_with(directory.path(), bank, &variables).await;
    let (first, second, third) = (start(Bank::IsSlow).await, start(Bank::IsQuick).await, start(Bank::IsQuick).await);
    // As by a balancer: each executes what it is sent. A payment of the first one never ends.
    for (service, name) in [(&first, "first"), (&second, "second"), (&third, "third")] {
        for n in 0..4 {
            refund(service, &format!("{name}-{n}"), 25).await;
        }
    }
    for n in 0..4 {
        let mut events = third.events(&format!("refund-first-{n}"), None).await;
        while events.next().await.expect("it pays").1["path"] != "refund/pay" {}
    }
    // A person is asked by one, and answers to another.
    refund(&second, "large", 25_000).await;
    third.events("refund-large", None).await.until("question_asked").await;
    let answered = third.send("POST", "/runs/refund-large/questions/approve", &json!({"answer": true})).await;
    assert_eq!(answered, (204, Value::Null));

    first.kill().await;

    for n in 0..4 {
        settle(&third, &format!("first-{n}"), "new").await;
        let events = all(&second, &format!("first-{n}")).await;
        assert_eq!(resumed(&events), 1, "{events:?}");
        assert_is_not_repeated(&events);
    }

    // Each of the others ends its own, until one is stopped while its runs wait for the bank.
    settle(&third, "large", "new").await;
    for n in 0..2 {
        settle(&third, &format!("second-{n}"), "new").await;
        let events = all(&third, &format!("second-{n}")).await;
        assert_eq!(resumed(&events), 0, "{events:?}");
        assert_is_not_repeated(&events);
    }
    second.terminate();
    assert!(soon(second.end()).await.0.success());
    for n in 2..4 {
        settle(&third, &format!("second-{n}"), "new").await;
        all(&third, &format!("second-{n}")).await;
    }
    for n in 0..4 {
        settle(&third, &format!("third-{n}"), "new").await;
        let events = all(&third, &format!("third-{n}")).await;
        assert_eq!(resumed(&events), 0, "{events:?}");
        assert_is_not_repeated(&events);
    }
    all(&third, "large").await;
    let (_, page) = third.send("GET", "/runs?status=completed&limit=1", &Value::Null).await;
    assert_eq!(page["of"], 13);
    third.terminate();
    assert!(soon(third.end()).await.0.success());
}
