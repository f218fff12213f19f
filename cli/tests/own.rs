//! The commands in a program that has the code of its workflows: this program, started by its tests.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use graphweft::prelude::*;

/// Whether the bank pays.
struct Bank(bool);

#[node]
async fn approve(cents: u32, ctx: &Context) -> u32 {
    cents + ctx.ask::<u32>("more", "How much more?").await
}

#[node]
async fn pay(cents: u32, #[resource] bank: &Bank) -> Result<u32, std::io::Error> {
    if !bank.0 {
        return Err(std::io::Error::other("no bank"));
    }
    tokio::time::sleep(Duration::from_millis(300)).await;
    Ok(cents)
}

/// Does not end with a bank.
#[node]
async fn transfer(cents: u32, #[resource] bank: &Bank) -> Result<u32, std::io::Error> {
    if bank.0 { std::future::pending().await } else { Err(std::io::Error::other(format!("no bank for {cents}"))) }
}

workflow! { refund(u32) -> u32 { START => approve => pay; } }

workflow! { audit(u32) -> u32 { START => approve; } }

workflow! { payout(u32) -> u32 { START => pay; } }

workflow! { saving(u32) -> u32 { START => transfer; } }

mod later {
    use graphweft::prelude::*;

    #[node]
    async fn review(cents: u32, ctx: &Context) -> u32 {
        cents + ctx.ask::<u32>("more", "How much more?").await
    }

    workflow! { pub(super) refund(u32) -> u32 { START => review; } }
}

/// The program of the user, in the version that the environment names.
#[tokio::main]
async fn program(file: &Path) -> ExitCode {
    let builder = Engine::builder().store(SqliteStore::open(file).await.unwrap());
    let builder = match std::env::var("GRAPHWEFT_TEST_VERSION").as_deref() {
        Ok("later") => builder.register::<later::refund>(),
        Ok("both") => builder.register::<later::refund>().register_earlier::<refund>().register::<audit>(),
        _ => builder.register::<refund>().register::<audit>().register::<payout>().register::<saving>(),
    };
    graphweft_cli::main(builder.resource(Bank(true)).build().unwrap()).await
}

struct Ran {
    code: Option<i32>,
    out: String,
    err: String,
}

fn ran(file: &Path, environment: &[(&str, &str)], arguments: &[&str]) -> Ran {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.env("GRAPHWEFT_TEST_STORE", file).envs(environment.iter().copied()).args(arguments);
    let output = command.output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    Ran { code: output.status.code(), out: text(output.stdout), err: text(output.stderr) }
}

/// Three runs that wait, and two that have failed.
#[tokio::main]
async fn left_behind(file: &Path) {
    let builder = Engine::builder().store(SqliteStore::open(file).await.unwrap()).resource(Bank(false));
    let engine =
        builder.register::<refund>().register::<audit>().register::<payout>().register::<saving>().build().unwrap();
    for id in ["refund-1", "refund-2"] {
        engine.start::<refund>(5).id(id).await.unwrap().outcome().await.unwrap();
    }
    engine.start::<audit>(6).id("audit-1").await.unwrap().outcome().await.unwrap();
    engine.start::<payout>(7).id("payout-1").await.unwrap().outcome().await.unwrap();
    engine.start::<saving>(8).id("saving-1").await.unwrap().outcome().await.unwrap();
    engine.shutdown().await;
}

fn every_run_can_be_resumed_by_the_program_that_has_started_it(file: &Path) {
    let checked = ran(file, &[], &["check"]);
    assert_eq!((checked.code, checked.out.as_str()), (Some(0), "0 of 3 unfinished runs cannot be resumed\n"));
}

fn a_version_that_does_not_fit_says_which_runs_and_why(file: &Path) {
    let checked = ran(file, &[("GRAPHWEFT_TEST_VERSION", "later")], &["check"]);
    assert_eq!(checked.code, Some(6), "{}", checked.err);
    insta::assert_snapshot!("check", checked.out);
    let json = ran(file, &[("GRAPHWEFT_TEST_VERSION", "later")], &["check", "--json"]);
    assert_eq!(json.code, Some(6));
    insta::assert_snapshot!("check_json", json.out);
    // Nothing has changed.
    assert_eq!(ran(file, &[], &["check"]).code, Some(0));
}

