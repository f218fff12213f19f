//! Why a command was not carried out, and how a run is that was shown.

use std::io;
use std::path::PathBuf;
use std::process::ExitCode;

use graphweft::store::StoreError;
use graphweft::{
    AnswerError, BuildError, CancelError, DeleteError, ForkError, RetryError, RunError, RunStatus, SignalError,
};

/// Why a command was not carried out.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CliError {
    #[error("there is no file `{}`", path.display())]
    NoStore { path: PathBuf },
    #[error("there is no run `{run}`; `list` shows those that there are")]
    UnknownRun { run: String },
    #[error("workflow `{workflow}` is neither registered nor the workflow of a stored run")]
    UnknownWorkflow { workflow: String },
    #[error("the store has no graph of run `{run}`")]
    NoGraph { run: String },
    #[cfg(feature = "mcp")]
    #[error("there is no workflow here; call `graphweft_cli::main(engine)` in the program that has them")]
    NoWorkflows,
    #[error("`{text}` is not JSON: {source}; a text is written with quotes: '\"yes\"'")]
    NotJson { text: String, source: serde_json::Error },
    #[error(
        "`check` needs the code of the workflows, and a file has none; call `graphweft_cli::main(engine)` in the program \
         that has it"
    )]
    NeedsCode,
    #[error("`{text}` is not a tag: write `key=value`")]
    NotATag { text: String },
    #[error(transparent)]
    Answer(#[from] AnswerError),
    #[error(transparent)]
    Signal(#[from] SignalError),
    #[error(transparent)]
    Retry(#[from] RetryError),
    #[error(transparent)]
    Fork(#[from] ForkError),
    #[error(transparent)]
    Cancel(#[from] CancelError),
    #[error(transparent)]
    Delete(#[from] DeleteError),
    #[error(transparent)]
    Run(#[from] RunError),
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Build(#[from] BuildError),
    #[error("nothing can be printed, or served: {0}")]
    Output(#[from] io::Error),
}

/// What the exit code says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ended {
    Done,
    Waits,
    Failed,
    Cancelled,
    CannotResume,
}

impl Ended {
    pub(crate) fn of(status: RunStatus) -> Self {
        match status {
            RunStatus::Waiting => Ended::Waits,
            RunStatus::Failed => Ended::Failed,
            RunStatus::Cancelled => Ended::Cancelled,
            _ => Ended::Done,
        }
    }

    pub(crate) fn code(self) -> ExitCode {
        ExitCode::from(match self {
            Ended::Done => 0,
            Ended::Waits => 3,
            Ended::Failed => 4,
            Ended::Cancelled => 5,
            Ended::CannotResume => 6,
        })
    }
}
