//! The arguments.

use std::path::PathBuf;
use std::time::Duration;

use clap::{ArgGroup, Args, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;

use crate::status::Status;

/// See and steer the runs in a file.
#[derive(Debug, Parser)]
#[command(name = "graphweft", version, disable_help_subcommand = true)]
pub(crate) struct Alone {
    /// The file with the runs; or the address of the database, if this program was built with PostgreSQL.
    #[arg(long, short, default_value = "runs.db", global = true)]
    pub(crate) store: PathBuf,
    /// The schema in the database.
    #[cfg(feature = "postgres")]
    #[arg(long, default_value = "graphweft", global = true)]
    pub(crate) schema: String,
    #[command(flatten)]
    pub(crate) output: Output,
    #[command(subcommand)]
    pub(crate) request: Request,
}

/// See and steer the runs of this program.
#[derive(Debug, Parser)]
#[command(version, disable_help_subcommand = true)]
pub(crate) struct Own {
    #[command(flatten)]
    pub(crate) output: Output,
    #[command(subcommand)]
    pub(crate) request: Request,
}

#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct Output {
    /// Print JSON.
    #[arg(long, global = true)]
    pub(crate) json: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Request {
    #[command(flatten)]
    OfRuns(Command),
    /// Print a script by which a shell completes these commands.
    Completions(Completions),
}

/// What needs the runs.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// List runs, the newest first.
    List(List),
    /// Show what has become of everything in a run.
    Show(Show),
    /// Print the events of a run.
    Tail(Tail),
    /// Print the graph of a run, or of a workflow.
    Graph(Graph),
    /// List open questions, the oldest first.
    Questions(Questions),
    /// Answer a question of a run.
    Answer(Answer),
    /// Send a signal to a run.
    Signal(Signal),
    /// Cancel a run.
    Cancel(OneRun),
    /// Retry a run that has failed or was cancelled. Without the code of its workflow, a program that has it carries it out.
    Retry(Retry),
    /// Start a new run with the events of another one. Without the code of its workflow, a program that has it carries it out.
    Fork(Fork),
    /// Delete a run that has ended.
    Delete(OneRun),
    /// Delete runs that have ended so long ago.
    Prune(Prune),
    /// List the unfinished runs that this program could not resume. Needs the code of the workflows.
    Check,
    /// Serve the page, on this machine.
    Ui(Ui),
    /// Serve the workflows as the tools of an MCP server, over the standard streams. Unfinished runs are resumed. Needs the code of
    /// the workflows.
    #[cfg(feature = "mcp")]
    Mcp,
}

impl Command {
    /// Whether it changes something in the store.
    pub(crate) fn writes(&self) -> bool {
        match self {
            Command::List(_)
            | Command::Show(_)
            | Command::Tail(_)
            | Command::Graph(_)
            | Command::Questions(_)
            | Command::Check
            | Command::Ui(_) => false,
            Command::Prune(asked) => !asked.dry_run,
            Command::Answer(_)
            | Command::Signal(_)
            | Command::Cancel(_)
            | Command::Retry(_)
            | Command::Fork(_)
            | Command::Delete(_) => true,
            #[cfg(feature = "mcp")]
            Command::Mcp => true,
        }
    }
}

#[derive(Debug, Args)]
pub(crate) struct List {
    /// With this status; may be repeated.
    #[arg(long)]
    pub(crate) status: Vec<Status>,
    /// Of this workflow; may be repeated.
    #[arg(long)]
    pub(crate) workflow: Vec<String>,
    /// With this tag, `key=value`; may be repeated.
    #[arg(long, value_parser = tag)]
    pub(crate) tag: Vec<(String, String)>,
    /// Whose ids begin with this.
    #[arg(long, default_value = "")]
    pub(crate) id_prefix: String,
    /// How many.
    #[arg(long, default_value_t = 20)]
    pub(crate) limit: usize,
}

fn tag(text: &str) -> Result<(String, String), String> {
    let (key, value) = text.split_once('=').ok_or("write `key=value`")?;
    Ok((key.to_owned(), value.to_owned()))
}

#[derive(Debug, Args)]
pub(crate) struct OneRun {
    /// The id of the run.
    pub(crate) run: String,
}

