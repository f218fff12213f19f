//! A web service: refunds that a person approves. Its runs outlive it: it may be stopped at any moment, and the next
//! process continues them.
//!
//! The pages to it: `docs/guide/deploying.md` and `docs/guide/operating.md`. `cargo run -p approvals`, and then
//!
//! ```sh
//! alias post="curl -H Content-Type:application/json -d"
//! post '{"tenant": "acme", "order": "A-1", "cents": 25000}' localhost:8080/refunds
//! curl -N localhost:8080/runs/refund-A-1/events
//! curl localhost:8080/inbox?tenant=acme
//! post '{"answer": true, "by": "ada"}' localhost:8080/runs/refund-A-1/questions/approve
//! post '{"reference": "TX-9"}' localhost:8080/runs/refund-A-1/signals/settled?id=evt_77
//! curl 'localhost:8080/runs?tenant=acme&status=completed&limit=20'
//! curl -X DELETE localhost:8080/runs/refund-A-1
//! ```
//!
//! <http://localhost:8080/inspector> shows all runs. It has no login here, and so the service listens on this machine only.
//!
//! The runs are in `approvals.db`, or in the file that `APPROVALS_DATABASE` names; or in PostgreSQL, if that is an address such as
//! `postgres://user:password@host/database`, for any number of processes on any machines. `docker compose up --build` starts three with a
//! database. On SIGTERM, and on Ctrl-C, it ends within [`GRACE`], whatever its clients do, and whatever its nodes wait for. With
//! `OTEL_EXPORTER_OTLP_ENDPOINT=http://localhost:4318` it exports its traces. Before the next version is deployed,
//! `cargo run -p approvals --bin approvals-admin check` says which runs it could not continue; `-- --help` says what else there is.
//!
//! | file | |
//! | --- | --- |
//! | `refunds.rs`, `earlier.rs` | the workflow, and the version of it before |
//! | `lib.rs` | the engine |
//! | `api.rs`, `telemetry.rs`, `main.rs` | the service |
//! | `bin/approvals-admin.rs` | the program beside it |
//! | `tests/workflow.rs` | retries, crashes, routes and the upgrade in a lab |
//! | `tests/service` | the service as a process that is stopped and killed, and as three over one PostgreSQL |
//! | `Dockerfile`, `docker-compose.yml` | the service in three containers beside one PostgreSQL |

mod api;
mod telemetry;

use std::io;
use std::process::ExitCode;
use std::time::Duration;

use approvals::Database;
use approvals::refunds::Bank;
use clap::Parser;
use tokio::net::TcpListener;
use tokio::sync::oneshot;

#[derive(Parser)]
struct Arguments {
    #[arg(long, default_value = "127.0.0.1:8080")]
    address: String,
    /// How long the bank takes.
    #[arg(long, default_value_t = 1)]
    bank_seconds: u64,
}

/// How long the service takes to end at most, with [`FLUSH`]: shorter than what its supervisor waits before it sends SIGKILL.
const GRACE: Duration = Duration::from_secs(5);

/// How long the last spans may take to the collector.
const FLUSH: Duration = Duration::from_secs(2);

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
    let traces = telemetry::install()?;
    let bank = Bank::new(Duration::from_secs(arguments.bank_seconds));
    let engine = approvals::engine(&Database::of_environment(), bank).await?;
    for (run, error) in engine.recover().await?.failed {
        tracing::error!(run, %error, "cannot be resumed");
    }
    let listener = TcpListener::bind(&arguments.address).await?;
    println!("listening on http://{}", listener.local_addr()?);

    let inspector = graphweft_inspector::router(engine.clone());
    let (close, closed) = oneshot::channel::<()>();
    let server = axum::serve(listener, api::routes(engine.clone()).nest("/inspector", inspector))
        .with_graceful_shutdown(async { _ = closed.await });
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
        Ok(served) => served??,
        Err(_) => eprintln!("a connection was still open after {} s", GRACE.as_secs()),
    }
    // 4. The last spans are exported.
    if let Err(error) = traces.shutdown_with_timeout(FLUSH) {
        tracing::warn!(%error, "the last spans are lost");
    }
    Ok(())
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
