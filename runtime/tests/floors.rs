//! The floors of the crate: what a module never uses. ARCHITECTURE.md draws them.

use std::fs;
use std::path::{Path, PathBuf};

/// A module, and the modules that stand above it: nothing in it may name one of these.
const NEVER: &[(&str, &[&str])] = &[
    (
        "core",
        &[
            "ask", "attempt", "child", "compile", "context", "driver", "engine", "event", "node", "store", "table",
            "typed", "workflow",
        ],
    ),
    ("driver", &["engine", "typed", "workflow"]),
    ("event", &["attempt", "child", "context", "driver", "engine", "node", "store", "table", "typed", "workflow"]),
    (
        "fault",
        &[
            "attempt", "child", "context", "core", "driver", "engine", "event", "node", "store", "table", "typed",
            "workflow",
        ],
    ),
    ("halt", &["attempt", "child", "context", "driver", "engine", "node", "table", "typed", "workflow"]),
    (
        "options",
        &[
            "attempt", "child", "context", "core", "driver", "engine", "event", "node", "store", "table", "typed",
            "workflow",
        ],
    ),
    ("store", &["attempt", "child", "context", "core", "driver", "engine", "node", "table", "typed", "workflow"]),
];

/// Not part of the program: tests, and what they are made of.
const TESTS: &[&str] = &["tests", "tests.rs", "sim", "testing", "observed.rs", "snapshot.rs"];

fn sources(of: &Path, found: &mut Vec<PathBuf>) {
    let name = of.file_name().unwrap_or_default().to_string_lossy().into_owned();
    if TESTS.contains(&name.as_str()) {
        return;
    }
    if of.is_dir() {
        for entry in fs::read_dir(of).unwrap() {
            sources(&entry.unwrap().path(), found);
        }
    } else if of.extension().is_some_and(|extension| extension == "rs") {
        found.push(of.to_owned());
    }
}

/// The modules of the crate that a line of code names.
fn named(line: &str) -> impl Iterator<Item = &str> {
    let code = line.split("//").next().unwrap_or_default();
    let names = code.split("crate::").skip(1);
    names.map(|rest| rest.split(|char: char| !char.is_alphanumeric() && char != '_').next().unwrap_or_default())
}

#[test]
fn no_module_uses_one_of_a_higher_floor() {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut broken = Vec::new();
    for (module, never) in NEVER {
        let mut files = Vec::new();
        sources(&src.join(module), &mut files);
        sources(&src.join(format!("{module}.rs")), &mut files);
        files.retain(|file| file.is_file());
        assert!(!files.is_empty(), "there is no module `{module}`");
        for file in files {
            let text = fs::read_to_string(&file).unwrap();
            for (at, line) in text.lines().enumerate() {
                for above in named(line).filter(|name| never.contains(name)) {
                    let file = file.strip_prefix(&src).unwrap().display();
                    broken.push(format!("{file}:{}: `{module}` uses `{above}`", at + 1));
                }
            }
        }
    }
    assert!(broken.is_empty(), "\n{}", broken.join("\n"));
}
