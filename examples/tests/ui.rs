//! The page beside an audit: where it is, what it shows, and how it ends.
#![cfg(unix)]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, ChildStderr, Command, Stdio};
use std::time::Duration;

use serde_json::Value;

use tempfile::TempDir;

struct Audit {
    process: Child,
    stderr: BufReader<ChildStderr>,
    /// `127.0.0.1:8080`
    address: String,
}

impl Audit {
    fn start(directory: &TempDir, options: &[&str]) -> Self {
        let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures");
        let mut command = Command::new(env!("CARGO_BIN_EXE_license_audit"));
        command.arg(fixtures.join("small/Cargo.lock")).arg("--ui").args(options);
        command.current_dir(directory).env("CARGO_HOME", fixtures.join("cargo_home"));
        command.env("CARGO_NET_OFFLINE", "true");
        let mut process = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let stderr = BufReader::new(process.stderr.take().unwrap());
        let mut audit = Audit { process, stderr, address: String::new() };
        let line = audit.line();
        let address = line.strip_prefix("the runs are at http://").and_then(|rest| rest.strip_suffix("/"));
        audit.address = address.unwrap_or_else(|| panic!("{line}")).to_owned();
        audit
    }

    /// What it says next.
    fn line(&mut self) -> String {
        let mut line = String::new();
        self.stderr.read_line(&mut line).unwrap();
        line.trim_end().to_owned()
    }

    fn send(&self, request: &str, headers: &str, body: &str) -> String {
        let mut connection = TcpStream::connect(&self.address).unwrap();
        connection.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
        let (address, length) = (&self.address, body.len());
        let head =
            format!("{request} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\nContent-Length: {length}\r\n");
        connection.write_all(format!("{head}{headers}\r\n{body}").as_bytes()).unwrap();
        let mut response = String::new();
        connection.read_to_string(&mut response).unwrap();
        assert!(response.starts_with("HTTP/1.1 200 "), "{response}");
        response.split_once("\r\n\r\n").unwrap().1.to_owned()
    }

    fn get(&self, path: &str) -> Value {
        serde_json::from_str(&self.send(&format!("GET {path}"), "", "")).unwrap()
    }

    /// Presses Ctrl-C, and gives what was printed and the exit code.
    fn interrupt(mut self) -> (String, Option<i32>) {
        let id = self.process.id().to_string();
        assert!(Command::new("kill").args(["-INT", &id]).status().unwrap().success());
        let mut printed = String::new();
        self.process.stdout.take().unwrap().read_to_string(&mut printed).unwrap();
        (printed, self.process.wait().unwrap().code())
    }
}

#[test]
fn the_page_is_there_until_ctrl_c() {
    let directory = tempfile::tempdir().unwrap();
    let mut audit = Audit::start(&directory, &["--leave-undecided", "--deny", "copyleft"]);
    assert_eq!(audit.line(), "denied: 1 copyleft package");
    assert_eq!(audit.line(), format!("the page is at http://{}/ until Ctrl-C", audit.address));
    assert_eq!(audit.get("/api/runs/1")["status"], "completed");
    let (printed, code) = audit.interrupt();
    assert!(
        printed.contains(
            "
6 packages: 2 permissive, 1 copyleft, 2 unknown, 1 undecided\n"
        ),
        "{printed}"
    );
    assert_eq!(code, Some(1));
}

#[test]
fn a_question_is_answered_on_the_page() {
    let directory = tempfile::tempdir().unwrap();
    let mut audit = Audit::start(&directory, &[]);
    let inbox = format!("run 1 waits for 1 question: answer at http://{}/#/inbox", audit.address);
    assert_eq!(audit.line(), inbox);
    let questions = audit.get("/api/questions");
    let question = questions["questions"][0]["question"]["id"].as_str().unwrap().replace('/', "%2F");
    let question = question.replace('[', "%5B").replace(']', "%5D");
    let page = audit.send("GET /", "", "");
    let token = page.split_once("graphweft-token\" content=\"").unwrap().1.split_once('"').unwrap().0;
    let headers = format!("Content-Type: application/json\r\nX-Graphweft-Token: {token}\r\n");
    let answer = r#"{"answer": {"decision": "allow", "reason": null}}"#;
    audit.send(&format!("POST /api/runs/1/answers/{question}"), &headers, answer);
    assert_eq!(audit.line(), format!("the page is at http://{}/ until Ctrl-C", audit.address));
    let (printed, code) = audit.interrupt();
    assert!(
        printed.contains(
            "
6 packages: 2 permissive, 1 allowed, 1 copyleft, 2 unknown\n"
        ),
        "{printed}"
    );
    assert_eq!(code, Some(0));
}

#[test]
fn ctrl_c_ends_an_audit_that_waits_and_its_page() {
    let directory = tempfile::tempdir().unwrap();
    let mut audit = Audit::start(&directory, &[]);
    assert!(audit.line().starts_with("run 1 waits for 1 question"));
    assert_eq!(audit.interrupt(), (String::new(), Some(130)));
}
