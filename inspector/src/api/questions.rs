//! Open questions.

use axum::Json;
use axum::extract::State;

use super::{filter, runs};
use crate::extract::{Asked, At};
use crate::model::{AskedQuestion, Question, Questions};
use crate::problem::Problem;
use crate::state::Inspected;

/// The open questions of all runs, the one that has been open for the longest time first, a page at a time.
#[utoipa::path(
    get, path = "/api/questions", tag = "questions", operation_id = "list_questions",
    params(
        ("workflow" = Option<Vec<String>>, Query, style = Form, explode = false, description = "Of runs of one of these workflows"),
        ("tag" = Option<Vec<String>>, Query, description = "Of runs with all of these tags, each `key=value`; may be repeated"),
        ("id_prefix" = Option<String>, Query, description = "Of runs whose ids begin with this"),
        ("name" = Option<String>, Query, description = "With this name, whatever the key"),
        ("limit" = Option<u64>, Query, minimum = 1, maximum = 500, description = "How many; 50 without it"),
        ("cursor" = Option<String>, Query, description = "`next` of the page before"),
    ),
    responses((status = 200, body = Questions), (status = "default", body = Problem, content_type = "application/problem+json"))
)]
pub(super) async fn list(State(inspected): State<Inspected>, mut asked: Asked) -> Result<Json<Questions>, Problem> {
    let filter = filter::questions(&mut asked)?;
    asked.end()?;
    let limit = filter.limit;
    let mut pending = inspected.engine.questions(filter.limit(limit + 1)).await?;
    let is_last = pending.len() <= limit;
    pending.truncate(limit);
    let next = pending.last().filter(|_| !is_last).and_then(|last| filter::cursor(&last.place));
    Ok(Json(Questions { questions: pending.into_iter().map(AskedQuestion::from).collect(), next }))
}

/// The open questions of a run.
#[utoipa::path(
    get, path = "/api/runs/{id}/questions", tag = "questions", operation_id = "list_questions_of_run",
    params(("id" = String, Path, description = "The id of the run")),
    responses(
        (status = 200, body = Vec<Question>),
        (status = "default", body = Problem, content_type = "application/problem+json"),
    )
)]
pub(super) async fn of_run(
    State(inspected): State<Inspected>,
    At(id): At<String>,
) -> Result<Json<Vec<Question>>, Problem> {
    let questions = runs::found(&inspected, &id).await?.questions().await?;
    Ok(Json(questions.into_iter().map(Question::from).collect()))
}
