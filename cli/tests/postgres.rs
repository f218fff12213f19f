//! The runs of a database on a server, whose address is in `GRAPHWEFT_POSTGRES`: `postgres/tests/with_server.sh` starts one.
#![allow(clippy::expect_used, reason = "a test")]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Output, Stdio};

use graphweft::prelude::*;
use graphweft_postgres::PostgresStore;

#[node]
async fn review(ctx: &Context) -> bool {
    ctx.ask("approve", "Ship it?").await
}

workflow! { pub publish(()) -> bool { START => review; review => END; } }

/// `host=/folder user=me dbname=mine` as a URL.
fn url(address: &str) -> String {
    let part = |name: &str| {
        let found = address.split(' ').find_map(|part| part.strip_prefix(&format!("{name}=")[..]));
        found.expect("the script sets it").replace('/', "%2F")
    };
    format!("postgres://{}@{}/{}", part("user"), part("host"), part("dbname"))
}

fn command(url: &str, schema: &str, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_graphweft"));
    command.args(["--store", url, "--schema", schema]).args(arguments);
    command
}

fn graphweft(url: &str, schema: &str, arguments: &[&str]) -> Output {
    command(url, schema, arguments).output().expect("the program starts")
}

/// The server's address, and an engine of the schema with the run `poem`, which asks.
async fn asking(schema: &str) -> (String, Run<bool>) {
    let url = url(&std::env::var("GRAPHWEFT_POSTGRES").expect("`postgres/tests/with_server.sh` starts a server"));
    let store = PostgresStore::builder(&url).schema(schema).connect().await.expect("the server is there");
    let engine = Engine::builder().store(store).register::<publish>().build().expect("an engine");
    let run = engine.start::<publish>(()).id("poem").await.expect("it is new");
    run.outcome().await.expect("it asks");
    (url, run)
}

#[tokio::test(flavor = "multi_thread")]
async fn runs_in_a_database_are_listed_and_answered_without_their_code() {
    let schema = "of_the_command_line";
    let (url, run) = asking(schema).await;

    let asked = url.clone();
    let outputs = tokio::task::spawn_blocking(move || {
        [
            &["list"][..],
            &["show", "poem"],
            &["questions"],
            &["answer", "poem", "publish/review/approve", "true"],
            &["check"],
        ]
        .map(|arguments| graphweft(&asked, schema, arguments))
    });
    for (output, expected) in outputs.await.expect("they end").iter().zip(["poem", "review", "Ship it?", "", ""]) {
        let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert!(out.contains(expected), "{out}{err}");
    }
    assert!(run.result().await.expect("it was answered"));

    // None is made by looking for it.
    for _ in 0..2 {
        let misspelt = graphweft(&url, "misspelt", &["list"]);
        let err = String::from_utf8_lossy(&misspelt.stderr);
        assert!(err.contains("there is no store in its schema `misspelt`"), "{err}");
        assert_eq!(misspelt.status.code(), Some(1));
    }

    let wrong = graphweft("postgres://me@%2Fnowhere/mine", schema, &["list"]);
    assert_eq!(wrong.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&wrong.stderr).contains("cannot be reached"));
}

/// The server of the page. It ends with the test.
struct Page {
    process: Child,
    address: String,
}

impl Page {
    fn of(url: &str, schema: &str) -> Page {
        let mut command = command(url, schema, &["ui", "--port", "0"]);
        let mut process = command.stdout(Stdio::piped()).spawn().expect("the program starts");
        let mut line = String::new();
        BufReader::new(process.stdout.take().expect("a pipe")).read_line(&mut line).expect("it says its address");
        let address = line.trim().trim_start_matches("http://").trim_end_matches('/').to_owned();
        Page { process, address }
    }

    /// What changes something is sent with the token that the page was served with.
    fn request(&self, method: &str, path: &str, token: &str, body: &str) -> String {
        let mut stream = TcpStream::connect(&self.address).expect("it listens");
        let (address, length) = (&self.address, body.len());
        write!(
            stream,
            "{method} {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\nContent-Type: application/json\r\n\
             X-Graphweft-Token: {token}\r\nContent-Length: {length}\r\n\r\n{body}"
        )
        .expect("it reads");
        let mut response = String::new();
        stream.read_to_string(&mut response).expect("it answers");
        response
    }
}

impl Drop for Page {
    fn drop(&mut self) {
        drop(self.process.kill());
        drop(self.process.wait());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_page_is_served_for_a_database() {
    let schema = "of_the_page";
    let (url, run) = asking(schema).await;
    let page = tokio::task::spawn_blocking(move || {
        let page = Page::of(&url, schema);
        for (path, expected) in [
            ("/api/runs", "poem"),
            ("/api/runs/poem", "\"waiting\""),
            ("/api/runs/poem/graph", "review"),
            ("/api/runs/poem/view", "review"),
            ("/api/questions", "Ship it?"),
            ("/", "<!doctype html>"),
        ] {
            let response = page.request("GET", path, "", "");
            assert!(response.starts_with("HTTP/1.1 200") && response.contains(expected), "{path}: {response}");
        }
        let served = page.request("GET", "/", "", "");
        let behind = served.split_once("\"graphweft-token\" content=\"").expect("it has a token").1;
        let token = behind.split('"').next().unwrap_or_default();
        let answered = page.request("POST", "/api/runs/poem/answers/approve", token, r#"{"answer":true}"#);
        assert!(answered.starts_with("HTTP/1.1 2"), "{answered}");
        page
    });
    let page = page.await.expect("it ends");
    assert!(run.result().await.expect("it was answered"));
    let ended = tokio::task::spawn_blocking(move || page.request("GET", "/api/runs/poem", "", ""));
    let ended = ended.await.expect("it answers");
    assert!(ended.contains("\"completed\""), "{ended}");
}
