//! Problems by the errors of the engine.

use axum::http::StatusCode;
use graphweft::store::StoreError;
use graphweft::{
    AnswerError, CancelError, DeleteError, ForkError, RetryError, RunError, SignalError, StartError, WatchError,
};

use super::Problem;

const BAD: StatusCode = StatusCode::UNPROCESSABLE_ENTITY;
const CONFLICT: StatusCode = StatusCode::CONFLICT;
const NOT_FOUND: StatusCode = StatusCode::NOT_FOUND;
const UNAVAILABLE: StatusCode = StatusCode::SERVICE_UNAVAILABLE;
const INTERNAL: StatusCode = StatusCode::INTERNAL_SERVER_ERROR;

impl From<StoreError> for Problem {
    fn from(error: StoreError) -> Self {
        let (status, code) = match &error {
            StoreError::Busy { .. } => (UNAVAILABLE, "store_busy"),
            StoreError::Unreachable { .. } => (UNAVAILABLE, "store_unreachable"),
            StoreError::Unavailable { .. } => (UNAVAILABLE, "store_unavailable"),
            StoreError::ReadOnly { .. } => (CONFLICT, "store_read_only"),
            StoreError::Full { .. } => (StatusCode::INSUFFICIENT_STORAGE, "store_full"),
            StoreError::BadRecord { .. } | StoreError::Corrupt { .. } => (INTERNAL, "store_damaged"),
            _ => (INTERNAL, "store_failed"),
        };
        Problem::new(status, code, error.to_string())
    }
}

impl From<RunError> for Problem {
    fn from(error: RunError) -> Self {
        let (status, code) = match &error {
            RunError::NotFound => (NOT_FOUND, "unknown_run"),
            RunError::NotRegistered { .. } => (CONFLICT, "not_registered"),
            RunError::GraphChanged { .. } | RunError::NoVersionFits { .. } => (CONFLICT, "graph_changed"),
            RunError::RecordMismatch { .. } => (CONFLICT, "record_mismatch"),
            RunError::MissingResources(_) => (CONFLICT, "missing_resources"),
            RunError::MissingState { .. } => (BAD, "missing_state"),
            RunError::ShutDown => (UNAVAILABLE, "shut_down"),
            RunError::Store(error) => return error.clone().into(),
            _ => (INTERNAL, "run_failed"),
        };
        let field = match &error {
            RunError::RecordMismatch { field, .. } => Some(field.clone()),
            _ => None,
        };
        Problem { field, ..Problem::new(status, code, error.to_string()) }
    }
}

impl From<StartError> for Problem {
    fn from(error: StartError) -> Self {
        let detail = error.to_string();
        let bad = |code, field: &str| Problem::new(BAD, code, detail.clone()).at(field);
        match &error {
            StartError::UnknownWorkflow { .. } => Problem::new(NOT_FOUND, "unknown_workflow", detail),
            StartError::InvalidInput { field, .. } => bad("invalid_input", field),
            StartError::InvalidState { key, field, .. } => bad("invalid_state", &below("state", key, field)),
            StartError::MissingState { .. } => bad("missing_state", "state"),
            StartError::InvalidId { .. } | StartError::ReservedId { .. } => bad("invalid_id", "id"),
            StartError::InvalidTag { key, .. } => bad("invalid_tag", &below("tags", key, ".")),
            StartError::NotRecordable { .. } => bad("not_recordable", "."),
            StartError::Deleted { .. } => Problem::new(CONFLICT, "deleted", detail).at("id"),
            StartError::OtherWorkflow { .. } => Problem::new(CONFLICT, "other_workflow", detail).at("id"),
            StartError::OtherInput { .. } => Problem::new(CONFLICT, "other_input", detail).at("id"),
            StartError::MissingResources(_) => Problem::new(CONFLICT, "missing_resources", detail),
            StartError::NotRegistered { .. } | StartError::FlowInStore => {
                Problem::new(CONFLICT, "not_registered", detail)
            }
            StartError::Run(error) => error.clone().into(),
            StartError::ShutDown => RunError::ShutDown.into(),
            StartError::Store(error) => error.clone().into(),
            _ => Problem::new(INTERNAL, "start_failed", detail),
        }
    }
}

/// A field of a value that is an entry of a map of the body.
fn below(map: &str, key: &str, field: &str) -> String {
    match field {
        "." => format!("{map}.{key}"),
        field => format!("{map}.{key}.{field}"),
    }
}

impl From<AnswerError> for Problem {
    fn from(error: AnswerError) -> Self {
        let detail = error.to_string();
        match &error {
            AnswerError::UnknownRun { .. } => Problem::new(NOT_FOUND, "unknown_run", detail),
            AnswerError::UnknownQuestion { .. } => Problem::new(NOT_FOUND, "unknown_question", detail),
            AnswerError::Invalid { field, .. } => Problem::new(BAD, "invalid_answer", detail).at(field),
            AnswerError::Ambiguous { .. } => Problem::new(CONFLICT, "ambiguous_question", detail),
            AnswerError::AlreadyAnswered { .. } => Problem::new(CONFLICT, "already_answered", detail),
            AnswerError::Withdrawn { .. } => Problem::new(CONFLICT, "withdrawn", detail),
            AnswerError::NotRegistered { .. } => Problem::new(CONFLICT, "not_registered", detail),
            // It is recorded. The API responds to it with the same status.
            AnswerError::Unread { .. } => Problem::new(StatusCode::ACCEPTED, "unread", detail),
            AnswerError::Run(RunError::NotRegistered { workflow }) => {
                let detail = format!(
                    "no living process has workflow `{workflow}`, which checks the answer; start its program, so that it \
                     resumes the run, and answer again"
                );
                Problem::new(CONFLICT, "not_registered", detail)
            }
            AnswerError::Run(error) => error.clone().into(),
            AnswerError::Store(error) => error.clone().into(),
            _ => Problem::new(INTERNAL, "answer_failed", detail),
        }
    }
}