fn a_program_with_both_versions_says_which_runs_fit_which(file: &Path) {
    let both = [("GRAPHWEFT_TEST_VERSION", "both")];
    let checked = ran(file, &both, &["check"]);
    assert_eq!(checked.code, Some(0), "{}", checked.err);
    insta::assert_snapshot!("check_versions", checked.out);
    let json: serde_json::Value = serde_json::from_str(&ran(file, &both, &["check", "--json"]).out).unwrap();
    let versions = json["versions"].as_array().unwrap();
    let runs: Vec<_> = versions.iter().map(|version| (&version["version"], &version["runs"])).collect();
    let (newest, earlier) = (serde_json::json!("own::later::refund"), serde_json::json!("own::refund"));
    assert_eq!(runs, [(&newest, &serde_json::json!([])), (&earlier, &serde_json::json!(["refund-2", "refund-1"]))]);
}

fn a_program_with_the_code_knows_the_inputs_of_nodes(file: &Path) {
    let shown = ran(file, &[], &["show", "payout-1", "--values", "--json"]);
    let shown: serde_json::Value = serde_json::from_str(&shown.out).unwrap();
    assert_eq!(shown["values"]["payout/pay"], serde_json::json!({ "input": 7 }));
}

fn a_retry_is_waited_for(file: &Path) {
    let again = ran(file, &[], &["retry", "payout-1"]);
    assert_eq!((again.code, again.out.as_str()), (Some(0), "`payout-1` was retried\n"), "{}", again.err);
}

/// The answer resumes the run in the command: what follows is not cut off by its end.
fn what_an_answer_leads_to_is_waited_for(file: &Path) {
    let answered = ran(file, &[], &["answer", "refund-1", "more", "1"]);
    assert_eq!(
        (answered.code, answered.out.as_str()),
        (Some(0), "`more` of `refund-1` is answered\n"),
        "{}",
        answered.err
    );
    let shown = ran(file, &[], &["show", "refund-1", "--values", "--json"]);
    let shown: serde_json::Value = serde_json::from_str(&shown.out).unwrap();
    assert_eq!(shown["values"]["refund/pay"], serde_json::json!({ "input": 6, "output": 6 }));
}

fn a_fork_says_its_id_before_it_is_waited_for(file: &Path) {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.env("GRAPHWEFT_TEST_STORE", file).args(["fork", "saving-1", "--id", "saving-2"]).stdout(Stdio::piped());
    let mut fork = command.spawn().unwrap();
    let mut output = BufReader::new(fork.stdout.take().unwrap());
    let (line, lines) = mpsc::channel();
    let reader = std::thread::spawn(move || {
        let mut text = String::new();
        output.read_line(&mut text).unwrap();
        line.send(text).unwrap();
    });
    // Without a line it waits for ever, so it is killed before that is a failure.
    let said = lines.recv_timeout(Duration::from_secs(60));
    fork.kill().unwrap();
    fork.wait().unwrap();
    reader.join().unwrap();
    assert_eq!(said.as_deref(), Ok("saving-2\n"));
}

fn completions_have_the_name_of_the_program(file: &Path) {
    let script = ran(file, &[], &["completions", "bash"]);
    let name = std::env::current_exe().unwrap().file_stem().unwrap().to_str().unwrap().to_owned();
    assert_eq!(script.code, Some(0));
    assert!(script.out.contains(&format!("-o default {name}")) && script.out.contains("prune"), "{}", script.out);
}

fn main() -> ExitCode {
    if let Some(file) = std::env::var_os("GRAPHWEFT_TEST_STORE") {
        return program(Path::new(&file));
    }
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("runs.db");
    left_behind(&file);
    every_run_can_be_resumed_by_the_program_that_has_started_it(&file);
    a_version_that_does_not_fit_says_which_runs_and_why(&file);
    a_program_with_both_versions_says_which_runs_fit_which(&file);
    a_program_with_the_code_knows_the_inputs_of_nodes(&file);
    a_retry_is_waited_for(&file);
    what_an_answer_leads_to_is_waited_for(&file);
    a_fork_says_its_id_before_it_is_waited_for(&file);
    completions_have_the_name_of_the_program(&file);
    ExitCode::SUCCESS
}
