//! The HTTP API.

mod actions;
mod conversation;
mod filter;
mod openapi;
mod questions;
mod runs;
mod streams;
mod values;
mod workflows;

use axum::Router;
use axum::http::StatusCode;
use axum::routing::{get, post};

pub use openapi::{document, document_text};

use crate::problem::Problem;
use crate::state::Inspected;

/// The routes below `/api`.
pub(crate) fn routes() -> Router<Inspected> {
    Router::new()
        .route("/openapi.json", get(openapi::openapi))
        .route("/server", get(workflows::server))
        .route("/workflows", get(workflows::list))
        .route("/workflows/{name}", get(workflows::graph))
        .route("/workflows/{name}/pictures/{format}", get(workflows::picture))
        .route("/workflows/{name}/runs", post(actions::start))
        .route("/runs", get(runs::list))
        .route("/counts", get(runs::counts))
        .route("/changes", get(streams::changes))
        .route("/runs/{id}", get(runs::one).delete(actions::delete))
        .route("/runs/{id}/graph", get(runs::graph))
        .route("/graphs/{hash}", get(runs::stored_graph))
        .route("/runs/{id}/signals", get(runs::signals))
        .route("/runs/{id}/view", get(streams::view))
        .route("/runs/{id}/live", get(streams::live))
        .route("/runs/{id}/events", get(streams::events))
        .route("/runs/{id}/values", get(values::values))
        .route("/runs/{id}/conversation", get(conversation::conversation))
        .route("/runs/{id}/questions", get(questions::of_run))
        .route("/runs/{id}/answers/{question}", post(actions::answer))
        .route("/runs/{id}/signals/{name}", post(actions::signal))
        .route("/runs/{id}/cancel", post(actions::cancel))
        .route("/runs/{id}/retry", post(actions::retry))
        .route("/runs/{id}/fork", post(actions::fork))
        .route("/questions", get(questions::list))
        .fallback(no_such_route)
        .method_not_allowed_fallback(no_such_method)
}

/// Also of `/api/`, which is no path of the page.
pub(crate) async fn no_such_route() -> Problem {
    Problem::new(StatusCode::NOT_FOUND, "no_such_route", "there is no such route; `/api/openapi.json` lists them")
}

async fn no_such_method() -> Problem {
    let detail = "this route does not take this method; `/api/openapi.json` lists them";
    Problem::new(StatusCode::METHOD_NOT_ALLOWED, "no_such_method", detail)
}
