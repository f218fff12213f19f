//! Why a command was not carried out, and how a run is that was shown.

use std::io;
use std::path::PathBuf;
use std::process::ExitCode;

use graphweft::store::StoreError;
use graphweft::{
    AnswerError, BuildError, CancelError, DeleteError, ForkError, RetryError, RunError, RunStatus, SignalError,
};
use graphweft_inspector::Problem;
use serde_json::{Value, json};

use crate::status::word;

/// Why a command was not carried out.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CliError {
    #[error("there is no file `{}`", path.display())]
    NoStore { path: PathBuf },
    #[cfg(not(feature = "postgres"))]
    #[error(
        "this `graphweft` reads files only; `cargo install graphweft-cli --features postgres` makes one for PostgreSQL"
    )]
    NoPostgres,
    #[error("`{}` is an empty file, and no database of runs", path.display())]
    EmptyStore { path: PathBuf },
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
        "`{command}` needs the code of the workflows, and a store has none; call `graphweft_cli::main(engine)` in the program \
         that has it"
    )]
    NeedsCode { command: &'static str },
    #[error(
        "no living process has workflow `{workflow}`, which checks the answer; start its program, so that it resumes the run, \
         and answer again"
    )]
    NoProcess { workflow: String },
    #[error("run `{run}` has not ended; wait for it, or cancel it first")]
    NotFailed { run: String },
    #[error("run `{run}` has already ended: {}; nothing was cancelled", word(*.status))]
    RunOver { run: String, status: RunStatus },
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
    #[error("cannot serve at port {port} of 127.0.0.1: {source}; choose another with `--port`, 0 for any")]
    Bind { port: u16, source: io::Error },
    #[error("cannot serve: {0}")]
    Serve(io::Error),
    #[error("the output cannot be written: {0}")]
    Output(io::Error),
    #[error("{done}; but this cannot be written to the output: {source}")]
    DoneUnwritten { done: String, source: io::Error },
}

impl CliError {
    /// For programs, with the codes of the HTTP API: `{"error":{"code":"unknown_run","message":".."}}`, and the field that is wrong.
    pub(crate) fn json(&self) -> Value {
        let (code, field) = self.code();
        let mut error = json!({ "code": code, "message": self.to_string() });
        if let Some(field) = field {
            error["field"] = field.into();
        }
        json!({ "error": error })
    }

    fn code(&self) -> (&'static str, Option<String>) {
        let problem: Problem = match self {
            CliError::Answer(error) => error.clone().into(),
            CliError::Signal(error) => error.clone().into(),
            CliError::Retry(error) => error.clone().into(),
            CliError::Fork(error) => error.clone().into(),
            CliError::Cancel(error) => error.clone().into(),
            CliError::Delete(error) => error.clone().into(),
            CliError::Run(error) => error.clone().into(),
            CliError::Store(error) => error.clone().into(),
            CliError::NoStore { .. } | CliError::EmptyStore { .. } => return ("no_store", None),
            #[cfg(not(feature = "postgres"))]
            CliError::NoPostgres => return ("no_store", None),
            CliError::UnknownRun { .. } => return ("unknown_run", None),
            CliError::UnknownWorkflow { .. } => return ("unknown_workflow", None),
            CliError::NoGraph { .. } => return ("no_graph", None),
            #[cfg(feature = "mcp")]
            CliError::NoWorkflows => return ("not_registered", None),
            CliError::NeedsCode { .. } | CliError::NoProcess { .. } => return ("not_registered", None),
            CliError::NotJson { .. } => return ("invalid_json", None),
            CliError::NotFailed { .. } => return ("not_failed", None),
            CliError::RunOver { .. } => return ("run_over", None),
            CliError::Build(_) => return ("build_failed", None),
            CliError::Bind { .. } | CliError::Serve(_) => return ("not_served", None),
            CliError::Output(_) | CliError::DoneUnwritten { .. } => return ("output_failed", None),
        };
        (problem.code, problem.field)
    }

    pub(crate) fn exit_code(&self) -> ExitCode {
        ExitCode::from(match self {
            CliError::Output(_) | CliError::DoneUnwritten { .. } => 7,
            _ => 1,
        })
    }
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

    /// How it ended is as it is: an output that is closed early, as `head` does it, is no error.
    pub(crate) fn having_printed(self, printed: io::Result<()>) -> Result<Self, CliError> {
        match printed {
            Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(CliError::Output(error)),
            _ => Ok(self),
        }
    }

    /// The same if something has changed: `done`, which the error repeats.
    pub(crate) fn having_done(self, done: &str, printed: io::Result<()>) -> Result<Self, CliError> {
        self.having_printed(printed).map_err(|error| match error {
            CliError::Output(source) => CliError::DoneUnwritten { done: done.to_owned(), source },
            error => error,
        })
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
