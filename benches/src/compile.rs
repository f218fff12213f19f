//! What graphweft costs the compiler: `cargo check` of plain functions, of the same as nodes, and of those in a workflow. What
//! is between two of them is what `#[node]` costs, or the wiring.

use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeValLike;

use crate::measure::Effort;
use crate::measure::Role;
use crate::report::{Figure, Row, Unit};

const SIZES: [u64; 4] = [100, 500, 1000, 2000];
/// How many nodes the packages have that are measured in one size only.
const OWN_TYPES: u64 = 1000;
const STATEFUL: u64 = 500;
const READERS: u64 = 50;

/// A workflow of one node.
const FIRST: &str = "workflow! {\n    pub first(u64) -> u64 { START => n0; }\n}\n";

/// The goals, in nanoseconds a node.
const OF_NODE: f64 = 2e6;
const OF_WIRING: f64 = 0.7e6;
/// The goal of the analysis of 1,000 nodes in a macro that is not optimised, in nanoseconds.
const OF_ANALYSIS: f64 = 30e6;

struct Package {
    name: String,
    source: PathBuf,
    /// The least time of the rounds so far.
    least: Duration,
}

/// What to state of two packages that differ by one thing.
struct Difference {
    work: String,
    /// The package with it, and the one without.
    with: String,
    without: String,
    /// Among so many the difference is divided.
    nodes: u64,
    at_most: f64,
}

/// The lines of the table. The packages are made in `directory`, where what they depend on stays for the next time.
pub fn rows(directory: &Path, effort: Effort) -> Vec<Row> {
    let mut packages = Vec::new();
    let mut differences = Vec::new();
    let mut package = |name: String, source: String| packages.push(Package::write(directory, name, &source));
    for nodes in SIZES {
        package(format!("functions_{nodes}"), functions("", nodes));
        package(format!("nodes_{nodes}"), functions("#[node]\n", nodes));
        package(format!("wired_{nodes}"), functions("#[node]\n", nodes) + &wiring(nodes));
        let difference = |work: String, with: &str, without: &str, at_most| {
            let [with, without] = [with, without].map(|name| format!("{name}_{nodes}"));
            Difference { work, with, without, nodes, at_most }
        };
        differences.push(difference(format!("compile: `#[node]`, each of {nodes}"), "nodes", "functions", OF_NODE));
        differences.push(difference(format!("compile: wiring, each of {nodes} nodes"), "wired", "nodes", OF_WIRING));
    }
    for (kind, returns) in [("a value", Returns::Value), ("a `Result`", Returns::Result)] {
        let [with, without] = ["nodes", "functions"].map(|what| format!("{what}_{}", returns.name()));
        package(without.clone(), with_own_types("", OWN_TYPES, returns));
        package(with.clone(), with_own_types("#[node]\n", OWN_TYPES, returns));
        let work = format!("compile: `#[node]` with types of one's own that returns {kind}, each of {OWN_TYPES}");
        differences.push(Difference { work, with, without, nodes: OWN_TYPES, at_most: OF_NODE });
    }
    // Beside the nodes of the least size, whose wiring has the same in it once.
    package("first".to_owned(), functions("#[node]\n", SIZES[0]) + FIRST);
    package("without_state".to_owned(), stateful(STATEFUL, 0));
    package("with_state".to_owned(), stateful(STATEFUL, READERS));
    write_workspace(directory, &packages);
    for _ in 0..effort.rounds {
        for package in &mut packages {
            package.least = package.least.min(package.check(directory));
        }
    }
    let least = |name: &str| {
        let found = packages.iter().find(|package| package.name == name);
        found.map_or(f64::NAN, |package| package.least.as_nanos() as f64)
    };
    let mut rows: Vec<Row> = differences
        .into_iter()
        .map(|Difference { work, with, without, nodes, at_most }| {
            let each = (least(&with) - least(&without)) / nodes as f64;
            difference(work, "user time, each", each, [least(&with), least(&without)]).at_most(at_most)
        })
        .collect();
    let without = format!("nodes_{}", SIZES[0]);
    let first = "compile: the first workflow of a crate, of one node".to_owned();
    let stateful =
        format!("compile: the state of {STATEFUL} nodes that {READERS} of them read, over the same without state");
    for (work, with, without) in [(first, "first", without.as_str()), (stateful, "with_state", "without_state")] {
        let [with, without] = [with, without].map(least);
        rows.push(difference(work, "user time", with - without, [with, without]));
    }
    rows.push(analysis(directory));
    rows
}

