//! What was said below one thing of a run.

use axum::Json;
use axum::extract::State;

use super::runs;
use crate::extract::{Asked, At};
use crate::problem::{Problem, shown};
use crate::state::Inspected;
use crate::view::{Conversation, Conversations};

/// The conversation below a node: what models were asked and have replied, and the tools that they have called; with `at`, as it was after
/// that event. For a model call, what was said in it. Which things have one is in the view: a `replied` names a model call, as does an `error` with
/// `model_call`, and what that is in has the conversation. Nothing is said in any other.
#[utoipa::path(
    get, path = "/api/runs/{id}/conversation", tag = "views", operation_id = "get_conversation",
    params(
        ("id" = String, Path, description = "The id of the run"),
        ("path" = String, Query, description = "The path of the node, or of a model call"),
        ("at" = Option<u64>, Query, description = "The number of the last event that counts"),
    ),
    responses((status = 200, body = Conversation), (status = "default", body = Problem, content_type = "application/problem+json"))
)]
pub(super) async fn conversation(
    State(inspected): State<Inspected>,
    At(id): At<String>,
    mut asked: Asked,
) -> Result<Json<Conversation>, Problem> {
    let path = asked.one("path")?.ok_or_else(|| Problem::parameter("path", "`path` is missing"))?;
    let at = asked.parsed("at", "the number of an event")?.unwrap_or(u64::MAX);
    asked.end()?;
    let run = runs::found(&inspected, &id).await?;
    let there = inspected.hub.follow(&run).await?.events_of_conversation(&path, at);
    if there.ranges.is_empty() {
        let detail = format!("run `{}` has no events at `{}`", shown(&id), shown(&path));
        return Err(Problem::new(axum::http::StatusCode::NOT_FOUND, "unknown_path", detail).at("path"));
    }
    let mut conversations = Conversations::default();
    for range in there.ranges {
        for mut event in run.recorded(range).await? {
            there.names.rename(&mut event);
            let is_void = there.voids.iter().any(|void| void.contains(&event.seq));
            if event.seq <= at && !is_void && there.paths.contains(&event.path) {
                conversations.apply(&event);
            }
        }
    }
    // What is said in a model call is a part of the conversation of what it is in.
    let said =
        conversations.all().into_iter().find(|one| one.path == path || path.starts_with(&format!("{}/", one.path)));
    let said = said.map(|one| one.said).unwrap_or_default();
    Ok(Json(Conversation { path, said }))
}
