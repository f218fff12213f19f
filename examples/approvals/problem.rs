//! Why a request is refused, as HTTP.

use axum::Json;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use graphweft::store::StoreError;
use graphweft::{AnswerError, CancelError, DeleteError, RunError, SignalError, StartError};
use serde_json::json;

/// The status of the response, and what it says.
pub(crate) struct Problem(pub(crate) StatusCode, pub(crate) String);

impl Problem {
    pub(crate) fn not_found(run: &str) -> Self {
        Problem(StatusCode::NOT_FOUND, format!("there is no run `{run}`"))
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        (self.0, Json(json!({ "error": self.1 }))).into_response()
    }
}

impl From<StartError> for Problem {
    fn from(error: StartError) -> Self {
        let status = match &error {
            StartError::OtherInput { .. } | StartError::OtherWorkflow { .. } | StartError::Deleted { .. } => {
                StatusCode::CONFLICT
            }
            StartError::InvalidId { .. } | StartError::NotRecordable { .. } => StatusCode::UNPROCESSABLE_ENTITY,
            StartError::Run(error) => status_of(error),
            _ => StatusCode::INTERNAL_SERVER_ERROR,
        };
        Problem(status, error.to_string())
    }
}

impl From<AnswerError> for Problem {
    fn from(error: AnswerError) -> Self {
        let status = match &error {
            AnswerError::UnknownRun { .. } | AnswerError::UnknownQuestion { .. } => StatusCode::NOT_FOUND,
            AnswerError::Invalid { .. } => StatusCode::UNPROCESSABLE_ENTITY,
            AnswerError::Ambiguous { .. } | AnswerError::AlreadyAnswered { .. } | AnswerError::Withdrawn { .. } => {
                StatusCode::CONFLICT
            }
            // It is recorded; the events will tell what becomes of it.
            AnswerError::Unread { .. } => StatusCode::ACCEPTED,
            AnswerError::Run(error) => status_of(error),
            _ => StatusCode::INTERNAL_SERVER_ERROR,
        };
        Problem(status, error.to_string())
    }
}

impl From<RunError> for Problem {
    fn from(error: RunError) -> Self {
        Problem(status_of(&error), error.to_string())
    }
}

fn status_of(error: &RunError) -> StatusCode {
    match error {
        RunError::NotFound => StatusCode::NOT_FOUND,
        RunError::ShutDown => StatusCode::SERVICE_UNAVAILABLE,
        _ => StatusCode::INTERNAL_SERVER_ERROR,
    }
}

impl From<StoreError> for Problem {
    fn from(error: StoreError) -> Self {
        Problem(StatusCode::INTERNAL_SERVER_ERROR, error.to_string())
    }
}

impl From<CancelError> for Problem {
    fn from(error: CancelError) -> Self {
        let status = match &error {
            CancelError::UnknownRun { .. } => StatusCode::NOT_FOUND,
            _ => StatusCode::INTERNAL_SERVER_ERROR,
        };
        Problem(status, error.to_string())
    }
}

impl From<DeleteError> for Problem {
    fn from(error: DeleteError) -> Self {
        let status = match &error {
            DeleteError::UnknownRun { .. } => StatusCode::NOT_FOUND,
            DeleteError::NotOver { .. } => StatusCode::CONFLICT,
            _ => StatusCode::INTERNAL_SERVER_ERROR,
        };
        Problem(status, error.to_string())
    }
}

impl From<SignalError> for Problem {
    fn from(error: SignalError) -> Self {
        let status = match &error {
            SignalError::UnknownRun { .. } => StatusCode::NOT_FOUND,
            SignalError::RunOver { .. } => StatusCode::CONFLICT,
            SignalError::InvalidLength { .. } | SignalError::NotRecordable { .. } | SignalError::Invalid { .. } => {
                StatusCode::UNPROCESSABLE_ENTITY
            }
            _ => StatusCode::INTERNAL_SERVER_ERROR,
        };
        Problem(status, error.to_string())
    }
}
