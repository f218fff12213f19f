//! Audits that are stopped by a signal or an error, and resumed.

mod common;

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Output;

use common::{Desk, assert_stopped, fixture, text};

/// The fixture, in which one package has a licence that no program can judge.
fn small(desk: &Desk, options: &[&str]) -> Output {
    audit(desk, &fixture("small/Cargo.lock"), options)
}

fn audit(desk: &Desk, lock_file: &Path, options: &[&str]) -> Output {
    desk.command(&[&[lock_file.to_str().unwrap()], options].concat()).output().unwrap()
}

fn run(desk: &Desk, arguments: &[&str]) -> Output {
    desk.command(arguments).output().unwrap()
}

#[test]
fn a_run_that_has_its_report_shows_it_again() {
    let desk = Desk::new();
    let first = small(&desk, &["--leave-undecided"]);
    assert_eq!(text(&run(&desk, &["--resume", "1"]).stdout), text(&first.stdout));
}

#[test]
fn a_run_that_has_failed_is_tried_again() {
    let desk = Desk::new();
    let lock_file = desk.written("Cargo.lock", b"");
    assert_stopped(&audit(&desk, &lock_file, &[]), 2, "it names no package");
    assert_stopped(&run(&desk, &["--resume"]), 2, "it names no package");
    let package = "version = 4\n\n[[package]]\nname = \"a\"\nversion = \"1.0.0\"\n";
    desk.written("Cargo.lock", package.as_bytes());
    let output = run(&desk, &["--resume"]);
    assert!(text(&output.stdout).ends_with("1 packages: 1 unknown\n"), "{}", text(&output.stderr));
}

#[test]
fn the_list_has_the_newest_run_first() {
    let desk = Desk::new();
    small(&desk, &["--leave-undecided"]);
    small(&desk, &[]);
    let listed = run(&desk, &["--list"]);
    let runs: Vec<&str> = text(&listed.stdout).lines().filter(|line| line.contains("Cargo.lock")).collect();
    assert!(runs[0].starts_with("│ 2   ┆ waits for answers ┆ "), "{}", runs[0]);
    assert!(runs[1].starts_with("│ 1   ┆ completed         ┆ "), "{}", runs[1]);
}

#[test]
fn what_cannot_be_resumed_is_one_line() {
    let desk = Desk::new();
    assert_stopped(&run(&desk, &["--resume"]), 2, "there is no database `license-audit.db`; see --database");
    assert!(!desk.path("license-audit.db").exists());
    small(&desk, &["--leave-undecided"]);
    assert_stopped(&run(&desk, &["--resume"]), 2, "every run is completed");
    assert_stopped(&run(&desk, &["--resume", "7"]), 2, "there is no run `7`");
}

#[test]
fn a_database_that_cannot_be_one_is_one_line() {
    let desk = Desk::new();
    desk.written("prose.db", b"This is no database, and it is long enough to be seen as something else.");
    assert_stopped(&small(&desk, &["--database", "nowhere/runs.db"]), 2, "`nowhere/runs.db` cannot be opened: ");
    assert_stopped(&small(&desk, &["--database", "prose.db"]), 2, "prose.db` is not a database of runs: ");
    assert_stopped(&small(&desk, &["--database", "."]), 2, "` cannot be opened: ");
}

/// So many packages that an audit of them can be stopped in its middle.
const PACKAGES: usize = 80;

/// Stands in for `cargo`: writes down each manifest that it is asked for, and sends its caller a signal from the
/// fortieth on.
const CARGO: &str = r#"#!/bin/sh
while [ "$1" != --manifest-path ]; do shift; done
manifest=$2
echo "$manifest" >> asked
if [ "$(wc -l < asked)" -ge 40 ]; then kill -"$SIGNAL" $PPID; fi
name=$(basename "$(dirname "$manifest")"); name=${name%-1.0.0}
printf '{"packages":[{"name":"%s","version":"1.0.0","id":"%s","dependencies":[],"targets":[],"features":{},' $name $name
printf '"manifest_path":"%s","license":"MIT"}],"workspace_members":[],"resolve":null,' "$manifest"
printf '"workspace_root":"/","target_directory":"/","version":1}\n'
"#;

/// An audit that was sent a signal in its middle.
#[cfg(unix)]
fn stopped_by(signal: &str) -> (Desk, Output) {
    use std::os::unix::fs::PermissionsExt;

    let desk = Desk::new();
    let mut lock = "version = 4\n".to_owned();
    for name in (0..PACKAGES).map(|number| format!("p{number}")) {
        lock += &format!("\n[[package]]\nname = \"{name}\"\nversion = \"1.0.0\"\nsource = \"registry+https://x/i\"\n");
        desk.written(&format!("cargo/registry/src/x/{name}-1.0.0/Cargo.toml"), b"");
    }
    desk.written("Cargo.lock", lock.as_bytes());
    let cargo = desk.written("cargo.sh", CARGO.as_bytes());
    std::fs::set_permissions(&cargo, std::fs::Permissions::from_mode(0o755)).unwrap();
    let output = with_that_cargo(&desk, &["Cargo.lock"], signal);
    (desk, output)
}

fn with_that_cargo(desk: &Desk, arguments: &[&str], signal: &str) -> Output {
    let mut command = desk.command(arguments);
    command.env("CARGO", desk.path("cargo.sh")).env("CARGO_HOME", desk.path("cargo")).env("SIGNAL", signal);
    command.output().unwrap()
}

/// How often each manifest was asked for.
fn asked(desk: &Desk) -> BTreeMap<String, usize> {
    let mut asked = BTreeMap::new();
    for manifest in std::fs::read_to_string(desk.path("asked")).unwrap().lines() {
        *asked.entry(manifest.to_owned()).or_default() += 1;
    }
    asked
}

#[cfg(unix)]
fn goes_on_where_it_was(desk: &Desk) {
    let before = asked(desk);
    assert!(before.len() >= 40 && before.len() < PACKAGES, "{} were asked for", before.len());
    let output = with_that_cargo(desk, &["--resume"], "0");
    assert!(text(&output.stdout).ends_with(&format!("{PACKAGES} packages: {PACKAGES} permissive\n")), "{output:?}");
    let after = asked(desk);
    assert_eq!(after.len(), PACKAGES);
    let again = after.values().filter(|times| **times > 1).count();
    assert!(
        again <= 8,
        "only those that were under way, of which there are at most eight, are asked for again: {again}"
    );
}

#[cfg(unix)]
#[test]
fn after_kill_9_an_audit_goes_on_and_asks_for_nothing_again_that_is_done() {
    use std::os::unix::process::ExitStatusExt;

    let (desk, output) = stopped_by("KILL");
    assert_eq!(output.status.signal(), Some(9));
    assert!(text(&run(&desk, &["--list"]).stdout).contains("running or interrupted"));
    goes_on_where_it_was(&desk);
}

#[cfg(unix)]
#[test]
fn ctrl_c_says_how_to_go_on() {
    let (desk, output) = stopped_by("INT");
    assert_stopped(&output, 130, "run 1 is stopped; `--resume 1` resumes it\n");
    goes_on_where_it_was(&desk);
}
