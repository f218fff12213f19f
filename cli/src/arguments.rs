//! The arguments.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use graphweft::RunStatus;

/// See and steer the runs in a file.
#[derive(Debug, Parser)]
#[command(name = "graphweft", version, disable_help_subcommand = true)]
pub(crate) struct Alone {
    /// The file with the runs.
    #[arg(long, short, default_value = "runs.db", global = true)]
    pub(crate) store: PathBuf,
    #[command(flatten)]
    pub(crate) output: Output,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// See and steer the runs of this program.
#[derive(Debug, Parser)]
#[command(version, disable_help_subcommand = true)]
pub(crate) struct Own {
    #[command(flatten)]
    pub(crate) output: Output,
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct Output {
    /// Print JSON.
    #[arg(long, global = true)]
    pub(crate) json: bool,
}

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
    /// Retry a run that has failed or was cancelled. Needs the code of its workflow.
    Retry(Retry),
    /// Start a new run with the events of another one. Needs the code of its workflow.
    Fork(Fork),
    /// Delete a run that has ended.
    Delete(OneRun),
    /// Serve the page, on this machine.
    Ui(Ui),
    /// Serve the workflows as the tools of an MCP server, over the standard streams. Unfinished runs are resumed. Needs the code of
    /// the workflows.
    #[cfg(feature = "mcp")]
    Mcp,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum Status {
    Running,
    Waiting,
    Sleeping,
    Completed,
    Failed,
    Cancelled,
    StartedOver,
}

impl From<Status> for RunStatus {
    fn from(status: Status) -> Self {
        match status {
            Status::Running => RunStatus::Running,
            Status::Waiting => RunStatus::Waiting,
            Status::Sleeping => RunStatus::Sleeping,
            Status::Completed => RunStatus::Completed,
            Status::Failed => RunStatus::Failed,
            Status::Cancelled => RunStatus::Cancelled,
            Status::StartedOver => RunStatus::StartedOver,
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
    #[arg(long)]
    pub(crate) tag: Vec<String>,
    /// Whose ids begin with this.
    #[arg(long, default_value = "")]
    pub(crate) id_prefix: String,
    /// How many.
    #[arg(long, default_value_t = 20)]
    pub(crate) limit: usize,
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

#[derive(Debug, Args)]
pub(crate) struct Ui {
    /// The port; 0 for any.
    #[arg(long, default_value_t = 8080)]
    pub(crate) port: u16,
    /// Change nothing.
    #[arg(long)]
    pub(crate) read_only: bool,
}
