//! One audit from beginning to end, as its user runs it.

mod common;

use std::path::Path;
use std::process::Output;

use serde_json::Value;

use common::{Desk, assert_stopped, fixture, text};

/// The fixture, in which one package has a licence that no program can judge.
fn small(desk: &Desk, options: &[&str]) -> Output {
    audit(desk, &fixture("small/Cargo.lock"), options)
}

fn audit(desk: &Desk, lock_file: &Path, options: &[&str]) -> Output {
    desk.command(&[&[lock_file.to_str().unwrap()], options].concat()).output().unwrap()
}

fn assert_refused(desk: &Desk, lock_file: &Path) {
    let output = audit(desk, lock_file, &[]);
    assert_stopped(&output, 2, &lock_file.to_string_lossy());
    assert!(text(&output.stderr).starts_with("error: "), "{}", text(&output.stderr));
}

#[test]
fn every_package_gets_its_finding() {
    let output = small(&Desk::new(), &["--json", "--leave-undecided"]);

    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    let findings: Vec<[&str; 4]> = report["findings"]
        .as_array()
        .unwrap()
        .iter()
        .map(|finding| ["package", "licence", "kind", "note"].map(|field| finding[field].as_str().unwrap_or("-")))
        .collect();
    assert_eq!(
        findings,
        [
            ["fnv", "Apache-2.0 / MIT", "permissive", ""],
            ["small", "GPL-3.0-only OR MIT", "permissive", "choose MIT"],
            ["option-ext", "MPL-2.0", "copyleft", "publish changes to its own files"],
            [
                "from-git",
                "-",
                "unknown",
                "not among cargo's git checkouts on this machine; `cargo fetch` would download it"
            ],
            ["itoa", "-", "unknown", "not on this machine; `cargo fetch` would download it"],
            ["ring", "-", "undecided", "its manifest names no licence; read LICENSE"],
        ]
    );
    assert_eq!(
        report["totals"],
        serde_json::json!({ "permissive": 2, "allowed": 0, "copyleft": 1, "unknown": 2, "undecided": 1, "denied": 0 })
    );
}

#[test]
fn the_table_ends_with_the_totals() {
    let output = small(&Desk::new(), &["--leave-undecided"]);
    assert_eq!(output.status.code(), Some(0));
    let shown = text(&output.stdout);
    let totals = "\n6 packages: 2 permissive, 1 copyleft, 2 unknown, 1 undecided\n";
    assert!(shown.contains(totals), "{shown}");
    // Cargo has downloaded none of them in this directory.
    let why = shown.split_once(totals).unwrap().1;
    assert!(
        why.starts_with("these are all packages of the lock file, since it is not known which are built here: "),
        "{why}"
    );

    let all = small(&Desk::new(), &["--leave-undecided", "--all-platforms"]);
    assert!(text(&all.stdout).ends_with(totals), "{}", text(&all.stdout));
}

#[test]
fn what_is_not_built_on_this_machine_is_counted_and_left_out() {
    let desk = Desk::new();
    let package = |path: &str, rest: &str| {
        desk.written(&format!("{path}/src/lib.rs"), b"");
        let name = path.rsplit('/').next().unwrap();
        let package = format!("[package]\nname = \"{name}\"\nversion = \"1.0.0\"\nlicense = \"MIT\"\n{rest}");
        desk.written(&format!("{path}/Cargo.toml"), package.as_bytes());
    };
    let of_others = "[target.'cfg(target_os = \"none\")'.dependencies]\nelsewhere = { path = \"elsewhere\" }\n";
    package(
        "program",
        &format!("[dependencies]\nhere = {{ path = \"here\" }}\n{of_others}[workspace]\nexclude = [\"elsewhere\"]\n"),
    );
    package("program/here", "");
    package("program/elsewhere", "");
    let manifest = desk.path("program/Cargo.toml");
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let locked = std::process::Command::new(cargo)
        .args(["generate-lockfile", "--offline", "--manifest-path"])
        .arg(manifest)
        .output()
        .unwrap();
    assert!(locked.status.success(), "{}", text(&locked.stderr));
    let lock_file = desk.path("program/Cargo.lock");
    let found = |options: &[&str]| {
        let output = audit(&desk, &lock_file, options);
        let report: Value =
            serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", text(&output.stderr)));
        let findings = report["findings"].as_array().unwrap().iter();
        let names: Vec<String> = findings.map(|finding| finding["package"].as_str().unwrap().to_owned()).collect();
        (names.join(" "), report["left_out"]["packages"].as_u64().unwrap())
    };

    assert_eq!(found(&["--json"]), ("here program".to_owned(), 1));
    assert_eq!(found(&["--json", "--all-platforms"]).1, 0);
    let shown = audit(&desk, &lock_file, &[]);
    let last = "2 packages: 2 permissive\n1 more not built on this machine; --all-platforms audits them as well\n";
    assert!(text(&shown.stdout).ends_with(last), "{}", text(&shown.stdout));
}

#[test]
fn no_progress_is_shown_where_there_is_no_terminal() {
    assert_eq!(text(&small(&Desk::new(), &["--leave-undecided"]).stderr), "");
}

#[test]
fn a_denied_kind_gives_exit_code_1_and_the_report_all_the_same() {
    let output = small(&Desk::new(), &["--leave-undecided", "--deny", "copyleft"]);
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(text(&output.stderr), "denied: 1 copyleft package\n");
    assert!(text(&output.stdout).contains("option-ext"));
}

#[test]
fn running_out_of_time_gives_exit_code_3() {
    let output = small(&Desk::new(), &["--within", "0"]);
    assert_stopped(&output, 3, "error: no report within 0 s; see --within; `--resume 1` retries it\n");
}

#[test]
fn a_missing_lock_file_is_one_line_and_exit_code_2() {
    assert_refused(&Desk::new(), &fixture("there_is_none/Cargo.lock"));
}

#[test]
fn a_broken_lock_file_is_one_line_and_exit_code_2() {
    let desk = Desk::new();
    let assert_refused = |name, content| assert_refused(&desk, &desk.written(name, content));
    assert_refused("prose.lock", b"This is no lock file.\n");
    assert_refused("empty.lock", b"");
    assert_refused("binary.lock", b"\xff\xfe\x00");
    assert_refused("nameless.lock", b"version = 4\n\n[[package]]\nversion = \"1.0.0\"\n");
    assert_refused("odd_version.lock", b"version = 4\n\n[[package]]\nname = \"a\"\nversion = \"one\"\n");
}

#[test]
fn a_broken_workspace_is_a_finding() {
    let desk = Desk::new();
    desk.written("Cargo.toml", b"[package\n");
    let lock_file = desk.path("Cargo.lock");
    std::fs::copy(fixture("small/Cargo.lock"), &lock_file).unwrap();

    let output = audit(&desk, &lock_file, &["--json", "--leave-undecided"]);

    let report: Value = serde_json::from_slice(&output.stdout).unwrap();

    let small = report["findings"].as_array().unwrap().iter().find(|finding| finding["package"] == "small").unwrap();
    assert!(small["note"].as_str().unwrap().contains("Cargo.toml"), "{small}");
}
