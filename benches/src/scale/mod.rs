//! Memory, and very many of everything.
//!
//! What is measured here leaves traces in the process (an allocator gives little back), so each measurement is a process
//! of its own: the program calls itself, and the other one prints its figures as a line of JSON.

mod long;
mod many;
mod waiting;

use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use crate::measure::Role;
use crate::report::{Figure, Row, Target, Unit};

/// How many of everything.
#[derive(Clone, Copy, Debug)]
pub struct Scale {
    /// Runs that wait.
    pub waiting: u64,
    /// Runs at once.
    pub at_once: u64,
    /// Short runs, one after the other.
    pub short: u64,
    /// Turns of a loop.
    pub turns: u64,
}

impl Scale {
    /// What is published.
    pub const WHOLE: Scale = Scale { waiting: 100_000, at_once: 10_000, short: 1_000_000, turns: 10_000_000 };
    /// Enough to see that it works.
    pub const QUICK: Scale = Scale { waiting: 5_000, at_once: 2_000, short: 50_000, turns: 500_000 };
}

/// What a process that was started by [`rows`] is for.
pub fn child(name: &str, count: u64, directory: &Path) -> Value {
    match name {
        "at-once" => many::at_once(count, None),
        "at-once-durable" => many::at_once(count, Some(directory)),
        "parked" => waiting::parked_in_memory(count, directory),
        "wait" => waiting::wait(count, directory),
        "open" => waiting::open(directory),
        "short" => long::short_runs(count),
        "turns" => long::turns(count),
        "large" => long::large_graph(),
        _ => json!({ "error": "no such measurement" }),
    }
}

/// The lines of the table. The files are made in `directory`.
pub fn rows(directory: &Path, scale: Scale) -> Vec<Row> {
    let mut rows = waiting::rows(directory, scale.waiting);
    rows.extend(in_flight(directory, scale.at_once));
    rows.push(parked(directory, scale.at_once));
    rows.extend(long::rows(directory, scale));
    rows
}

fn in_flight(directory: &Path, count: u64) -> [Row; 2] {
    let memory = measure("at-once", count, directory);
    let durable = measure("at-once-durable", count, directory);
    let figure = |name, role, of: &Value, what| Figure::single(name, role, of[what].as_f64().unwrap_or(f64::NAN));
    let pair = |what| {
        vec![
            figure("graphweft, in memory", Role::Ours, &memory, what),
            figure("graphweft, in a file", Role::Also, &durable, what),
        ]
    };
    [
        Row::single(format!("memory of a run in flight, of {}", grouped(count)), Unit::Bytes, pair("bytes")),
        Row::single(format!("{} runs at once, begun and ended, a run", grouped(count)), Unit::Time, pair("ns")),
    ]
}

fn parked(directory: &Path, count: u64) -> Row {
    let parked = measure("parked", count, directory);
    let bytes = parked["bytes"].as_f64().unwrap_or(f64::NAN);
    let figures = vec![Figure::single("graphweft, `max_resident_waiting` of all", Role::Ours, bytes)];
    Row::single(format!("memory of a waiting run that is kept in memory, of {}", grouped(count)), Unit::Bytes, figures)
}

/// Has another process measure something.
fn measure(name: &str, count: u64, directory: &Path) -> Value {
    let program = std::env::current_exe().expect("this program is a file");
    let child = Command::new(program).args(["--child", name, &count.to_string()]).arg(directory).output();
    let output = child.expect("the system starts it").stdout;
    serde_json::from_slice(&output).unwrap_or_else(|_| panic!("`{name}` has not measured anything"))
}

/// How much memory this process has, in bytes.
fn resident() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kilobytes = line.and_then(|line| line.trim().strip_suffix(" kB")).and_then(|number| number.trim().parse().ok());
    kilobytes.map_or(f64::NAN, |kilobytes: f64| kilobytes * 1024.0)
}

/// A runtime as programs have it.
fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().expect("a runtime")
}

fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut grouped = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

/// Whether it is at most so much.
fn at_most(unit: Unit, value: f64, most: f64) -> Target {
    Target::new(format!("≤ {}", unit.show(most)), value <= most)
}
