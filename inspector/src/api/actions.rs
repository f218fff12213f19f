//! What changes something.

use std::time::Duration;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use graphweft::{AnswerError, Signalled as HowSignalled};

use super::runs;
use crate::extract::{At, Sent};
use crate::model::{Answer, Answered, Cancellation, Empty, Fork, Retry, Signal, Signalled, StartRun, Started};
use crate::problem::Problem;
use crate::state::Inspected;

/// Starts a run of a registered workflow. Its input is checked, and the problem names the field.
#[utoipa::path(
    post, path = "/api/workflows/{name}/runs", tag = "actions", operation_id = "start_run", request_body = StartRun,
    params(("name" = String, Path, description = "The name of the workflow")),
    responses((status = 201, body = Started), (status = "default", body = Problem, content_type = "application/problem+json"))
)]
pub(super) async fn start(
    State(inspected): State<Inspected>,
    At(name): At<String>,
    Sent(asked): Sent<StartRun>,
) -> Result<Response, Problem> {
    let mut start = inspected.engine.start_json(&name, asked.input);
    for (key, value) in asked.state {
        start = start.state_json(&key, value);
    }
    for (key, value) in asked.tags {
        start = start.tag(key, value);
    }
    if let Some(id) = asked.id {
        start = start.id(id);
    }
    if let Some(millis) = asked.after {
        start = start.after(Duration::from_millis(millis));
    }
    let run = start.await?.id().to_owned();
    Ok((StatusCode::CREATED, Json(Started { run })).into_response())
}

/// Answers a question. An answer that does not have the type that was asked for is refused, and the problem names the field.
#[utoipa::path(
    post, path = "/api/runs/{id}/answers/{question}", tag = "actions", operation_id = "answer", request_body = Answer,
    params(
        ("id" = String, Path, description = "The id of the run"),
        ("question" = String, Path, description = "The id of the question, percent-encoded as a whole, or its name"),
    ),
    responses(
        (status = 200, description = "It is accepted", body = Answered),
        (status = 202, description = "It is recorded, and may still be rejected", body = Answered),
        (status = "default", body = Problem, content_type = "application/problem+json"),
    )
)]
pub(super) async fn answer(
    State(inspected): State<Inspected>,
    At((id, question)): At<(String, String)>,
    Sent(given): Sent<Answer>,
) -> Result<Response, Problem> {
    let mut answering = inspected.engine.answer(&id, &question, given.answer);
    if let Some(who) = given.by {
        answering = answering.by(who);
    }
    if let Some(comment) = given.comment {
        answering = answering.comment(comment);
    }
    match answering.await {
        Ok(()) => Ok(Json(Answered { accepted: true }).into_response()),
        Err(AnswerError::Unread { .. }) => {
            Ok((StatusCode::ACCEPTED, Json(Answered { accepted: false })).into_response())
        }
        Err(error) => Err(error.into()),
    }
}

/// Sends a signal to a run.
#[utoipa::path(
    post, path = "/api/runs/{id}/signals/{name}", tag = "actions", operation_id = "signal", request_body = Signal,
    params(
        ("id" = String, Path, description = "The id of the run"),
        ("name" = String, Path, description = "The name of the signal"),
    ),
    responses((status = 200, body = Signalled), (status = "default", body = Problem, content_type = "application/problem+json"))
)]
pub(super) async fn signal(
    State(inspected): State<Inspected>,
    At((id, name)): At<(String, String)>,
    Sent(sent): Sent<Signal>,
) -> Result<Json<Signalled>, Problem> {
    let mut signalling = inspected.engine.signal_json(&id, name, sent.payload);
    if let Some(id) = sent.id {
        signalling = signalling.id(id);
    }
    if let Some(who) = sent.by {
        signalling = signalling.by(who);
    }
    Ok(Json(Signalled { duplicate: signalling.await? == HowSignalled::Duplicate }))
}

/// Cancels a run. It ends when its nodes have stopped. A run that has ended does not change, and the response says how it has ended.
#[utoipa::path(
    post, path = "/api/runs/{id}/cancel", tag = "actions", operation_id = "cancel_run", request_body = Empty,
    params(("id" = String, Path, description = "The id of the run")),
    responses(
        (status = 200, description = "The run has ended: it is cancelled, or had ended before and has not changed", body = Cancellation),
        (status = 202, description = "Cancellation is requested", body = Cancellation),
        (status = "default", body = Problem, content_type = "application/problem+json"),
    )
)]
pub(super) async fn cancel(
    State(inspected): State<Inspected>,
    At(id): At<String>,
    Sent(Empty {}): Sent<Empty>,
) -> Result<Response, Problem> {
    let run = runs::found(&inspected, &id).await?;
    run.cancel().await?;
    let last = run.last().await?;
    let status = last.status().await?;
    let code = if status.is_over() { StatusCode::OK } else { StatusCode::ACCEPTED };
    Ok((code, Json(Cancellation { run: last.id().to_owned(), status })).into_response())
}

/// Retries a run that has failed or was cancelled. Recorded results are reused.
#[utoipa::path(
    post, path = "/api/runs/{id}/retry", tag = "actions", operation_id = "retry_run", request_body = Retry,
    params(("id" = String, Path, description = "The id of the run")),
    responses((status = 202, body = Started), (status = "default", body = Problem, content_type = "application/problem+json"))
)]
pub(super) async fn retry(
    State(inspected): State<Inspected>,
    At(id): At<String>,
    Sent(asked): Sent<Retry>,
) -> Result<Response, Problem> {
    let mut retry = inspected.engine.retry(&id);
    for path in asked.from_nodes {
        retry = retry.from_node(path);
    }
    for path in asked.rerun {
        retry = retry.rerun(path);
    }
    let run = retry.await?.id().to_owned();
    Ok((StatusCode::ACCEPTED, Json(Started { run })).into_response())
}

/// Starts a new run with the events of this one before a moment. This run does not change. Without the workflow the fork is requested: a
/// process that has it carries it out.
#[utoipa::path(
    post, path = "/api/runs/{id}/fork", tag = "actions", operation_id = "fork_run", request_body = Fork,
    params(("id" = String, Path, description = "The id of the run")),
    responses((status = 201, body = Started), (status = "default", body = Problem, content_type = "application/problem+json"))
)]
pub(super) async fn fork(
    State(inspected): State<Inspected>,
    At(id): At<String>,
    Sent(asked): Sent<Fork>,
) -> Result<Response, Problem> {
    let mut fork = inspected.engine.fork(&id);
    if let Some(before) = asked.before {
        fork = fork.before(before);
    }
    if let Some(id) = asked.id {
        fork = fork.id(id);
    }
    let run = fork.await?.id().to_owned();
    Ok((StatusCode::CREATED, Json(Started { run })).into_response())
}

/// Deletes a run that has ended.
#[utoipa::path(
    delete, path = "/api/runs/{id}", tag = "actions", operation_id = "delete_run",
    params(("id" = String, Path, description = "The id of the run")),
    responses(
        (status = 204, description = "It is deleted"),
        (status = "default", body = Problem, content_type = "application/problem+json"),
    )
)]
pub(super) async fn delete(State(inspected): State<Inspected>, At(id): At<String>) -> Result<StatusCode, Problem> {
    inspected.engine.delete_run(&id).await?;
    Ok(StatusCode::NO_CONTENT)
}
