//! Which licences does a program bring along? Reads a `Cargo.lock`, finds the manifest of every package in it on this
//! machine, judges the licence that it declares, and puts everything into one report.
//!
//! `cargo run --bin license_audit [-- PATH/TO/Cargo.lock] [--json] [--deny copyleft]`
//!
//! The graphs are in `flow.rs`; everything that a node does is in the module that the node is named in there.

mod flow;
mod licence;
mod locate;
mod lock;
mod manifest;
mod model;
mod progress;
mod report;
mod verdict;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use clap::Parser;
use graphweft::{Engine, Outcome};

use crate::flow::audit;
use crate::locate::CargoHome;
use crate::model::{Kind, Request};
use crate::report::{Ending, Report};

/// Lists the licences of all packages in a Cargo.lock.
///
/// Works offline, from what cargo has downloaded and unpacked already. A package that is not on this machine, or whose
/// licence cannot be judged, is reported as unknown.
#[derive(Parser)]
#[command(version, after_help = EXIT_CODES)]
struct Arguments {
    /// The lock file; graphweft's own where none is given
    lock_file: Option<PathBuf>,

    /// Print the report as JSON
    #[arg(long)]
    json: bool,

    /// Give up after so many seconds
    #[arg(long, value_name = "SECONDS")]
    within: Option<u64>,

    /// End with exit code 1 where there are packages of this kind; may be given several times
    #[arg(long, value_name = "KIND")]
    deny: Vec<Kind>,
}

const EXIT_CODES: &str = "\
Exit codes:
  0  the report is printed
  1  the report is printed, and holds packages that --deny forbids
  2  the lock file is missing or broken, or the command line is
  3  the audit itself failed, or ran out of time";

/// How the program ends where it has no report.
enum Stop {
    /// Something is wrong with what it was given.
    Input(String),
    /// Something is wrong with itself or with the machine.
    Audit(String),
}

#[tokio::main]
async fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let ending = async {
        let lock_file = arguments.lock_file.unwrap_or_else(own_lock_file);
        let time_limit = arguments.within.map(Duration::from_secs);
        let report = make_report(Request { lock_file, time_limit }).await?;
        print(&report, arguments.json)?;
        Ok(complain(&report, &arguments.deny))
    };
    let (message, code) = match ending.await {
        Ok(code) => return code,
        Err(Stop::Input(message)) => (message, 2),
        Err(Stop::Audit(message)) => (message, 3),
    };
    eprintln!("error: {message}");
    ExitCode::from(code)
}

/// The lock file of the repository that this example is part of.
fn own_lock_file() -> PathBuf {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    package.parent().unwrap_or(package).join("Cargo.lock")
}

async fn make_report(request: Request) -> Result<Report, Stop> {
    let failed = |error: &dyn std::error::Error| Stop::Audit(error.to_string());
    let engine = Engine::builder().resource(CargoHome::of_this_user()).build().map_err(|error| failed(&error))?;
    let run = engine.start::<audit>(request).await.map_err(|error| failed(&error))?;
    progress::show(run.events()).await;
    match run.outcome().await.map_err(|error| failed(&error))? {
        Outcome::Completed(Ending::Report(report)) => Ok(report),
        Outcome::Completed(Ending::OutOfTime(limit)) => {
            Err(Stop::Audit(format!("no report within {} s; see --within", limit.as_secs())))
        }
        // The lock file is all that can be wrong with the input; what is wrong with a package is a finding.
        Outcome::Failed(failure) if failure.path == "audit/read_lock" && failure.cause.fault.is_none() => {
            Err(Stop::Input(failure.cause.to_string()))
        }
        Outcome::Failed(failure) => Err(failed(&failure)),
        outcome => Err(Stop::Audit(format!("the run ended without a report: {outcome:?}"))),
    }
}

fn print(report: &Report, as_json: bool) -> Result<(), Stop> {
    let text = if as_json {
        report.to_json().map_err(|error| Stop::Audit(format!("the report cannot be written as JSON: {error}")))?
    } else {
        report.to_table()
    };
    match std::io::stdout().write_all(text.as_bytes()) {
        // Whoever reads has seen enough, as in `license_audit | head`.
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(()),
        Err(error) => Err(Stop::Audit(format!("the report cannot be printed: {error}"))),
        Ok(()) => Ok(()),
    }
}

/// Says which of the forbidden kinds there are.
fn complain(report: &Report, denied: &[Kind]) -> ExitCode {
    let mut code = ExitCode::SUCCESS;
    for kind in [Kind::Permissive, Kind::Copyleft, Kind::Unknown] {
        let found = report.totals.of(kind);
        if denied.contains(&kind) && found > 0 {
            eprintln!("denied: {found} {kind} package{}", if found == 1 { "" } else { "s" });
            code = ExitCode::from(1);
        }
    }
    code
}