#[derive(Debug, Args)]
pub(crate) struct Show {
    /// The id of the run.
    pub(crate) run: String,
    /// As it was after the event with this number.
    #[arg(long)]
    pub(crate) at: Option<u64>,
    /// How wide the bars are, in characters; 0 for none.
    #[arg(long, default_value_t = 40)]
    pub(crate) bars: u16,
    /// Print 4 kB of each text of the conversations of agents, and not only its beginning. What is longer is in the events:
    /// `tail --json`.
    #[arg(long)]
    pub(crate) long: bool,
    /// Print the input and the output of everything in the run. The inputs of nodes need the code of the workflow.
    #[arg(long)]
    pub(crate) values: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Tail {
    /// The id of the run.
    pub(crate) run: String,
    /// Wait for further events, until the run ends.
    #[arg(long, short)]
    pub(crate) follow: bool,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum Format {
    Ascii,
    Svg,
    Mermaid,
    Dot,
}

#[derive(Debug, Args)]
pub(crate) struct Graph {
    /// The id of a run, or the name of a workflow.
    pub(crate) of: String,
    #[arg(long, value_enum, default_value_t = Format::Mermaid)]
    pub(crate) format: Format,
}

#[derive(Debug, Args)]
pub(crate) struct Questions {
    /// Of runs of this workflow; may be repeated.
    #[arg(long)]
    pub(crate) workflow: Vec<String>,
    /// How many.
    #[arg(long, default_value_t = 20)]
    pub(crate) limit: usize,
}

#[derive(Debug, Args)]
pub(crate) struct Answer {
    /// The id of the run.
    pub(crate) run: String,
    /// The name of the question, or its id.
    pub(crate) question: String,
    /// The answer, as JSON: `true`, `'"a text"'`.
    #[arg(allow_hyphen_values = true)]
    pub(crate) answer: String,
    /// Who answers.
    #[arg(long)]
    pub(crate) by: Option<String>,
    /// A comment on it.
    #[arg(long)]
    pub(crate) comment: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct Signal {
    /// The id of the run.
    pub(crate) run: String,
    /// The name of the signal.
    pub(crate) name: String,
    /// The payload, as JSON.
    #[arg(default_value = "null", allow_hyphen_values = true)]
    pub(crate) payload: String,
    /// By which it is counted once.
    #[arg(long)]
    pub(crate) id: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct Retry {
    /// The id of the run.
    pub(crate) run: String,
    /// The path of a node that runs again with all nodes after it; may be repeated.
    #[arg(long)]
    pub(crate) from: Vec<String>,
}

#[derive(Debug, Args)]
pub(crate) struct Fork {
    /// The id of the run.
    pub(crate) run: String,
    /// The number of the first event that is not copied.
    #[arg(long)]
    pub(crate) before: Option<u64>,
    /// The id of the new run.
    #[arg(long)]
    pub(crate) id: Option<String>,
}

/// A duration is a number and a unit: `90s`, `45m`, `12h`, `30d`.
#[derive(Debug, Args)]
#[command(group(ArgGroup::new("which").args(["completed", "failed", "cancelled"]).required(true).multiple(true)))]
pub(crate) struct Prune {
    /// Those that have completed or started over this long ago: `30d`.
    #[arg(long, value_name = "AGE", value_parser = age)]
    pub(crate) completed: Option<Duration>,
    /// Those that have failed this long ago.
    #[arg(long, value_name = "AGE", value_parser = age)]
    pub(crate) failed: Option<Duration>,
    /// Those that were cancelled this long ago.
    #[arg(long, value_name = "AGE", value_parser = age)]
    pub(crate) cancelled: Option<Duration>,
    /// Count them, and delete none.
    #[arg(long)]
    pub(crate) dry_run: bool,
}

/// `90s`, `45m`, `12h`, `30d`.
fn age(text: &str) -> Result<Duration, String> {
    let help = || "write a number and a unit: `90s`, `45m`, `12h` or `30d`".to_owned();
    let unit = text.find(|char: char| !char.is_ascii_digit()).ok_or_else(help)?;
    let (number, unit) = text.split_at(unit);
    let seconds: u64 = match unit {
        "s" => 1,
        "m" => 60,
        "h" => 60 * 60,
        "d" => 24 * 60 * 60,
        _ => return Err(help()),
    };
    let number: u64 = number.parse().map_err(|_| help())?;
    number.checked_mul(seconds).map(Duration::from_secs).ok_or_else(|| "that is too long".to_owned())
}

#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct Completions {
    pub(crate) shell: Shell,
}

#[derive(Debug, Args)]
pub(crate) struct Ui {
    /// The port; 0 for any.
    #[arg(long, default_value_t = 8080)]
    pub(crate) port: u16,
    /// Change nothing. It is so for a file that cannot be written to.
    #[arg(long)]
    pub(crate) read_only: bool,
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn an_age_is_a_number_with_a_unit() {
        assert_eq!(age("30d"), Ok(Duration::from_secs(30 * 86_400)));
        assert_eq!(age("45m"), Ok(Duration::from_secs(45 * 60)));
        for wrong in ["", "d", "30", "3.5d", "-1d", "30 d", "30w", "99999999999999999999d", "999999999999999999d"] {
            assert!(age(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn the_arguments_are_sound() {
        Alone::command().debug_assert();
        Own::command().debug_assert();
    }
}
