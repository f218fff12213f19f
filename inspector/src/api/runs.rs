//! Runs, without their events.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};

use super::filter;
use crate::extract::{Asked, At};
use crate::model::{AwaitedSignal, Counts, Graphs, Run, Runs, STATUSES};
use crate::problem::{Problem, shown};
use crate::state::Inspected;

/// A run by its id.
pub(super) async fn found(inspected: &Inspected, id: &str) -> Result<graphweft::Run<serde_json::Value>, Problem> {
    inspected.engine.get_run(id).await?.ok_or_else(|| Problem::unknown_run(id))
}

/// Runs, newest first, a page at a time.
#[utoipa::path(
    get, path = "/api/runs", tag = "runs", operation_id = "list_runs",
    params(
        ("status" = Option<Vec<crate::model::Status>>, Query, style = Form, explode = false, description = "With one of these statuses"),
        ("workflow" = Option<Vec<String>>, Query, style = Form, explode = false, description = "Of one of these workflows"),
        ("tag" = Option<Vec<String>>, Query, description = "With all of these tags, each `key=value`; may be repeated"),
        ("id_prefix" = Option<String>, Query, description = "Whose ids begin with this"),
        ("forked_from" = Option<String>, Query, description = "Forks of this run"),
        ("from" = Option<u64>, Query, description = "Started at this time or later, in milliseconds since 1970"),
        ("until" = Option<u64>, Query, description = "Started before this time"),
        ("order" = Option<String>, Query, description = "`newest` (first), or `oldest`"),
        ("limit" = Option<u64>, Query, minimum = 1, maximum = 500, description = "How many; 50 without it"),
        ("cursor" = Option<String>, Query, description = "`next` of the page before"),
    ),
    responses((status = 200, body = Runs), (status = "default", body = Problem, content_type = "application/problem+json"))
)]
pub(super) async fn list(State(inspected): State<Inspected>, mut asked: Asked) -> Result<Json<Runs>, Problem> {
    let filter = filter::page_of_runs(&mut asked)?;
    asked.end()?;
    let limit = filter.limit;
    // One more, to know whether there is another page.
    let mut infos = inspected.engine.list_runs(filter.limit(limit + 1)).await?;
    let is_last = infos.len() <= limit;
    infos.truncate(limit);
    let next = infos.last().filter(|_| !is_last).map(|info| info.key.get().to_string());
    let run = |info: graphweft::RunInfo| {
        let registered = inspected.is_registered(&info.workflow);
        Run::of(info, registered)
    };
    Ok(Json(Runs { runs: infos.into_iter().map(run).collect(), next }))
}

/// How many runs there are, by status.
#[utoipa::path(
    get, path = "/api/counts", tag = "runs", operation_id = "count_runs",
    params(
        ("workflow" = Option<Vec<String>>, Query, style = Form, explode = false, description = "Of one of these workflows"),
        ("tag" = Option<Vec<String>>, Query, description = "With all of these tags, each `key=value`; may be repeated"),
        ("id_prefix" = Option<String>, Query, description = "Whose ids begin with this"),
        ("forked_from" = Option<String>, Query, description = "Forks of this run"),
        ("from" = Option<u64>, Query, description = "Started at this time or later, in milliseconds since 1970"),
        ("until" = Option<u64>, Query, description = "Started before this time"),
    ),
    responses((status = 200, body = Counts), (status = "default", body = Problem, content_type = "application/problem+json"))
)]
pub(super) async fn counts(State(inspected): State<Inspected>, mut asked: Asked) -> Result<Json<Counts>, Problem> {
    let filter = filter::runs(&mut asked)?;
    asked.end()?;
    let mut counts = Counts::default();
    for status in STATUSES {
        let mut of_status = filter.clone();
        of_status.status = vec![status];
        counts.add(status, inspected.engine.count_runs(of_status).await?);
    }
    Ok(Json(counts))
}

/// A run.
#[utoipa::path(
    get, path = "/api/runs/{id}", tag = "runs", operation_id = "get_run",
    params(("id" = String, Path, description = "The id of the run, percent-encoded")),
    responses((status = 200, body = Run), (status = "default", body = Problem, content_type = "application/problem+json"))
)]
pub(super) async fn one(State(inspected): State<Inspected>, At(id): At<String>) -> Result<Json<Run>, Problem> {
    let run = found(&inspected, &id).await?;
    let registered = inspected.is_registered(run.workflow());
    Ok(Json(Run::of(run.info().await?, registered)))
}

/// The graph under which the last events of a run were recorded, also where its workflow is not registered.
#[utoipa::path(
    get, path = "/api/runs/{id}/graph", tag = "runs", operation_id = "get_run_graph",
    params(("id" = String, Path, description = "The id of the run")),
    responses((status = 200, body = Graphs), (status = "default", body = Problem, content_type = "application/problem+json"))
)]
pub(super) async fn graph(State(inspected): State<Inspected>, At(id): At<String>) -> Result<Response, Problem> {
    found(&inspected, &id).await?;
    match inspected.engine.run_graph(&id).await? {
        Some(graphs) => Ok(Json(graphs).into_response()),
        None => {
            Err(Problem::new(StatusCode::NOT_FOUND, "unknown_graph", format!("the store has no graph of run `{id}`")))
        }
    }
}

/// The graph with this hash, of whichever run. The events and the view of a run have the hashes of the child workflows that its nodes
/// have called.
#[utoipa::path(
    get, path = "/api/graphs/{hash}", tag = "runs", operation_id = "get_graph",
    params(("hash" = String, Path, pattern = "^[0-9a-fA-F]{16}$", description = "The hash, as 16 hexadecimal digits")),
    responses((status = 200, body = Graphs), (status = "default", body = Problem, content_type = "application/problem+json"))
)]
pub(super) async fn stored_graph(
    State(inspected): State<Inspected>,
    At(hash): At<String>,
) -> Result<Response, Problem> {
    let unknown = || {
        let detail = format!("the store has no graph `{}`; a hash has 16 hexadecimal digits", shown(&hash));
        Problem::new(StatusCode::NOT_FOUND, "unknown_graph", detail).at("hash")
    };
    // A sign or fewer digits make a number as well.
    let digits = Some(&hash).filter(|hash| hash.len() == 16 && hash.bytes().all(|digit| digit.is_ascii_hexdigit()));
    let number = digits.and_then(|digits| u64::from_str_radix(digits, 16).ok()).ok_or_else(unknown)?;
    let graphs = inspected.engine.stored_graph(number).await?.ok_or_else(unknown)?;
    Ok(Json(graphs).into_response())
}

/// The signals that nodes of a run wait for, by their names.
#[utoipa::path(
    get, path = "/api/runs/{id}/signals", tag = "runs", operation_id = "list_signals",
    params(("id" = String, Path, description = "The id of the run")),
    responses(
        (status = 200, body = Vec<AwaitedSignal>),
        (status = "default", body = Problem, content_type = "application/problem+json"),
    )
)]
pub(super) async fn signals(
    State(inspected): State<Inspected>,
    At(id): At<String>,
) -> Result<Json<Vec<AwaitedSignal>>, Problem> {
    let awaited = found(&inspected, &id).await?.awaited_signals().await?;
    Ok(Json(awaited.into_iter().map(AwaitedSignal::from).collect()))
}