/// The line of what is between two packages, and the whole times of both.
fn difference(work: String, what: &str, took: f64, [with, without]: [f64; 2]) -> Row {
    let figures = vec![
        Figure::single(what, Role::Ours, took),
        Figure::single("all, with it", Role::Also, with),
        Figure::single("all, without it", Role::Also, without),
    ];
    Row::single(work, Unit::Time, figures)
}

/// The graphs of `graph/examples/time.rs`, in the profile in which cargo builds macros. The first is the graph that is wired
/// above. The others are larger than they look: they have up to 8 edges a node.
fn analysis(directory: &Path) -> Row {
    let output = Command::new(env!("CARGO"))
        .args(["run", "--quiet", "--package", "graphweft-graph", "--example", "time", "--", "1000"])
        .current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/.."))
        .env("CARGO_TARGET_DIR", directory.join("target"))
        .output()
        .expect("cargo is there");
    assert!(output.status.success(), "the analysis does not run: {}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8_lossy(&output.stdout);
    let figures = text.lines().filter_map(|line| {
        let microseconds: f64 = line.strip_suffix(" µs")?.split_whitespace().last()?.parse().ok()?;
        Some((line.get(..50)?.trim(), microseconds * 1e3))
    });
    let role = |at: usize| if at == 0 { Role::Ours } else { Role::Also };
    let figures: Vec<Figure> =
        figures.enumerate().map(|(at, (name, took))| Figure::single(name, role(at), took)).collect();
    Row::single("compile: the analysis of 1000 nodes, not optimised", Unit::Time, figures).at_most(OF_ANALYSIS)
}

impl Package {
    fn write(directory: &Path, name: String, source: &str) -> Self {
        let package = directory.join(&name);
        fs::create_dir_all(&package).expect("room for a package");
        let manifest = format!(
            "[package]\nname = \"{name}\"\nversion = \"0.0.0\"\nedition = \"2024\"\n\n[lib]\npath = \"lib.rs\"\n\n\
             [dependencies]\ngraphweft = {{ path = \"{}\" }}\n",
            concat!(env!("CARGO_MANIFEST_DIR"), "/../runtime"),
        );
        write_if_other(&package.join("Cargo.toml"), &manifest);
        let file = package.join("lib.rs");
        fs::write(&file, source).expect("room for a package");
        Package { name, source: file, least: Duration::MAX }
    }

    /// Has only this package checked again.
    fn check(&self, directory: &Path) -> Duration {
        let source = fs::read(&self.source).expect("it was written");
        fs::write(&self.source, source).expect("it was written");
        let before = children_took();
        let checked = Command::new(env!("CARGO"))
            .args(["check", "--quiet", "--offline", "--package", &self.name])
            .current_dir(directory)
            .env("CARGO_INCREMENTAL", "0")
            .env("CARGO_TARGET_DIR", directory.join("target"))
            .status();
        assert!(checked.is_ok_and(|status| status.success()), "the nodes are sound");
        children_took() - before
    }
}

/// The user time of all processes that this one has started and waited for: unlike the time of the clock, it hardly
/// depends on what else the machine does.
fn children_took() -> Duration {
    let user = getrusage(UsageWho::RUSAGE_CHILDREN).expect("every Unix counts it").user_time();
    Duration::from_micros(u64::try_from(user.num_microseconds()).unwrap_or_default())
}

fn write_workspace(directory: &Path, packages: &[Package]) {
    let members = packages.iter().map(|package| format!("{:?}", package.name)).collect::<Vec<_>>().join(", ");
    write_if_other(&directory.join("Cargo.toml"), &format!("[workspace]\nresolver = \"3\"\nmembers = [{members}]\n"));
    // So that it resolves to what is there already.
    let lockfile = directory.join("Cargo.lock");
    if !lockfile.exists() {
        fs::copy(concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.lock"), lockfile).expect("room for a lockfile");
    }
}

/// What is written anew is compiled anew.
fn write_if_other(path: &Path, text: &str) {
    if fs::read_to_string(path).ok().as_deref() != Some(text) {
        fs::write(path, text).expect("room for a package");
    }
}

/// Ten functions to a block, in which there is one of everything.
fn functions(attribute: &str, nodes: u64) -> String {
    let mut source = String::from(HEAD);
    for n in 0..nodes {
        let _ = match n % 10 {
            4 => writeln!(source, "{attribute}pub async fn n{n}(a: u64, b: u64) -> bool {{ a > b }}"),
            5 | 6 => writeln!(source, "{attribute}pub async fn n{n}(yes: bool) -> u64 {{ u64::from(yes) }}"),
            _ => writeln!(source, "{attribute}pub async fn n{n}(n: u64) -> u64 {{ n + 1 }}"),
        };
    }
    source
}

const HEAD: &str = "//! Generated.\n#![allow(unused_imports)]\nuse graphweft::prelude::*;\n";

/// What functions with types of their own return.
#[derive(Clone, Copy)]
enum Returns {
    Value,
    Result,
}

impl Returns {
    fn name(self) -> &'static str {
        match self {
            Returns::Value => "of_values",
            Returns::Result => "of_results",
        }
    }
}

/// The types are in both packages that are compared, so what `#[value]` costs is not counted.
fn with_own_types(attribute: &str, nodes: u64, returns: Returns) -> String {
    const TYPES: u64 = 50;
    let mut source = String::from(HEAD);
    source += "#[derive(Debug)]\npub struct Error;\nimpl std::error::Error for Error {}\nimpl std::fmt::Display for Error {\n    \
               fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result { f.write_str(\"wrong\") }\n}\n";
    for n in 0..TYPES {
        let _ = writeln!(source, "#[value]\npub struct T{n} {{ pub n: u64, pub name: String }}");
    }
    for n in 0..nodes {
        let (from, to) = (n % TYPES, (n + 1) % TYPES);
        let value = format!("T{to} {{ n: t.n, name: t.name }}");
        let _ = match returns {
            Returns::Value => writeln!(source, "{attribute}pub async fn n{n}(t: T{from}) -> T{to} {{ {value} }}"),
            Returns::Result => {
                writeln!(source, "{attribute}pub async fn n{n}(t: T{from}) -> Result<T{to}, Error> {{ Ok({value}) }}")
            }
        };
    }
    source
}

/// Blocks of a node that writes, a route, two branches and a node that reads, one after the other; without readers the same
/// without the state.
fn stateful(nodes: u64, readers: u64) -> String {
    const KEYS: u64 = 10;
    let mut source = String::from(HEAD);
    let blocks = nodes / 5;
    let is_reader = |block: u64| readers > 0 && block.is_multiple_of((blocks / readers).max(1));
    if readers > 0 {
        for key in 0..KEYS {
            let _ = writeln!(source, "pub const K{key}: StateKey<u64> = StateKey::new(\"k{key}\");");
        }
    }
    let mut flow = String::from("workflow! {\n    pub flow(u64) -> u64 {\n        START => w0;\n");
    for n in 0..blocks {
        let key = n % KEYS;
        let _ = match readers > 0 && n < KEYS {
            true => writeln!(
                source,
                "#[node]\npub async fn w{n}(n: u64, #[writes(K{key})] k: StateWriter<u64>) -> u64 {{ k.set(n); n }}"
            ),
            false => writeln!(source, "#[node]\npub async fn w{n}(n: u64) -> u64 {{ n }}"),
        };
        let _ = writeln!(source, "#[node]\npub async fn c{n}(n: u64) -> bool {{ n > 1 }}");
        let _ = writeln!(
            source,
            "#[node]\npub async fn l{n}() -> u64 {{ 1 }}\n#[node]\npub async fn r{n}() -> u64 {{ 2 }}"
        );
        // The keys of the blocks before it are written, and its own.
        let read = if n == 0 { 0 } else { (n - 1) % KEYS };
        let _ = match is_reader(n) {
            true => writeln!(source, "#[node]\npub async fn s{n}(n: u64, #[state(K{read})] k: u64) -> u64 {{ n + k }}"),
            false => writeln!(source, "#[node]\npub async fn s{n}(n: u64) -> u64 {{ n }}"),
        };
        let next = if n + 1 < blocks { format!("w{}", n + 1) } else { "END".to_owned() };
        let _ = writeln!(
            flow,
            "        w{n} => c{n} => <true: l{n}, false: r{n}>;\n        l{n} => s{n};\n        r{n} => s{n};\n        s{n} => {next};"
        );
    }
    source + &flow + "    }\n}\n"
}

fn wiring(nodes: u64) -> String {
    let mut source = String::from("workflow! {\n    pub wired(u64) -> u64 {\n        START");
    for first in (0..nodes).step_by(10) {
        let n = |at: u64| format!("n{}", first + at);
        let _ = write!(
            source,
            "\n            => {} => {} => ({}, {}) => {} => <true: {}, false: {}> => {} => {} => {}",
            n(0),
            n(1),
            n(2),
            n(3),
            n(4),
            n(5),
            n(6),
            n(7),
            n(8),
            n(9)
        );
    }
    source + ";\n    }\n}\n"
}
