//! The audit as its user runs it. Cargo's home is a fixture, so that it does not matter what this machine has downloaded.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;

fn fixture(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(path)
}

fn license_audit(lock_file: &Path, options: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_license_audit"))
        .arg(lock_file)
        .args(options)
        .env("CARGO_HOME", fixture("cargo_home"))
        .output()
        .unwrap()
}

fn small(options: &[&str]) -> Output {
    license_audit(&fixture("small/Cargo.lock"), options)
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap()
}

/// A file for one test to break.
fn written(name: &str, content: &[u8]) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::write(&path, content).unwrap();
    path
}

fn assert_refused(lock_file: &Path) {
    let output = license_audit(lock_file, &[]);
    let stderr = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{stderr}");
    assert_eq!(output.stdout, b"");
    assert_eq!(stderr.lines().count(), 1, "{stderr}");
    assert!(stderr.starts_with("error: ") && stderr.contains(&*lock_file.to_string_lossy()), "{stderr}");
}

#[test]
fn every_package_gets_its_finding() {
    let output = small(&["--json"]);

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
            ["ring", "-", "unknown", "its manifest names no licence; read LICENSE"],
        ]
    );
    assert_eq!(report["totals"], serde_json::json!({ "permissive": 2, "copyleft": 1, "unknown": 3 }));
}

#[test]
fn the_table_ends_with_the_totals() {
    let output = small(&[]);
    assert_eq!(output.status.code(), Some(0));
    assert!(
        text(&output.stdout).ends_with("6 packages: 2 permissive, 1 copyleft, 3 unknown\n"),
        "{}",
        text(&output.stdout)
    );
}

#[test]
fn no_progress_is_shown_where_there_is_no_terminal() {
    assert_eq!(text(&small(&[]).stderr), "");
}

#[test]
fn a_denied_kind_gives_exit_code_1_and_the_report_all_the_same() {
    let output = small(&["--deny", "copyleft"]);
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(text(&output.stderr), "denied: 1 copyleft package\n");
    assert!(text(&output.stdout).contains("option-ext"));
}

#[test]
fn running_out_of_time_gives_exit_code_3() {
    let output = small(&["--within", "0"]);
    assert_eq!(output.status.code(), Some(3));
    assert_eq!(text(&output.stderr), "error: no report within 0 s; see --within\n");
}

#[test]
fn a_missing_lock_file_is_one_line_and_exit_code_2() {
    assert_refused(&fixture("there_is_none/Cargo.lock"));
}

#[test]
fn a_broken_lock_file_is_one_line_and_exit_code_2() {
    assert_refused(&written("prose.lock", b"This is no lock file.\n"));
    assert_refused(&written("empty.lock", b""));
    assert_refused(&written("binary.lock", b"\xff\xfe\x00"));
    assert_refused(&written("nameless.lock", b"version = 4\n\n[[package]]\nversion = \"1.0.0\"\n"));
    assert_refused(&written("odd_version.lock", b"version = 4\n\n[[package]]\nname = \"a\"\nversion = \"one\"\n"));
}

#[test]
fn a_broken_workspace_is_a_finding() {
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join("broken_workspace");
    std::fs::create_dir_all(&directory).unwrap();
    std::fs::write(directory.join("Cargo.toml"), "[package\n").unwrap();
    let lock_file = directory.join("Cargo.lock");
    std::fs::copy(fixture("small/Cargo.lock"), &lock_file).unwrap();

    let report: Value = serde_json::from_slice(&license_audit(&lock_file, &["--json"]).stdout).unwrap();

    let small = report["findings"].as_array().unwrap().iter().find(|finding| finding["package"] == "small").unwrap();
    assert!(small["note"].as_str().unwrap().contains("Cargo.toml"), "{small}");
}