impl From<RetryError> for Problem {
    fn from(error: RetryError) -> Self {
        let detail = error.to_string();
        match &error {
            RetryError::UnknownRun { .. } => Problem::new(NOT_FOUND, "unknown_run", detail),
            RetryError::NotFailed { .. } => Problem::new(CONFLICT, "not_failed", detail),
            RetryError::UnknownPath { .. } => Problem::new(BAD, "unknown_path", detail).at("from_nodes"),
            RetryError::InsideChildWorkflow { .. } => {
                Problem::new(BAD, "inside_child_workflow", detail).at("from_nodes")
            }
            // One that has failed needs no workflow: its retry is requested.
            RetryError::Run(RunError::NotRegistered { workflow }) => {
                let detail = format!(
                    "the run has not ended; wait for it, or cancel it first. This server does not have workflow `{workflow}`"
                );
                Problem::new(CONFLICT, "not_failed", detail)
            }
            RetryError::Run(error) => error.clone().into(),
            RetryError::Store(error) => error.clone().into(),
            _ => Problem::new(INTERNAL, "retry_failed", detail),
        }
    }
}

impl From<ForkError> for Problem {
    fn from(error: ForkError) -> Self {
        let detail = error.to_string();
        match &error {
            ForkError::UnknownRun { .. } => Problem::new(NOT_FOUND, "unknown_run", detail),
            ForkError::NoSuchEvent { .. } => Problem::new(BAD, "no_such_event", detail).at("before"),
            ForkError::InvalidId { .. } | ForkError::ReservedId { .. } => {
                Problem::new(BAD, "invalid_id", detail).at("id")
            }
            ForkError::NotBegun { .. } => Problem::new(CONFLICT, "fork_not_begun", detail),
            ForkError::IdTaken { .. } => Problem::new(CONFLICT, "id_taken", detail).at("id"),
            ForkError::Run(error) => error.clone().into(),
            ForkError::Store(error) => error.clone().into(),
            _ => Problem::new(INTERNAL, "fork_failed", detail),
        }
    }
}

impl From<SignalError> for Problem {
    fn from(error: SignalError) -> Self {
        let detail = error.to_string();
        match &error {
            SignalError::UnknownRun { .. } => Problem::new(NOT_FOUND, "unknown_run", detail),
            SignalError::RunOver { .. } => Problem::new(CONFLICT, "run_over", detail),
            SignalError::InvalidLength { what, .. } => {
                Problem::new(BAD, "invalid_length", detail).at(if *what == "sender" { "by" } else { what })
            }
            SignalError::NotRegistered { .. } => Problem::new(CONFLICT, "not_registered", detail),
            SignalError::Invalid { field, .. } => Problem::new(BAD, "invalid_payload", detail).at(field),
            SignalError::NotRecordable { .. } => Problem::new(BAD, "not_recordable", detail).at("."),
            SignalError::Store(error) => error.clone().into(),
            _ => Problem::new(INTERNAL, "signal_failed", detail),
        }
    }
}

impl From<CancelError> for Problem {
    fn from(error: CancelError) -> Self {
        let detail = error.to_string();
        match &error {
            CancelError::UnknownRun { .. } => Problem::new(NOT_FOUND, "unknown_run", detail),
            CancelError::Store(error) => error.clone().into(),
            _ => Problem::new(INTERNAL, "cancel_failed", detail),
        }
    }
}

impl From<DeleteError> for Problem {
    fn from(error: DeleteError) -> Self {
        let detail = error.to_string();
        match &error {
            DeleteError::UnknownRun { .. } => Problem::new(NOT_FOUND, "unknown_run", detail),
            DeleteError::NotOver { .. } => Problem::new(CONFLICT, "not_over", detail),
            DeleteError::Store(error) => error.clone().into(),
            _ => Problem::new(INTERNAL, "delete_failed", detail),
        }
    }
}

impl From<WatchError> for Problem {
    fn from(error: WatchError) -> Self {
        let detail = error.to_string();
        match &error {
            WatchError::UnknownCursor { .. } => Problem::new(CONFLICT, "unknown_cursor", detail).at("after"),
            WatchError::Store(error) => error.clone().into(),
            _ => Problem::new(INTERNAL, "watch_failed", detail),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_workflow_that_is_not_registered_has_one_code() {
        let (run, workflow) = ("refund-42".to_owned(), "refund".to_owned());
        let problems: [Problem; 3] = [
            RunError::NotRegistered { workflow: workflow.clone() }.into(),
            AnswerError::NotRegistered { run: run.clone(), workflow: workflow.clone() }.into(),
            SignalError::NotRegistered { run, workflow, signal: "paid".to_owned() }.into(),
        ];
        for problem in problems {
            assert_eq!((problem.status, problem.code), (CONFLICT.as_u16(), "not_registered"), "{}", problem.detail);
        }
    }
}
