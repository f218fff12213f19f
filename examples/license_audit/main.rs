//! Which licences does a program bring along? Reads a `Cargo.lock`, finds the manifest of every package in it on this
//! machine, judges the licence that it declares, asks a person where it cannot, and puts everything into one report.
//!
//! `cargo run --bin license_audit [-- PATH/TO/Cargo.lock] [--json] [--deny copyleft] [--resume] [--ui]`
//!
//! The graphs are in `flow.rs`; everything that a node does is in the module that the node is named in there. `runs.rs`
//! has all that is done with the engine. The page to it: `docs/guide/durable.md`.

mod answer;
mod arguments;
mod dialogue;
mod drive;
mod flow;
mod licence;
mod list;
mod locate;
mod lock;
mod manifest;
mod model;
mod progress;
mod question;
mod report;
mod runs;
mod stop;
mod ui;
mod verdict;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Parser;

use crate::arguments::{Arguments, Command};
use crate::dialogue::Open;
use crate::model::{Kind, Request};
use crate::report::Report;
use crate::runs::{IfMissing, Runs};
use crate::stop::Stop;
use crate::ui::Ui;

#[tokio::main]
async fn main() -> ExitCode {
    carry_out(Arguments::parse()).await.unwrap_or_else(Stop::report).into()
}

/// Gives the exit code.
async fn carry_out(arguments: Arguments) -> Result<u8, Stop> {
    let command = arguments.command(own_lock_file);
    let if_missing = if matches!(command, Command::Start { .. }) { IfMissing::Make } else { IfMissing::Refuse };
    let runs = Runs::open(&arguments.database, if_missing).await?;
    let done = match arguments.ui {
        Some(port) => beside_the_page(&runs, command, &arguments, port).await,
        None => with_runs(&runs, command, &arguments, None).await,
    };
    runs.shutdown().await;
    done
}

/// Serves the page while the command is carried out, and after that until Ctrl-C.
async fn beside_the_page(runs: &Runs, command: Command, arguments: &Arguments, port: u16) -> Result<u8, Stop> {
    let ui = Ui::open(runs.engine(), port).await?;
    let done = with_runs(runs, command, arguments, Some(&ui)).await;
    let done = match done {
        Err(Stop::Interrupted(message)) => Err(Stop::Interrupted(message)),
        done => {
            let code = done.unwrap_or_else(Stop::report);
            eprintln!("the page is at {} until Ctrl-C", ui.url());
            Ok(code)
        }
    };
    ui.ended().await.and(done)
}

async fn with_runs(runs: &Runs, command: Command, arguments: &Arguments, ui: Option<&Ui>) -> Result<u8, Stop> {
    let run = match command {
        Command::List => {
            print(&list::table(runs).await?)?;
            return Ok(0);
        }
        Command::Questions(run) => {
            let run = runs.find(run).await?;
            let open = Open::read(runs.questions(&run).await?)?;
            print(&if arguments.json { to_json(&open)? } else { dialogue::describe(&run.id, &open) })?;
            return Ok(0);
        }
        Command::Start { lock_file, time_limit, all_platforms } => {
            // Another process may resume the run.
            let lock_file = std::path::absolute(lock_file).map_err(Stop::input)?;
            runs.start(Request { lock_file, time_limit, all_platforms }).await?
        }
        Command::Resume(run) => runs.resume(run).await?,
    };
    let report = drive::to_report(runs, run, arguments, ui).await?;
    print(&if arguments.json { to_json(&report)? } else { report.to_table() })?;
    Ok(complain(&report, &arguments.deny))
}

/// The lock file of the repository that this example is part of.
fn own_lock_file() -> PathBuf {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    package.parent().unwrap_or(package).join("Cargo.lock")
}

fn to_json(what: &impl serde::Serialize) -> Result<String, Stop> {
    serde_json::to_string_pretty(what).map(|json| json + "\n").map_err(Stop::audit)
}

fn print(text: &str) -> Result<(), Stop> {
    match std::io::stdout().write_all(text.as_bytes()) {
        // The reader has closed the pipe, as in `license_audit | head`.
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(()),
        Err(error) => Err(Stop::Audit(format!("this cannot be printed: {error}"))),
        Ok(()) => Ok(()),
    }
}

/// Says which of the forbidden kinds there are. What a person has denied is forbidden in any case.
fn complain(report: &Report, denied: &[Kind]) -> u8 {
    let mut code = 0;
    for kind in Kind::ALL {
        let found = report.totals.of(kind);
        if found == 0 || !(kind == Kind::Denied || denied.contains(&kind)) {
            continue;
        }
        let packages = if found == 1 { "package" } else { "packages" };
        match kind {
            Kind::Denied => eprintln!("denied by an answer: {found} {packages}"),
            kind => eprintln!("denied: {found} {kind} {packages}"),
        }
        code = 1;
    }
    code
}
