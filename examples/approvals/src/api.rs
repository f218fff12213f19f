//! The routes. Each error of the engine is a [`Problem`]: a status, and a body that says what to do.

use std::convert::Infallible;
use std::fmt::Display;

use axum::extract::{Path, Query, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use futures::{Stream, StreamExt};
use graphweft::prelude::*;
use graphweft::store::RunKey;
use graphweft::{ParseEventPositionError, QuestionFilter, RunInfo};
use graphweft_inspector::Problem;
use serde::Deserialize;
use serde_json::{Value, json};

use approvals::refunds::{Refund, refund};

pub(crate) fn routes(engine: Engine) -> Router {
    Router::new()
        .route("/refunds", post(start))
        .route("/runs", get(runs))
        .route("/runs/{run}", get(info).delete(delete))
        .route("/runs/{run}/cancel", post(cancel))
        .route("/runs/{run}/events", get(events))
        .route("/runs/{run}/questions", get(questions))
        .route("/runs/{run}/questions/{question}", post(answer))
        .route("/runs/{run}/signals/{signal}", post(signal))
        .route("/inbox", get(inbox))
        .with_state(engine)
}

async fn run(engine: &Engine, id: &str) -> Result<Run<Value>, Problem> {
    Ok(engine.get_run(id).await?.ok_or(RunError::NotFound)?)
}

/// One run for an order: a client that sends its request again, since it has not seen the response, starts nothing. The run is a part of
/// the trace of the client, if it has one.
async fn start(
    State(engine): State<Engine>,
    headers: HeaderMap,
    Json(refund): Json<Refund>,
) -> Result<Response, Problem> {
    let (id, tenant) = (format!("refund-{}", refund.order), refund.tenant.clone());
    let mut starting = engine.start::<refund>(refund).id(id).tag("tenant", tenant);
    if let Some(trace) = headers.get("traceparent").and_then(|trace| trace.to_str().ok()) {
        starting = starting.tag("traceparent", trace);
    }
    let run = starting.await?;
    Ok((StatusCode::CREATED, Json(json!({ "run": run.id() }))).into_response())
}

/// Which runs to list.
#[derive(Deserialize)]
struct Page {
    tenant: Option<String>,
    status: Option<RunStatus>,
    /// `next` of the page before.
    before: Option<RunKey>,
    #[serde(default = "default_limit")]
    limit: usize,
}

fn default_limit() -> usize {
    20
}

/// A page of runs, the newest first, with how many there are on all pages.
async fn runs(State(engine): State<Engine>, Query(page): Query<Page>) -> Result<Response, Problem> {
    let mut filter = RunFilter::default().limit(page.limit.min(100));
    filter.status.extend(page.status);
    if let Some(tenant) = page.tenant {
        filter = filter.tag("tenant", tenant);
    }
    let of = engine.count_runs(filter.clone()).await?;
    filter.before = page.before;
    let runs = engine.list_runs(filter).await?;
    let next = runs.last().map(|last| last.key);
    Ok(Json(json!({ "runs": runs, "of": of, "next": next })).into_response())
}

async fn info(State(engine): State<Engine>, Path(id): Path<String>) -> Result<Json<RunInfo>, Problem> {
    Ok(Json(run(&engine, &id).await?.info().await?))
}

async fn delete(State(engine): State<Engine>, Path(id): Path<String>) -> Result<StatusCode, Problem> {
    engine.delete_run(&id).await?;
    Ok(StatusCode::NO_CONTENT)
}

async fn cancel(State(engine): State<Engine>, Path(id): Path<String>) -> Result<StatusCode, Problem> {
    engine.cancel(&id).await?;
    Ok(StatusCode::ACCEPTED)
}

/// The events of a run as they come. The stream ends with the run, and when the service stops: then a browser's
/// `EventSource` comes back with the id of the last event that it has seen, to whichever process is there.
async fn events(
    State(engine): State<Engine>,
    Path(run): Path<String>,
    headers: HeaderMap,
) -> Result<Sse<impl Stream<Item = Result<Event, Infallible>>>, Response> {
    let run = self::run(&engine, &run).await.map_err(IntoResponse::into_response)?;
    // Events from the beginning would be taken for news.
    let bad = |error: &dyn Display| (StatusCode::BAD_REQUEST, format!("Last-Event-ID: {error}")).into_response();
    let events = match headers.get("Last-Event-ID") {
        Some(id) => {
            let id = id.to_str().map_err(|error| bad(&error))?;
            run.events_after(id.parse().map_err(|error: ParseEventPositionError| bad(&error))?)
        }
        None => run.events(),
    };
    let sent = events.map(|event| {
        let message = Event::default().id(event.position().to_string()).json_data(&event);
        Ok(message.unwrap_or_else(|error| Event::default().comment(error.to_string())))
    });
    Ok(Sse::new(sent).keep_alive(KeepAlive::default()))
}

async fn questions(State(engine): State<Engine>, Path(id): Path<String>) -> Result<Response, Problem> {
    Ok(Json(run(&engine, &id).await?.questions().await?).into_response())
}

/// What all runs of a tenant ask, the oldest question first.
#[derive(Deserialize)]
struct Inbox {
    tenant: Option<String>,
}

async fn inbox(State(engine): State<Engine>, Query(inbox): Query<Inbox>) -> Result<Response, Problem> {
    let mut filter = QuestionFilter::default();
    if let Some(tenant) = inbox.tenant {
        filter = filter.tag("tenant", tenant);
    }
    Ok(Json(engine.questions(filter).await?).into_response())
}

#[derive(Deserialize)]
struct Answer {
    answer: Value,
    by: Option<String>,
    comment: Option<String>,
}

async fn answer(
    State(engine): State<Engine>,
    Path((run, question)): Path<(String, String)>,
    Json(given): Json<Answer>,
) -> Result<StatusCode, Problem> {
    let mut answering = engine.answer(&run, &question, given.answer);
    if let Some(who) = given.by {
        answering = answering.by(who);
    }
    if let Some(comment) = given.comment {
        answering = answering.comment(comment);
    }
    answering.await?;
    Ok(StatusCode::NO_CONTENT)
}

#[derive(Deserialize)]
struct SignalId {
    /// That of the sender, by which a signal that comes twice is counted once.
    id: Option<String>,
}

async fn signal(
    State(engine): State<Engine>,
    Path((run, signal)): Path<(String, String)>,
    Query(SignalId { id }): Query<SignalId>,
    Json(payload): Json<Value>,
) -> Result<Response, Problem> {
    let mut signalling = engine.signal_json(&run, signal, payload);
    if let Some(id) = id {
        signalling = signalling.id(id);
    }
    Ok(Json(json!({ "signal": signalling.await? })).into_response())
}
