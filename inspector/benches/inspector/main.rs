//! What it costs to look at runs: `cargo bench -p graphweft-inspector`, with `-- --quick` for a look at whether it works.
//!
//! The watchers are a process of their own, which reads and drops what it gets; they share the processors with the run.

mod client;
mod measures;
mod runs;

use std::error::Error;
use std::time::Duration;

use crate::client::watch;
use crate::measures::{Sizes, measure};

/// A line of the table.
pub(crate) struct Row {
    pub(crate) what: String,
    pub(crate) measured: String,
    pub(crate) goal: &'static str,
}

impl Row {
    pub(crate) fn new(what: impl Into<String>, measured: impl Into<String>, goal: &'static str) -> Self {
        Row { what: what.into(), measured: measured.into(), goal }
    }
}

pub(crate) fn millis(time: Duration) -> String {
    format!("{:.1} ms", time.as_secs_f64() * 1e3)
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|argument| argument != "--bench").collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["watch", address, path, watchers] => watch(address, path, watchers.parse()?).await,
        [] => print(&measure(Sizes::FULL).await?),
        ["--quick"] => print(&measure(Sizes::QUICK).await?),
        _ => return Err("usage: cargo bench -p graphweft-inspector [-- --quick]".into()),
    }
    Ok(())
}

fn print(rows: &[Row]) {
    println!("| what | measured | goal |\n| --- | --- | --- |");
    for Row { what, measured, goal } in rows {
        println!("| {what} | {measured} | {goal} |");
    }
}
