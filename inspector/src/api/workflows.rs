//! Registered workflows, and what this server is.

use std::time::SystemTime;

use axum::Json;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};

use crate::extract::At;
use crate::model::{Graphs, Server, Workflow, Workflows, millis};
use crate::problem::{Problem, shown};
use crate::state::Inspected;

/// What this server is and lets do.
#[utoipa::path(get, path = "/api/server", tag = "server", operation_id = "get_server", responses((status = 200, body = Server)))]
pub(super) async fn server(State(inspected): State<Inspected>) -> Json<Server> {
    Json(Server {
        version: env!("CARGO_PKG_VERSION"),
        read_only: inspected.read_only,
        needs_token: inspected.token.is_some(),
        now: millis(SystemTime::now()),
    })
}

/// The workflows that are registered with this server. A server on a bare store has none.
#[utoipa::path(
    get, path = "/api/workflows", tag = "workflows", operation_id = "list_workflows",
    responses((status = 200, body = Workflows))
)]
pub(super) async fn list(State(inspected): State<Inspected>) -> Json<Workflows> {
    let engine = &inspected.engine;
    let workflow = |name: &str| {
        let graphs = engine.graph(name)?;
        // Without START and END.
        let nodes = graphs.graph.nodes.len().saturating_sub(2);
        Some(Workflow { name: name.to_owned(), doc: graphs.graph.doc, nodes })
    };
    let mut workflows: Vec<Workflow> = engine.workflows().filter_map(workflow).collect();
    workflows.sort_by(|one, other| one.name.cmp(&other.name));
    Json(Workflows { workflows })
}

fn registered(inspected: &Inspected, name: &str) -> Result<graphweft::Graphs, Problem> {
    inspected.engine.graph(name).ok_or_else(|| {
        let detail = format!("workflow `{}` is not registered with this server", shown(name));
        Problem::new(StatusCode::NOT_FOUND, "unknown_workflow", detail)
    })
}

/// A registered workflow: its graph and its schemas, and those of the workflows in it.
#[utoipa::path(
    get, path = "/api/workflows/{name}", tag = "workflows", operation_id = "get_workflow",
    params(("name" = String, Path, description = "The name of the workflow")),
    responses((status = 200, body = Graphs), (status = "default", body = Problem, content_type = "application/problem+json"))
)]
pub(super) async fn graph(State(inspected): State<Inspected>, At(name): At<String>) -> Result<Response, Problem> {
    Ok(Json(registered(&inspected, &name)?).into_response())
}

/// A picture of a registered workflow as text.
#[utoipa::path(
    get, path = "/api/workflows/{name}/pictures/{format}", tag = "workflows", operation_id = "get_picture",
    params(
        ("name" = String, Path, description = "The name of the workflow"),
        ("format" = String, Path, description = "`mermaid` or `dot`"),
    ),
    responses(
        (status = 200, body = String, content_type = "text/plain"),
        (status = "default", body = Problem, content_type = "application/problem+json"),
    )
)]
pub(super) async fn picture(
    State(inspected): State<Inspected>,
    At((name, format)): At<(String, String)>,
) -> Result<Response, Problem> {
    let graph = registered(&inspected, &name)?.graph;
    let text = match format.as_str() {
        "mermaid" => graph.to_mermaid(),
        "dot" => graph.to_dot(),
        _ => {
            let detail = format!("there is no format `{}`: `mermaid` or `dot`", shown(&format));
            return Err(Problem::new(StatusCode::NOT_FOUND, "unknown_format", detail).at("format"));
        }
    };
    Ok(([(header::CONTENT_TYPE, "text/plain; charset=utf-8")], text).into_response())
}
