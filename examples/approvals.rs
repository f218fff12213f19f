//! A web service: refunds that a person approves. Its runs outlive it: it may be stopped at any moment, and the next
//! process continues them.
//!
//! `cargo run --example approvals`, and then
//!
//! ```sh
//! curl -d '{"order": "A-1", "cents": 25000}' -H 'Content-Type: application/json' localhost:8080/refunds
//! curl -N localhost:8080/runs/refund-A-1/events
//! curl -d 'true' -H 'Content-Type: application/json' localhost:8080/runs/refund-A-1/questions/approve
//! ```
//!
//! On SIGTERM, and on Ctrl-C, it ends within [`GRACE`], whatever its clients do, and whatever its nodes wait for.

use std::convert::Infallible;
use std::io;
use std::process::ExitCode;
use std::time::Duration;

use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use clap::Parser;
use futures::{Stream, StreamExt};
use graphweft::prelude::*;
use graphweft::store::SqliteStore;
use graphweft::{AnswerError, RunError, StartError};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::oneshot;

#[derive(Parser)]
struct Arguments {
    #[arg(long, default_value = "127.0.0.1:8080")]
    address: String,
    #[arg(long, default_value = "approvals.db")]
    database: String,
    /// How long the bank takes.
    #[arg(long, default_value_t = 1)]
    bank_seconds: u64,
}

#[value]
struct Refund {
    order: String,
    cents: u32,
}

#[value]
#[derive(Route)]
enum Decision {
    Approved(Refund),
    Declined(Refund),
}

/// What a person has to approve.
const LARGE: u32 = 10_000;

#[node]
async fn decide(refund: Refund, ctx: &Context) -> Decision {
    let is_approved = refund.cents < LARGE || ctx.ask::<bool>("approve", "Pay this back?").payload(&refund).await;
    if is_approved { Decision::Approved(refund) } else { Decision::Declined(refund) }
}

/// Stands in for the client of a bank.
struct Bank {
    takes: Duration,
}

impl Bank {
    async fn transfer(&self, key: &str, refund: &Refund) -> String {
        tokio::time::sleep(self.takes).await;
        format!("paid back {} cents for {}, as {key}", refund.cents, refund.order)
    }
}

/// If the process is stopped meanwhile, the next one calls the bank again. The key is the same then, so a bank that
/// deduplicates by it pays once.
#[node]
async fn pay(refund: Refund, ctx: &Context, #[resource] bank: &Bank) -> String {
    bank.transfer(&ctx.idempotency_key(), &refund).await
}

#[node]
async fn decline(refund: Refund) -> String {
    format!("nothing is paid back for {}", refund.order)
}

workflow! {
    /// Small refunds are paid at once, large ones when a person has approved them.
    refund(Refund) -> String {
        START => decide => <approved: pay, declined: decline>;
    }
}

fn routes(engine: Engine) -> Router {
    Router::new()
        .route("/refunds", post(start))
        .route("/runs/{run}/events", get(events))
        .route("/runs/{run}/questions", get(questions))
        .route("/runs/{run}/questions/{question}", post(answer))
        .with_state(engine)
}

/// One run for an order: a client that sends its request again, since it has not seen the response, starts nothing.
async fn start(State(engine): State<Engine>, Json(refund): Json<Refund>) -> Result<Response, Problem> {
    let id = format!("refund-{}", refund.order);
    let run = engine.start::<refund>(refund).id(id).await?;
    Ok((StatusCode::CREATED, Json(json!({ "run": run.id() }))).into_response())
}

/// The events of a run as they come. The stream ends with the run, and when the service stops: then a browser's
/// `EventSource` comes back with the id of the last event that it has seen, to whichever process is there.
async fn events(
    State(engine): State<Engine>,
    Path(run): Path<String>,
    headers: HeaderMap,
) -> Result<Sse<impl Stream<Item = Result<Event, Infallible>>>, Problem> {
    let run = engine.get_run(&run).await?.ok_or_else(|| Problem::not_found(&run))?;
    let seen = headers.get("Last-Event-ID").and_then(|id| id.to_str().ok()?.parse().ok());
    let events = seen.map_or_else(|| run.events(), |seen| run.events_after(seen));
    let sent = events.map(|event| {
        let message = Event::default().id(event.position().to_string()).json_data(&event);
        Ok(message.unwrap_or_else(|error| Event::default().comment(error.to_string())))
    });
    Ok(Sse::new(sent).keep_alive(KeepAlive::default()))
}

