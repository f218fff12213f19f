//! Licences that the audit puts to a person.

mod common;

use std::path::PathBuf;
use std::process::Output;

use common::{Desk, assert_stopped, text};
use serde_json::Value;

/// A lock file of four packages, two of which have a licence of their own making.
fn odd(desk: &Desk) -> PathBuf {
    let mut lock = "version = 4\n".to_owned();
    for (name, licence) in [("a", "MIT"), ("b", "LicenseRef-Ours"), ("c", "LicenseRef-Ours"), ("d", "see COPYING")] {
        lock += &format!("\n[[package]]\nname = \"{name}\"\nversion = \"1.0.0\"\nsource = \"registry+https://x/i\"\n");
        let manifest = format!(
            "[package]\nname = \"{name}\"\nversion = \"1.0.0\"\nlicense = \"{licence}\"\n[lib]\npath = \"lib.rs\"\n"
        );
        desk.written(&format!("cargo/registry/src/x/{name}-1.0.0/Cargo.toml"), manifest.as_bytes());
    }
    desk.written("Cargo.lock", lock.as_bytes())
}

fn run(desk: &Desk, arguments: &[&str]) -> Output {
    desk.command(arguments).env("CARGO_HOME", desk.path("cargo")).output().unwrap()
}

fn waiting() -> Desk {
    let desk = Desk::new();
    odd(&desk);
    let output = run(&desk, &["Cargo.lock"]);
    assert_eq!(output.status.code(), Some(4), "{}", text(&output.stderr));
    desk
}

#[test]
fn without_a_terminal_the_open_questions_are_shown_and_how_to_answer_them() {
    let desk = Desk::new();
    odd(&desk);
    let output = run(&desk, &["Cargo.lock"]);
    assert_eq!(output.status.code(), Some(4));
    assert_eq!(text(&output.stdout), "");
    assert_eq!(
        text(&output.stderr),
        "run 1 waits for 2 questions:\n\
         \n\
         LicenseRef-Ours\n  nothing is known of `LicenseRef-Ours`\n  b 1.0.0\n  c 1.0.0\n\
         \n\
         see COPYING\n  `see COPYING` is not an SPDX expression: unknown term\n  d 1.0.0\n\
         \n\
         to answer: --resume 1 --answer 'LicenseRef-Ours=allow' (or `deny`, `leave`)\n"
    );
}

#[test]
fn an_answer_is_for_all_packages_of_the_licence_and_is_in_the_report() {
    let desk = waiting();
    let answers = ["--answer", "LicenseRef-Ours=allow: bought", "--answer", "see COPYING=leave", "--json"];
    let output = run(&desk, &answers);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    let findings = report["findings"].as_array().unwrap().iter();
    let findings: Vec<_> =
        findings.map(|finding| ["package", "kind", "note"].map(|of| finding[of].as_str().unwrap())).collect();
    assert_eq!(
        findings,
        [
            ["a", "permissive", ""],
            ["b", "allowed", "bought"],
            ["c", "allowed", "bought"],
            ["d", "undecided", "`see COPYING` is not an SPDX expression: unknown term"],
        ]
    );
}

#[test]
fn questions_can_be_answered_one_after_the_other() {
    let desk = waiting();
    let output = run(&desk, &["--answer", "see COPYING=allow"]);
    assert_eq!(output.status.code(), Some(4));
    assert!(text(&output.stderr).starts_with("run 1 waits for 1 question:\n\nLicenseRef-Ours\n"));
    let output = run(&desk, &["--resume", "1", "--answer", "LicenseRef-Ours=deny"]);
    assert_eq!((output.status.code(), text(&output.stderr)), (Some(1), "denied by an answer: 2 packages\n"));
}

#[test]
fn questions_are_listed_for_people_and_for_programs() {
    let desk = waiting();
    let shown = run(&desk, &["--questions"]);
    assert!(text(&shown.stdout).starts_with("run 1 waits for 2 questions:\n"), "{}", text(&shown.stdout));
    let shown: Value = serde_json::from_slice(&run(&desk, &["--questions", "1", "--json"]).stdout).unwrap();
    assert_eq!(shown[0]["id"], "LicenseRef-Ours");
    assert_eq!(shown[1]["packages"][0]["package"], "d");
}

#[test]
fn an_answer_that_does_not_fit_is_refused_and_nothing_is_recorded_of_the_others() {
    let desk = waiting();
    let good = "see COPYING=allow";
    let refused = run(&desk, &["--answer", good, "--answer", "LicenseRef-Ours=perhaps"]);
    assert_stopped(&refused, 2, "`LicenseRef-Ours=perhaps` is no answer: `perhaps` is not `allow`, `deny` or `leave`");
    let refused = run(&desk, &["--answer", good, "--answer", "GPL=allow"]);
    assert_stopped(
        &refused,
        2,
        "`GPL=allow` answers no question of run 1, which asks `LicenseRef-Ours`, `see COPYING`",
    );
    assert!(text(&run(&desk, &["--questions"]).stdout).starts_with("run 1 waits for 2 questions:\n"));
}

#[test]
fn what_is_answered_cannot_be_answered_again() {
    let desk = waiting();
    run(&desk, &["--answer", "see COPYING=allow"]);
    let refused = run(&desk, &["--answer", "see COPYING=deny"]);
    assert_stopped(&refused, 2, "answers no question of run 1, which asks `LicenseRef-Ours`");
}

#[test]
fn a_run_that_waits_can_be_ended_with_what_is_decided() {
    let desk = waiting();
    let output = run(&desk, &["--resume", "--leave-undecided", "--deny", "undecided"]);
    assert_eq!((output.status.code(), text(&output.stderr)), (Some(1), "denied: 3 undecided packages\n"));
}

#[test]
fn answers_may_come_with_the_lock_file() {
    let desk = Desk::new();
    odd(&desk);
    let output = run(&desk, &["Cargo.lock", "--answer", "LicenseRef-Ours=allow", "--answer", "see COPYING=allow"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert!(text(&output.stdout).ends_with("4 packages: 1 permissive, 3 allowed\n"));
}
