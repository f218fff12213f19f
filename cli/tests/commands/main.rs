//! The binary, on a file that another program has written.

mod conversations;
#[cfg(target_os = "linux")]
mod long_lists;
mod outputs;
#[cfg(target_os = "linux")]
mod read_only;
mod renamed;

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, SystemTime};

use graphweft::prelude::*;
use serde_json::Value;

#[node]
async fn check(cents: u32, ctx: &Context) -> Result<u32, String> {
    if cents > 100 && !ctx.ask::<bool>("approve", "Pay \u{1b}[2Jthis back?").await {
        return Err("declined".to_owned());
    }
    Ok(cents)
}

#[node(retry(max_attempts = 2, initial_delay = "0s"))]
async fn pay(cents: u32) -> Result<String, std::io::Error> {
    match cents {
        13 => Err(std::io::Error::other("the bank does not like 13")),
        14 => Err(std::io::Error::other(format!("the bank says {}", "no, ".repeat(25_000)))),
        _ => Ok(format!("paid {cents}")),
    }
}

#[node]
async fn decline(why: String) -> String {
    why
}

workflow! {
    refund(u32) -> String { START => check => <ok: pay, err: decline>; }
}

#[node(retry(max_attempts = 3, initial_delay = "90m", max_delay = "90m", jitter = 0.0))]
async fn transfer(cents: u32) -> Result<u32, std::io::Error> {
    Err(std::io::Error::other(format!("{cents} cents: the bank\nis closed")))
}

workflow! {
    saving(u32) -> u32 { START => transfer; }
}

#[node]
async fn many(n: u32) -> Vec<u32> {
    (0..n).collect()
}

#[node]
async fn one(n: u32) -> u32 {
    n + 1
}

#[node]
async fn sum(all: Vec<u32>) -> u32 {
    all.into_iter().sum()
}

workflow! {
    wide(u32) -> u32 { START => many => [one] => sum; }
}

#[node]
async fn count(from: u32, ctx: &Context) -> bool {
    if from < 30 {
        ctx.start_over::<counting>(from + 10).await
    }
    ctx.ask::<bool>("enough", "Is it enough?").await
}

workflow! {
    counting(u32) -> bool { START => count; }
}

struct Runs {
    _folder: tempfile::TempDir,
    file: PathBuf,
    engine: Engine,
}

async fn engine(file: &Path) -> Engine {
    let store = SqliteStore::open(file).await.unwrap();
    Engine::builder()
        .store(store)
        .register::<refund>()
        .register::<wide>()
        .register::<counting>()
        .register::<saving>()
        .build()
        .unwrap()
}

/// One run of each kind. The engine lives, and so answers are read.
async fn runs() -> Runs {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("runs.db");
    let engine = engine(&file).await;
    for (id, cents) in [("done", 7), ("failed", 13), ("waits", 2000)] {
        let run = engine.start::<refund>(cents).id(id).tag("tenant", "acme").await.unwrap();
        run.outcome().await.unwrap();
    }
    engine.start::<wide>(30).id("wide").await.unwrap().outcome().await.unwrap();
    Runs { _folder: folder, file, engine }
}

struct Ran {
    code: i32,
    out: String,
    err: String,
}

