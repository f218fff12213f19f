//! A file that the user of the program cannot write to.

use std::fs::{self, Permissions};
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::time::{Duration, SystemTime};

use serde_json::Value;

use super::{Ran, Runs, runs};

/// No file system asks root for permission: then it is another user.
const NOBODY: u32 = 65_534;

fn is_root() -> bool {
    fs::metadata("/proc/self").unwrap().uid() == 0
}

/// Whether the program can be started as another user: the directories above it may not be open to all.
fn can_be_started(runs: &Runs) -> bool {
    let started = as_reader(runs, &["--version"]).stdout(Stdio::null()).status();
    if started.is_err() {
        println!("skipped: another user cannot start the program");
    }
    started.is_ok()
}

fn as_reader(runs: &Runs, arguments: &[&str]) -> Command {
    let mut command = runs.command(arguments);
    if is_root() {
        command.uid(NOBODY).gid(NOBODY);
    }
    command
}

async fn reads(runs: &Runs, arguments: &[&str]) -> Ran {
    Runs::output(as_reader(runs, arguments)).await
}

/// Lets every user read the files, and no one but root write to them.
fn only_to_be_read(runs: &Runs) {
    let folder = runs.file.parent().unwrap();
    for file in files(runs) {
        fs::set_permissions(folder.join(file), Permissions::from_mode(0o444)).unwrap();
    }
    fs::set_permissions(folder, Permissions::from_mode(0o555)).unwrap();
}

/// So that they can be removed.
impl Drop for Writable<'_> {
    fn drop(&mut self) {
        drop(fs::set_permissions(self.0.file.parent().unwrap(), Permissions::from_mode(0o755)));
    }
}

struct Writable<'a>(&'a Runs);

fn files(runs: &Runs) -> Vec<String> {
    let files = fs::read_dir(runs.file.parent().unwrap()).unwrap();
    let mut names: Vec<String> = files.map(|file| file.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_that_no_one_has_open_is_read() {
    let mut runs = runs().await;
    runs.engine.shutdown().await;
    // The last handle.
    runs.engine = graphweft::Engine::builder().build().unwrap();
    let log = runs.file.with_file_name("runs.db-wal");
    while log.exists() {
        tokio::task::yield_now().await;
    }
    let file = fs::OpenOptions::new().write(true).open(&runs.file).unwrap();
    file.set_modified(SystemTime::now() - Duration::from_secs(60)).unwrap();
    only_to_be_read(&runs);
    let _writable = Writable(&runs);
    if !can_be_started(&runs) {
        return;
    }
    let before = files(&runs);
    assert_eq!(Runs::json(&reads(&runs, &["list", "--json"]).await).as_array().unwrap().len(), 4);
    for (command, code) in [
        (&["show", "failed"][..], 4),
        (&["tail", "done"], 0),
        (&["graph", "refund"], 0),
        (&["questions"], 0),
        (&["prune", "--completed", "0s", "--dry-run"], 0),
    ] {
        let ran = reads(&runs, command).await;
        assert_eq!((ran.code, ran.err.as_str(), ran.out.is_empty()), (code, "", false), "{command:?}");
    }
    for command in [
        &["cancel", "waits"][..],
        &["answer", "waits", "approve", "true"],
        &["delete", "done"],
        &["retry", "failed"],
        &["prune", "--completed", "0s"],
    ] {
        let ran = reads(&runs, &[command, &["--json"]].concat()).await;
        let error: Value = serde_json::from_str(&ran.err).unwrap();
        assert_eq!((ran.code, &error["error"]["code"]), (1, &"store_read_only".into()), "{command:?}");
    }
    assert_eq!(files(&runs), before);
}

#[tokio::test(flavor = "multi_thread")]
async fn runs_that_another_user_executes_are_followed() {
    let runs = runs().await;
    if !is_root() {
        println!("skipped: the program that executes them would be the same user");
        return;
    }
    only_to_be_read(&runs);
    let _writable = Writable(&runs);
    if !can_be_started(&runs) {
        return;
    }
    assert!(reads(&runs, &["list"]).await.out.contains("waits"));
    let refused = reads(&runs, &["cancel", "waits"]).await;
    assert_eq!(refused.code, 1);
    assert!(refused.err.contains("cannot be written to"), "{}", refused.err);
    let mut follows = as_reader(&runs, &["tail", "-f", "waits"]).stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(follows.stdout.take().unwrap()).lines();
    assert!(lines.any(|line| line.unwrap().contains("question_asked")));
    runs.engine.answer("waits", "approve", true).await.unwrap();
    assert!(lines.any(|line| line.unwrap().contains("run_completed")));
    assert_eq!(follows.wait().unwrap().code(), Some(0));
}

#[tokio::test(flavor = "multi_thread")]
async fn its_page_is_read_only_and_says_so() {
    let runs = runs().await;
    if !is_root() {
        println!("skipped: the program that executes the runs would be the same user");
        return;
    }
    only_to_be_read(&runs);
    let _writable = Writable(&runs);
    if !can_be_started(&runs) {
        return;
    }
    let mut command = as_reader(&runs, &["ui", "--port", "0"]);
    let mut server = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(server.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let address = line.trim().strip_prefix("http://").unwrap().trim_end_matches('/').to_owned();
    let mut stream = std::net::TcpStream::connect(&address).unwrap();
    write!(stream, "GET /api/server HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n").unwrap();
    let mut response = String::new();
    stream.read_to_string(&mut response).unwrap();
    server.kill().unwrap();
    let ended = server.wait_with_output().unwrap();
    assert!(response.contains("\"read_only\":true"), "{response}");
    let said = String::from_utf8(ended.stderr).unwrap();
    assert!(said.starts_with("the page changes nothing: `") && said.contains("cannot be written to"), "{said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_in_a_directory_that_is_closed_to_the_user_is_not_said_to_be_missing() {
    let runs = runs().await;
    if !can_be_started(&runs) {
        return;
    }
    let _writable = Writable(&runs);
    fs::set_permissions(runs.file.parent().unwrap(), Permissions::from_mode(0o000)).unwrap();
    let listed = reads(&runs, &["list", "--json"]).await;
    let error: Value = serde_json::from_str(&listed.err).unwrap();
    assert_eq!((listed.code, &error["error"]["code"]), (1, &"store_failed".into()));
    let message = error["error"]["message"].as_str().unwrap();
    assert!(message.contains("cannot be opened: Permission denied"), "{message}");
}
