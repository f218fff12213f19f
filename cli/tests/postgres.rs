//! The runs of a database on a server, whose address is in `GRAPHWEFT_POSTGRES`: `postgres/tests/with_server.sh` starts one.
#![allow(clippy::expect_used, reason = "a test")]

use std::process::{Command, Output};

use graphweft::prelude::*;
use graphweft_postgres::PostgresStore;

#[node]
async fn review(ctx: &Context) -> bool {
    ctx.ask("approve", "Ship it?").await
}

workflow! { pub publish(()) -> bool { START => review; review => END; } }

const SCHEMA: &str = "of_the_command_line";

/// `host=/folder user=me dbname=mine` as a URL.
fn url(address: &str) -> String {
    let part = |name: &str| {
        let found = address.split(' ').find_map(|part| part.strip_prefix(&format!("{name}=")[..]));
        found.expect("the script sets it").replace('/', "%2F")
    };
    format!("postgres://{}@{}/{}", part("user"), part("host"), part("dbname"))
}

fn graphweft(url: &str, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_graphweft"));
    command.args(["--store", url, "--schema", SCHEMA]).args(arguments).output().expect("the program starts")
}

#[tokio::test(flavor = "multi_thread")]
async fn runs_in_a_database_are_listed_and_answered_without_their_code() {
    let url = url(&std::env::var("GRAPHWEFT_POSTGRES").expect("`postgres/tests/with_server.sh` starts a server"));
    let store = PostgresStore::builder(&url).schema(SCHEMA).connect().await.expect("the server is there");
    let engine = Engine::builder().store(store).register::<publish>().build().expect("an engine");
    let run = engine.start::<publish>(()).id("poem").await.expect("it is new");
    run.outcome().await.expect("it asks");

    let asked = url.clone();
    let outputs = tokio::task::spawn_blocking(move || {
        [
            &["list"][..],
            &["show", "poem"],
            &["questions"],
            &["answer", "poem", "publish/review/approve", "true"],
            &["check"],
        ]
        .map(|arguments| graphweft(&asked, arguments))
    });
    for (output, expected) in outputs.await.expect("they end").iter().zip(["poem", "review", "Ship it?", "", ""]) {
        let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert!(out.contains(expected), "{out}{err}");
    }
    assert!(run.result().await.expect("it was answered"));

    let wrong = graphweft("postgres://me@%2Fnowhere/mine", &["list"]);
    assert_eq!(wrong.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&wrong.stderr).contains("cannot be reached"));
}
