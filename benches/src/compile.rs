//! What wiring costs the compiler: `cargo check` of nodes and a workflow over them, against the nodes alone.

use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use crate::measure::{Contender, Effort, Measured, Role, paired};
use crate::report::{Row, Target};

const SIZES: [u64; 4] = [10, 100, 500, 1000];

/// Two packages of the same nodes, one of which wires them.
struct Pair {
    nodes: u64,
    bare: Package,
    wired: Package,
}

struct Package {
    name: String,
    source: PathBuf,
}

/// The lines of the table. The packages are made in `directory`, where what they depend on stays for the next time.
pub fn rows(directory: &Path, effort: Effort) -> Vec<Row> {
    let pairs = SIZES.map(|nodes| Pair {
        nodes,
        bare: Package::write(directory, &format!("bare_{nodes}"), &nodes_only(nodes)),
        wired: Package::write(directory, &format!("wired_{nodes}"), &(nodes_only(nodes) + &wiring(nodes))),
    });
    write_workspace(directory);
    let mut rows: Vec<(u64, Row, Measured)> = Vec::new();
    for pair in &pairs {
        let measured = paired(
            vec![
                Contender::new("wired", Role::Ours, 1, |times| pair.wired.check(directory, times)),
                Contender::new("the nodes alone", Role::Limit, 1, |times| pair.bare.check(directory, times)),
            ],
            Effort { turn: Duration::ZERO, ..effort },
        );
        // A difference of two times that vary by more than it says little; their ratio within a round does not.
        let least = measured[1].range().0;
        let rounds = measured[0].rounds.iter().zip(&measured[1].rounds);
        let rounds = rounds.map(|(wired, bare)| (wired / bare - 1.0) * least).collect();
        let difference = Measured { name: "wired, less the nodes alone".to_owned(), role: Role::Ours, rounds };
        let row = Row::of(
            format!("`cargo check` of {} nodes wired, over the nodes alone", pair.nodes),
            &[
                difference.clone(),
                Measured { role: Role::Also, ..measured[0].clone() },
                Measured { role: Role::Also, ..measured[1].clone() },
            ],
        );
        rows.push((pair.nodes, row, difference));
    }
    let of = |nodes| rows.iter().find(|row| row.0 == nodes).map_or(f64::NAN, |row| row.2.median());
    // From 10 nodes the difference is lost in the noise, so the line goes through 100 and 1,000.
    let is_linear = of(1000) <= 15.0 * of(100);
    rows.into_iter()
        .map(|(nodes, row, _)| match nodes {
            500 => row.at_most(0.3e9),
            1000 => row.with_target(Target::new("linear (≤ 15 × that of 100)", is_linear)),
            _ => row,
        })
        .collect()
}

impl Package {
    fn write(directory: &Path, name: &str, source: &str) -> Self {
        let package = directory.join(name);
        fs::create_dir_all(&package).expect("room for a package");
        let manifest = format!(
            "[package]\nname = \"{name}\"\nversion = \"0.0.0\"\nedition = \"2024\"\n\n[lib]\npath = \"lib.rs\"\n\n\
             [dependencies]\ngraphweft = {{ path = \"{}\", default-features = false }}\n",
            concat!(env!("CARGO_MANIFEST_DIR"), "/../runtime"),
        );
        write_if_other(&package.join("Cargo.toml"), &manifest);
        let file = package.join("lib.rs");
        fs::write(&file, source).expect("room for a package");
        Package { name: name.to_owned(), source: file }
    }

    /// Has only this package checked again.
    fn check(&self, directory: &Path, times: u64) -> Duration {
        let one = || {
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
        };
        (0..times).map(|_| one()).sum()
    }
}

/// The processor time of all processes that this one has started and waited for: unlike the time of the clock, it hardly
/// depends on what else the machine does.
fn children_took() -> Duration {
    let stat = fs::read_to_string("/proc/self/stat").expect("it is Linux");
    let (_, fields) = stat.rsplit_once(')').expect("the name of this program stands in brackets");
    // The 16th and 17th of all fields, in hundredths of a second; the first two stand before.
    let hundredths =
        fields.split_whitespace().skip(13).take(2).filter_map(|field| field.parse::<u64>().ok()).sum::<u64>();
    Duration::from_millis(hundredths * 10)
}

fn write_workspace(directory: &Path) {
    let members = SIZES.map(|nodes| format!("\"bare_{nodes}\", \"wired_{nodes}\"")).join(", ");
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

/// Ten nodes to a block, in which there is one of everything.
fn nodes_only(nodes: u64) -> String {
    let mut source = String::from("//! Generated.\nuse graphweft::prelude::*;\n");
    for n in 0..nodes {
        let _ = match n % 10 {
            4 => writeln!(source, "#[node]\npub async fn n{n}(a: u64, b: u64) -> bool {{ a > b }}"),
            5 | 6 => writeln!(source, "#[node]\npub async fn n{n}(yes: bool) -> u64 {{ u64::from(yes) }}"),
            _ => writeln!(source, "#[node]\npub async fn n{n}(n: u64) -> u64 {{ n + 1 }}"),
        };
    }
    source
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