impl Runs {
    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_graphweft"));
        command.arg("--store").arg(&self.file).args(arguments).stdin(Stdio::null());
        command
    }

    async fn ran(&self, arguments: &[&str]) -> Ran {
        Runs::output(self.command(arguments)).await
    }

    async fn output(mut command: Command) -> Ran {
        let output = tokio::task::spawn_blocking(move || command.output().unwrap()).await.unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        Ran { code: output.status.code().unwrap(), out: text(output.stdout), err: text(output.stderr) }
    }

    #[track_caller]
    fn json(ran: &Ran) -> Value {
        serde_json::from_str(&ran.out).unwrap_or_else(|error| panic!("{error}: {}{}", ran.out, ran.err))
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_that_waits_for_its_next_attempt_says_when_and_why() {
    let runs = runs().await;
    let run = runs.engine.start::<saving>(50).id("later").await.unwrap();
    let mut events = run.events();
    while !matches!(events.next().await.unwrap().kind, EventKind::NodeFailed { .. }) {}
    let listed = runs.ran(&["list", "--workflow", "saving"]).await;
    assert!(listed.out.contains("saving/transfer: attempt 2 in 1 h: 50 cents: the bank"), "{}", listed.out);
    let listed = Runs::json(&runs.ran(&["list", "--workflow", "saving", "--json"]).await);
    let position = &listed[0]["position"];
    let (next, since) = (&position["next_attempt"], position["since"].as_u64().unwrap());
    assert_eq!((&next["number"], &next["failure"]), (&2.into(), &"50 cents: the bank".into()));
    // The delay begins with the failure, before its record is made, and ends with a whole millisecond.
    assert!((89 * 60_000..=90 * 60_000 + 1).contains(&(next["at"].as_u64().unwrap() - since)), "{position}");
}

#[tokio::test(flavor = "multi_thread")]
async fn runs_are_listed() {
    let runs = runs().await;
    let all = runs.ran(&["list"]).await;
    let lines: Vec<&str> = all.out.lines().collect();
    assert_eq!((all.code, lines.len()), (0, 5), "{}", all.out);
    assert!(
        lines[0].contains("RUN") && lines[2].contains("waits") && lines[2].contains("Pay \u{fffd}[2Jthis back?"),
        "{}",
        all.out
    );
    assert!(lines[3].contains("failed") && lines[3].contains("the bank does not like 13"), "{}", all.out);
    assert!(!all.out.contains('\u{1b}'));
    let failed = runs.ran(&["list", "--status", "failed", "--tag", "tenant=acme", "--json"]).await;
    assert_eq!(Runs::json(&failed)[0]["id"], "failed");
    assert_eq!(Runs::json(&runs.ran(&["list", "--workflow", "wide", "--json"]).await).as_array().unwrap().len(), 1);
    let asked = runs.ran(&["questions", "--json"]).await;
    assert_eq!(Runs::json(&asked)[0]["run"], "waits");
    assert!(runs.ran(&["questions"]).await.out.contains("approve"));
}

/// What the file has of a text is another one of the same length.
fn damage(file: &Path, text: &str, other: &str) {
    let mut bytes = std::fs::read(file).unwrap();
    let places: Vec<usize> =
        bytes.windows(text.len()).enumerate().filter(|(_, at)| *at == text.as_bytes()).map(|(at, _)| at).collect();
    assert!(!places.is_empty(), "`{text}` is in the file");
    for place in places {
        bytes[place..place + text.len()].copy_from_slice(other.as_bytes());
    }
    std::fs::write(file, bytes).unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_that_cannot_be_followed_to_its_end_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("runs.db");
    let engine = engine(&file).await;
    engine.start::<refund>(2000).id("waits").await.unwrap().outcome().await.unwrap();
    engine.shutdown().await;
    // It has one connection after the other closed, and the last one moves all of the log to the file.
    drop(engine);
    while folder.path().join("runs.db-wal").exists() {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    damage(&file, "Jthis back?", "Jthat back?");
    let mut command = Command::new(env!("CARGO_BIN_EXE_graphweft"));
    command.arg("--store").arg(&file).args(["tail", "-f", "waits"]).stdin(Stdio::null());
    let tail = Runs::output(command).await;
    assert_eq!(tail.code, 1, "{}{}", tail.out, tail.err);
    assert!(tail.err.contains("checksum"), "{}", tail.err);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_is_shown_as_a_tree_and_its_code_says_how_it_is() {
    let runs = runs().await;
    let done = runs.ran(&["show", "done", "--bars", "0"]).await;
    let tree: Vec<String> =
        done.out.lines().skip(1).map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect();
    assert_eq!(tree, ["├─ check completed", "├─ decline skipped", "└─ pay completed"]);
    assert!(done.out.starts_with("done of refund: completed after"), "{}", done.out);
    assert_eq!(done.code, 0);
    let failed = runs.ran(&["show", "failed"]).await;
    assert_eq!(failed.code, 4);
    assert!(failed.out.contains("failed (2)") && failed.out.contains('×'), "{}", failed.out);
    assert!(failed.out.contains("failed at refund/pay: the bank does not like 13"), "{}", failed.out);
    let waits = runs.ran(&["show", "waits"]).await;
    assert_eq!(waits.code, 3);
    assert!(waits.out.contains("   └─ approve"), "{}", waits.out);
    assert!(waits.out.contains("answer waits refund/check/approve"), "{}", waits.out);
    let before = runs.ran(&["show", "failed", "--at", "1"]).await;
    assert_eq!(before.code, 0);
    assert!(before.out.contains("running after"), "{}", before.out);
    let wide = runs.ran(&["show", "wide"]).await;
    assert!(
        wide.out.contains("one[19]") && !wide.out.contains("one[20]") && wide.out.contains("10 more"),
        "{}",
        wide.out
    );
    assert!(wide.out.contains("[one]") && wide.out.contains("completed 30/30"), "{}", wide.out);
    let before = runs.ran(&["show", "wide", "--at", "20"]).await;
    assert!(before.out.contains("/30") && !before.out.contains("30/30"), "{}", before.out);
    let json = Runs::json(&runs.ran(&["show", "waits", "--json"]).await);
    assert_eq!((&json["run"]["status"], &json["view"]["status"]), (&"waiting".into(), &"waiting".into()));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_that_is_not_over_is_shown_until_now() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("runs.db");
    let store = SqliteStore::open(&file).await.unwrap();
    let before = || SystemTime::now() - Duration::from_secs(50 * 60 * 60);
    let engine = Engine::builder().store(store).clock(before).register::<refund>().build().unwrap();
    for (id, cents) in [("waits", 2000), ("done", 7)] {
        engine.start::<refund>(cents).id(id).await.unwrap().outcome().await.unwrap();
    }
    let runs = Runs { _folder: folder, file, engine };
    let waits = runs.ran(&["show", "waits"]).await;
    assert!(waits.out.starts_with("waits of refund: waiting after 2 d"), "{}", waits.out);
    let done = runs.ran(&["show", "done"]).await;
    assert!(!done.out.contains(" d ") && done.out.starts_with("done of refund: completed after"), "{}", done.out);
    let before = runs.ran(&["show", "waits", "--at", "1"]).await;
    assert!(before.out.contains("running after") && !before.out.contains(" d "), "{}", before.out);
}

/// Without the code of the workflow only what is recorded is known: the input of the run, and all outputs.
#[tokio::test(flavor = "multi_thread")]
async fn a_run_is_shown_with_its_values() {
    let runs = runs().await;
    let done = runs.ran(&["show", "done", "--bars", "0", "--values"]).await;
    let lines: Vec<String> =
        done.out.lines().skip(1).map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect();
    let unknown = "inputs are not known: this program does not have the code of workflow `refund`";
    let check = ["├─ check completed", "│ output 7", "├─ decline skipped", "└─ pay completed"];
    assert_eq!(lines[..2], ["input 7", "output \"paid 7\""]);
    assert_eq!(lines[2..6], check);
    assert_eq!(lines[6..], ["output \"paid 7\"", unknown]);
    let json = Runs::json(&runs.ran(&["show", "done", "--values", "--json"]).await);
    assert_eq!(json["values"]["refund/pay"]["output"], "paid 7");
    assert!(json["values"]["refund/pay"]["input_unknown"].as_str().unwrap().contains("`refund`"), "{json}");
    let before = Runs::json(&runs.ran(&["show", "done", "--values", "--json", "--at", "2"]).await);
    assert_eq!(before["values"]["refund/check"]["output"], 7);
    assert!(before["values"].get("refund/pay").is_none(), "{before}");
}

#[tokio::test(flavor = "multi_thread")]
async fn events_are_printed_and_followed() {
    let runs = runs().await;
    let tail = runs.ran(&["tail", "failed"]).await;
    assert_eq!(tail.code, 4);
    assert!(tail.out.lines().next().unwrap().contains("run_started"), "{}", tail.out);
    assert!(tail.out.contains("node_failed"), "{}", tail.out);
    let json = runs.ran(&["tail", "done", "--json"]).await;
    let types: Vec<Value> =
        json.out.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()["type"].clone()).collect();
    assert_eq!(types.last().unwrap(), "run_completed");
    let follows = async { runs.ran(&["tail", "-f", "waits"]).await };
    let answers = async { runs.ran(&["answer", "waits", "approve", "true"]).await };
    let (followed, answered) = tokio::join!(follows, answers);
    assert_eq!((followed.code, answered.code), (0, 0), "{}", answered.err);
    assert!(followed.out.contains("run_completed"), "{}", followed.out);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_question_is_answered_by_the_type_that_it_asks_for() {
    let runs = runs().await;
    let wrong = runs.ran(&["answer", "waits", "approve", "3"]).await;
    assert_eq!(wrong.code, 1);
    assert!(wrong.err.contains("invalid answer to `refund/check/approve`"), "{}", wrong.err);
    let text = runs.ran(&["answer", "waits", "approve", "yes"]).await;
    assert!(text.err.contains("is not JSON"), "{}", text.err);
    assert_eq!(runs.ran(&["answer", "waits", "other", "true"]).await.code, 1);
    let given = runs.ran(&["answer", "waits", "approve", "false", "--by", "ada", "--comment", "no"]).await;
    assert_eq!(given.code, 0, "{}", given.err);
    runs.engine.get_run("waits").await.unwrap().unwrap().outcome().await.unwrap();
    let tail = runs.ran(&["tail", "waits"]).await;
    assert!(tail.out.contains("false, by ada"), "{}", tail.out);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_needs_the_code_says_so_and_the_rest_does_not() {
    let runs = runs().await;
    runs.engine.shutdown().await;
    let checked = runs.ran(&["check"]).await;
    assert_eq!(checked.code, 1);
    assert!(checked.err.contains("`check` needs the code of the workflows"), "{}", checked.err);
    // It is requested, and so is a retry.
    let forked = runs.ran(&["fork", "failed", "--id", "again"]).await;
    assert_eq!((forked.code, forked.out.as_str()), (0, "a fork of `failed` is requested: `again`\n"), "{}", forked.err);
    assert_eq!(runs.ran(&["fork", "failed", "--id", "again"]).await.code, 1);
    let answered = runs.ran(&["answer", "waits", "approve", "true"]).await;
    assert_eq!(answered.code, 1);
    assert!(answered.err.contains("no living process has workflow `refund`"), "{}", answered.err);
    assert!(answered.err.contains("start its program"), "{}", answered.err);
    let graph = runs.ran(&["graph", "refund"]).await;
    assert!(graph.out.starts_with("flowchart") && graph.out.contains("decline"), "{}", graph.out);
    assert_eq!(runs.ran(&["graph", "done", "--format", "mermaid"]).await.out, graph.out);
    assert!(runs.ran(&["graph", "done", "--format", "dot"]).await.out.starts_with("digraph"));
    assert_eq!(Runs::json(&runs.ran(&["graph", "done", "--json"]).await)["graph"]["name"], "refund");
    let retried = runs.ran(&["retry", "failed"]).await;
    assert_eq!((retried.code, retried.out.as_str()), (0, "a retry of `failed` is requested\n"), "{}", retried.err);
    assert_eq!(runs.ran(&["cancel", "waits"]).await.code, 0);
    let deadline = tokio::time::Instant::now() + std::time::Duration::from_secs(30);
    while runs.ran(&["show", "waits"]).await.code != 5 {
        assert!(tokio::time::Instant::now() < deadline, "it is cancelled");
    }
    assert_eq!(runs.ran(&["delete", "done"]).await.code, 0);
    assert_eq!(runs.ran(&["delete", "done"]).await.code, 1);
}

/// Times are replaced, and so is the space that they take.
fn without_times(text: &str) -> String {
    let mut lines = Vec::new();
    for line in text.lines() {
        let mut words: Vec<&str> = line.split_whitespace().collect();
        let mut at = 0;
        while at + 1 < words.len() {
            let is_number = words[at].parse::<f64>().is_ok();
            if is_number && ["ms", "s", "min", "h", "d"].contains(&words[at + 1].trim_end_matches(',')) {
                words[at] = "0";
                words[at + 1] = if words[at + 1].ends_with(',') { "s," } else { "s" };
            }
            at += 1;
        }
        lines.push(words.join(" "));
    }
    lines.join("\n")
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_printed_stays_as_it_is() {
    let runs = runs().await;
    let commands: [(&str, &[&str]); 9] = [
        ("list", &["list"]),
        ("questions", &["questions"]),
        ("show_failed", &["show", "failed", "--bars", "0"]),
        ("show_waits", &["show", "waits", "--bars", "0"]),
        ("tail", &["tail", "failed"]),
        ("mermaid", &["graph", "refund", "--format", "mermaid"]),
        ("dot", &["graph", "refund", "--format", "dot"]),
        ("prune_dry_run", &["prune", "--completed", "0s", "--failed", "0s", "--dry-run"]),
        ("prune_json", &["prune", "--failed", "30d", "--json"]),
    ];
    for (name, command) in commands {
        let ran = runs.ran(command).await;
        assert_eq!(ran.err, "", "{command:?}");
        insta::assert_snapshot!(name, without_times(&ran.out));
    }
    // Their space counts.
    for (name, command) in
        [("ascii", ["graph", "refund", "--format", "ascii"]), ("svg", ["graph", "wide", "--format", "svg"])]
    {
        insta::assert_snapshot!(name, runs.ran(&command).await.out);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn old_runs_are_deleted_and_counted_before() {
    let runs = runs().await;
    let old = ["prune", "--completed", "30d", "--failed", "90d", "--cancelled", "12h"];
    assert_eq!(runs.ran(&old).await.out, "completed: 0 deleted\nfailed: 0 deleted\ncancelled: 0 deleted\n");
    let counted = runs.ran(&["prune", "--completed", "0s", "--dry-run", "--json"]).await;
    assert_eq!(Runs::json(&counted), serde_json::json!({ "dry_run": true, "runs": { "completed": 2 } }));
    assert_eq!(runs.ran(&["show", "done"]).await.code, 0);
    assert_eq!(runs.ran(&["prune", "--completed", "0s"]).await.out, "completed: 2 deleted\n");
    assert_eq!(runs.ran(&["show", "done"]).await.code, 1);
    assert_eq!(runs.ran(&["show", "failed"]).await.code, 4);
    for wrong in [vec!["prune"], vec!["prune", "--failed", "30"], vec!["prune", "--failed", "1 week"]] {
        assert_eq!(runs.ran(&wrong).await.code, 2, "{wrong:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn shells_get_completions_without_a_store() {
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_graphweft"));
        let script = command.args(["--store", "none.db", "completions", shell]).output().unwrap();
        let text = String::from_utf8(script.stdout).unwrap();
        assert!(script.status.success() && text.contains("graphweft") && text.contains("prune"), "{shell}: {text}");
        assert!(!text.contains(char::REPLACEMENT_CHARACTER), "{shell}: {text}");
    }
    let runs = runs().await;
    let json = Runs::json(&runs.ran(&["completions", "fish", "--json"]).await);
    assert_eq!(json["shell"], "fish");
    assert!(json["script"].as_str().unwrap().starts_with("# Print"), "{json}");
    assert_eq!(runs.ran(&["completions", "csh"]).await.code, 2);
    let check = runs.ran(&["check"]).await;
    assert_eq!(check.code, 1);
    assert!(check.err.contains("`check` needs the code of the workflows"), "{}", check.err);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_wrong_is_said() {
    let runs = runs().await;
    let none = runs.ran(&["show", "nothing"]).await;
    assert_eq!(
        (none.code, none.err.as_str()),
        (1, "error: there is no run `nothing`; `list` shows those that there are\n")
    );
    assert_eq!(runs.ran(&["graph", "nothing"]).await.code, 1);
    assert_eq!(runs.ran(&["list", "--tag", "acme"]).await.code, 2);
    let under_way = runs.ran(&["retry", "waits"]).await;
    assert_eq!((under_way.code, under_way.out.as_str()), (1, ""));
    assert!(under_way.err.starts_with("error: run `waits` has not ended"), "{}", under_way.err);
    assert_eq!(runs.ran(&["list", "--status", "done"]).await.code, 2);
    assert_eq!(runs.ran(&["what"]).await.code, 2);
    assert_eq!(runs.ran(&["--help"]).await.code, 0);
    let misspelt = Command::new(env!("CARGO_BIN_EXE_graphweft")).args(["--store", "none.db", "list"]).output().unwrap();
    assert_eq!(misspelt.status.code(), Some(1));
    assert!(!Path::new("none.db").exists(), "no store is made by a look at it");
    let empty = runs.file.with_file_name("empty.db");
    std::fs::write(&empty, "").unwrap();
    let looked = Command::new(env!("CARGO_BIN_EXE_graphweft")).arg("--store").arg(&empty).arg("list").output().unwrap();
    assert_eq!((looked.status.code(), std::fs::metadata(&empty).unwrap().len()), (Some(1), 0));
    assert!(String::from_utf8_lossy(&looked.stderr).contains("is an empty file"));
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    let second = runs.ran(&["ui", "--port", &port]).await;
    assert_eq!(second.code, 1);
    assert!(second.err.contains(&port) && second.err.contains("choose another with `--port`"), "{}", second.err);
}

/// The server says where it is, and ends with its process.
#[tokio::test(flavor = "multi_thread")]
async fn the_page_is_served_for_a_file() {
    use std::io::{BufRead, BufReader, Read, Write};
    let runs = runs().await;
    let mut command = Command::new(env!("CARGO_BIN_EXE_graphweft"));
    command.arg("--store").arg(&runs.file).args(["ui", "--port", "0"]).stdout(Stdio::piped());
    let mut server = command.spawn().unwrap();
    let mut line = String::new();
    BufReader::new(server.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let address = line.trim().strip_prefix("http://").unwrap().trim_end_matches('/').to_owned();
    let mut stream = std::net::TcpStream::connect(&address).unwrap();
    write!(stream, "GET /api/runs/done HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n").unwrap();
    let mut response = String::new();
    stream.read_to_string(&mut response).unwrap();
    server.kill().unwrap();
    server.wait().unwrap();
    assert!(response.starts_with("HTTP/1.1 200") && response.contains("\"completed\""), "{response}");
}

/// The binary has no workflows that a client could call.
#[cfg(feature = "mcp")]
#[tokio::test]
async fn a_file_alone_is_no_mcp_server() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("runs.db");
    engine(&file).await.shutdown().await;
    let output = Command::new(env!("CARGO_BIN_EXE_graphweft")).arg("--store").arg(&file).arg("mcp").output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(text.contains("call `graphweft_cli::main(engine)` in the program that has them"), "{text}");
}

#[tokio::test(flavor = "multi_thread")]
async fn of_a_run_that_has_failed_again_after_a_retry_the_last_failure_is_shown() {
    let runs = runs().await;
    runs.engine.retry("failed").await.unwrap().result().await.unwrap_err();
    let shown = runs.ran(&["show", "failed"]).await;
    assert_eq!(shown.out.matches("failed at refund/pay").count(), 1, "{}", shown.out);
}
