//! The command line.

use std::path::PathBuf;
use std::time::Duration;

use clap::Parser;

use crate::model::Kind;

/// Lists the licences of all packages in a Cargo.lock.
///
/// Audited are the packages that are built on this machine; `cargo metadata` knows which, and downloads those that are missing,
/// unless cargo is offline (CARGO_NET_OFFLINE=true). A package that is not on this machine is reported as unknown. A licence that cannot be classified becomes a question, answered at a prompt or later with
/// --answer.
///
/// Every audit is a run in a database. If it was stopped, or its process died, --resume resumes it: inspected packages
/// are not inspected again.
#[derive(Parser)]
#[command(version, after_help = EXIT_CODES)]
pub(crate) struct Arguments {
    /// The lock file; the default is graphweft's own
    pub(crate) lock_file: Option<PathBuf>,

    /// Also the packages that are not built on this machine: those for other platforms, and of features that are off by default
    #[arg(long)]
    pub(crate) all_platforms: bool,

    /// Resume a run; without RUN, the newest one that has no report
    #[arg(long, value_name = "RUN", num_args = 0..=1, conflicts_with_all = ["lock_file", "within", "all_platforms"])]
    pub(crate) resume: Option<Option<String>>,

    /// Answer a question: `allow`, `deny` or `leave` (undecided), then an optional `: REASON`; may be given several
    /// times. Without a lock file, resumes a run like --resume
    #[arg(long, value_name = "ID=VALUE")]
    pub(crate) answer: Vec<String>,

    /// Ask no questions: a licence without an answer is reported as undecided
    #[arg(long)]
    pub(crate) leave_undecided: bool,

    /// Show what a run asks; the newest that has no report where no RUN is given
    #[arg(long, value_name = "RUN", num_args = 0..=1, conflicts_with_all = ["lock_file", "resume", "answer", "within", "deny", "leave_undecided", "all_platforms"])]
    pub(crate) questions: Option<Option<String>>,

    /// List the runs in the database, the newest first
    #[arg(long, conflicts_with_all = ["lock_file", "resume", "answer", "questions", "within", "deny", "leave_undecided", "json", "all_platforms"])]
    pub(crate) list: bool,

    /// Where runs are kept
    #[arg(long, value_name = "FILE", default_value = "license-audit.db")]
    pub(crate) database: PathBuf,

    /// Print the report, or the questions, as JSON
    #[arg(long)]
    pub(crate) json: bool,

    /// Give up when the packages are not inspected in so many seconds
    #[arg(long, value_name = "SECONDS")]
    pub(crate) within: Option<u64>,

    /// Serve a page with the runs, where questions are answered as well, until Ctrl-C; without PORT, at any that is free
    #[arg(long, value_name = "PORT", num_args = 0..=1, require_equals = true, default_missing_value = "0")]
    pub(crate) ui: Option<u16>,

    /// End with exit code 1 if there are packages of this kind; may be given several times
    #[arg(long, value_name = "KIND")]
    pub(crate) deny: Vec<Kind>,
}

const EXIT_CODES: &str = "\
Exit codes:
    0  the report is printed
    1  the report is printed, and contains packages that --deny or an answer forbids
    2  the lock file, the database, an answer or the command line is wrong
    3  the audit itself failed, or ran out of time
    4  there are open questions, and no terminal to answer them
  130  stopped by Ctrl-C

With --ui the program ends by Ctrl-C, with the exit code of what it has done.";

/// What is to be done.
pub(crate) enum Command {
    List,
    /// With the run, where one is named.
    Questions(Option<String>),
    Start {
        lock_file: PathBuf,
        time_limit: Option<Duration>,
        all_platforms: bool,
    },
    /// With the run, where one is named.
    Resume(Option<String>),
}

impl Arguments {
    pub(crate) fn command(&self, own_lock_file: impl FnOnce() -> PathBuf) -> Command {
        match self {
            Arguments { list: true, .. } => Command::List,
            Arguments { questions: Some(run), .. } => Command::Questions(run.clone()),
            Arguments { resume: Some(run), .. } => Command::Resume(run.clone()),
            Arguments { lock_file: None, answer, .. } if !answer.is_empty() => Command::Resume(None),
            Arguments { lock_file, within, all_platforms, .. } => Command::Start {
                lock_file: lock_file.clone().unwrap_or_else(own_lock_file),
                time_limit: within.map(Duration::from_secs),
                all_platforms: *all_platforms,
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn command(arguments: &[&str]) -> Command {
        let all = [&["license_audit"], arguments].concat();
        Arguments::try_parse_from(all).unwrap().command(|| "own.lock".into())
    }

    #[test]
    fn an_answer_alone_goes_on_with_a_run_and_beside_a_lock_file_it_is_for_a_new_one() {
        assert!(matches!(command(&["--answer", "a=allow"]), Command::Resume(None)));
        assert!(matches!(command(&["--answer", "a=allow", "--resume", "3"]), Command::Resume(Some(run)) if run == "3"));
        assert!(matches!(command(&["x.lock", "--answer", "a=allow"]), Command::Start { .. }));
    }

    #[test]
    fn the_page_takes_no_lock_file_for_its_port() {
        let arguments = Arguments::try_parse_from(["license_audit", "--ui", "x.lock"]).unwrap();
        assert_eq!((arguments.ui, arguments.lock_file), (Some(0), Some("x.lock".into())));
        assert_eq!(Arguments::try_parse_from(["license_audit", "--ui=8080"]).unwrap().ui, Some(8080));
    }

    #[test]
    fn what_makes_no_sense_together_is_refused() {
        for arguments in [["x.lock", "--resume=1"], ["--list", "--questions"], ["--resume", "--within=1"]] {
            assert!(Arguments::try_parse_from(["license_audit"].iter().chain(&arguments)).is_err(), "{arguments:?}");
        }
    }
}