async fn questions(State(engine): State<Engine>, Path(run): Path<String>) -> Result<Response, Problem> {
    let run = engine.get_run(&run).await?.ok_or_else(|| Problem::not_found(&run))?;
    Ok(Json(run.questions().await?).into_response())
}

async fn answer(
    State(engine): State<Engine>,
    Path((run, question)): Path<(String, String)>,
    Json(answer): Json<Value>,
) -> Result<StatusCode, Problem> {
    engine.answer(&run, &question, answer).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Why a request is refused.
struct Problem(StatusCode, String);

impl Problem {
    fn not_found(run: &str) -> Self {
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
            StartError::OtherInput { .. } | StartError::OtherWorkflow { .. } => StatusCode::CONFLICT,
            StartError::InvalidId { .. } | StartError::NotRecordable { .. } => StatusCode::UNPROCESSABLE_ENTITY,
            StartError::Run(RunError::ShutDown) => StatusCode::SERVICE_UNAVAILABLE,
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
            AnswerError::Run(RunError::ShutDown) => StatusCode::SERVICE_UNAVAILABLE,
            _ => StatusCode::INTERNAL_SERVER_ERROR,
        };
        Problem(status, error.to_string())
    }
}

impl From<graphweft::store::StoreError> for Problem {
    fn from(error: graphweft::store::StoreError) -> Self {
        Problem(StatusCode::INTERNAL_SERVER_ERROR, error.to_string())
    }
}

/// How long the service takes to end at most: shorter than what its supervisor waits before it sends SIGKILL.
const GRACE: Duration = Duration::from_secs(5);

#[tokio::main]
async fn main() -> ExitCode {
    match serve(Arguments::parse()).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

async fn serve(arguments: Arguments) -> Result<(), Box<dyn std::error::Error>> {
    // Before anything else: from here on a signal does not kill the process.
    let stop = stop_signal()?;
    let store = SqliteStore::open(&arguments.database).await?;
    let bank = Bank { takes: Duration::from_secs(arguments.bank_seconds) };
    let engine = Engine::builder().store(store).resource(bank).register::<refund>().build()?;
    for (run, error) in engine.recover().await?.failed {
        eprintln!("run {run} cannot be resumed: {error}");
    }
    let listener = TcpListener::bind(&arguments.address).await?;
    println!("listening on http://{}", listener.local_addr()?);

    let (close, closed) = oneshot::channel::<()>();
    let server = axum::serve(listener, routes(engine.clone())).with_graceful_shutdown(async { _ = closed.await });
    let server = tokio::spawn(server.into_future());
    stop.await;
    let stopped = tokio::time::timeout(GRACE, async {
        // 1. No new connection is accepted; those that are open may finish their response.
        drop(close);
        // 2. The runs are released, and all streams of events end. Without this, 3. waits for every client that listens.
        engine.shutdown().await;
        // 3. The last response is sent.
        server.await
    });
    match stopped.await {
        Ok(served) => Ok(served??),
        Err(_) => {
            eprintln!("a connection was still open after {} s", GRACE.as_secs());
            Ok(())
        }
    }
}

#[cfg(unix)]
fn stop_signal() -> io::Result<impl Future<Output = ()>> {
    use tokio::signal::unix::{SignalKind, signal};

    let (mut terminate, mut interrupt) = (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
    Ok(async move {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
    })
}

#[cfg(not(unix))]
fn stop_signal() -> io::Result<impl Future<Output = ()>> {
    Ok(async { _ = tokio::signal::ctrl_c().await })
}
