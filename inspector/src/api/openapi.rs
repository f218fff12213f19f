//! The document of the API.

use axum::http::header;
use axum::response::{IntoResponse, Response};
use utoipa::OpenApi;
use utoipa::openapi::{RefOr, Schema};

use super::{actions, conversation, questions, runs, streams, values, workflows};
use crate::view::{Kind, State};

/// See [`document`].
#[derive(OpenApi)]
#[openapi(
    info(
        title = "graphweft inspector",
        description = "See and steer the runs of a store.\n\n\
            Ids, paths and names in URLs are percent-encoded as a whole (`/` as `%2F`). Times are milliseconds since 1970. What is \
            refused is a problem (RFC 9457) with a `code`, and the `field` that is wrong.\n\n\
            A request that changes something has the header `Content-Type: application/json`, also without a body, and, if \
            `GET /api/server` says so, `X-Graphweft-Token` with the token that the page was served with: \
            `<meta name=\"graphweft-token\" content=\"..\">`. Where the routes are mounted, with `/` at its end, is in its \
            `<meta name=\"graphweft-mount\" content=\"..\">`: `api/runs` is below that."
    ),
    paths(
        workflows::server,
        workflows::list,
        workflows::graph,
        workflows::picture,
        runs::list,
        runs::counts,
        streams::changes,
        runs::one,
        runs::graph,
        runs::stored_graph,
        runs::signals,
        streams::view,
        streams::live,
        streams::events,
        values::values,
        conversation::conversation,
        questions::of_run,
        questions::list,
        actions::start,
        actions::answer,
        actions::signal,
        actions::cancel,
        actions::retry,
        actions::fork,
        actions::delete,
    ),
    components(schemas(State, Kind, crate::model::NodeKind))
)]
struct Document;

/// The OpenAPI document of the API.
///
/// To be merged with that of the app:
///
/// ```
/// let runs = graphweft_inspector::api::document();
/// assert!(runs.paths.paths.keys().any(|path| path.ends_with("/runs/{id}")));
/// assert!(runs.components.is_some_and(|components| components.schemas.contains_key("Run")));
/// ```
pub fn document() -> utoipa::openapi::OpenApi {
    let mut document = Document::openapi();
    let schemas = document.components.iter_mut().flat_map(|components| components.schemas.values_mut());
    for description in schemas.filter_map(description_of) {
        *description = without_examples(description);
    }
    document
}

/// The documentation of a type, whose examples are for those who write Rust.
fn description_of(schema: &mut RefOr<Schema>) -> Option<&mut String> {
    let RefOr::T(schema) = schema else { return None };
    let description = match schema {
        Schema::Object(object) => &mut object.description,
        Schema::Array(array) => &mut array.description,
        Schema::OneOf(one) => &mut one.description,
        Schema::AllOf(all) => &mut all.description,
        Schema::AnyOf(any) => &mut any.description,
        _ => return None,
    };
    description.as_mut()
}

/// Without code, and without the paragraphs that end in a colon because of it.
fn without_examples(text: &str) -> String {
    let mut kept: Vec<&str> = Vec::new();
    let mut is_code = false;
    for line in text.lines() {
        if line.starts_with("```") {
            is_code = !is_code;
            while is_code && kept.pop_if(|line| line.is_empty()).is_some() {}
            if is_code && kept.last().is_some_and(|line| line.ends_with(':')) {
                while kept.pop_if(|line| !line.is_empty()).is_some() {}
            }
        } else if !(is_code || line.is_empty() && kept.last().is_none_or(|last| last.is_empty())) {
            kept.push(line);
        }
    }
    kept.join("\n").trim().to_owned()
}

/// The same as JSON text, as it is in the repository.
///
/// What a generator of clients reads:
///
/// ```
/// let text = graphweft_inspector::api::document_text();
/// let document: graphweft::Json = serde_json::from_str(&text)?;
/// assert!(document["components"]["schemas"]["Run"]["properties"].is_object());
/// # Ok::<(), serde_json::Error>(())
/// ```
pub fn document_text() -> String {
    let mut text = document().to_pretty_json().unwrap_or_default();
    text.push('\n');
    text
}

pub(super) async fn openapi() -> Response {
    ([(header::CONTENT_TYPE, "application/json")], document_text()).into_response()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_description_has_no_code_and_no_sentence_that_leads_to_it() {
        let text = "What it is.\nIn two lines.\n\nSo it is read:\n\n```\nlet a = 1;\n\nlet b = 2;\n```\n\nAnd more.\n\n```text\nx\n```";
        assert_eq!(without_examples(text), "What it is.\nIn two lines.\n\nAnd more.");
        let document = document_text();
        assert!(!document.contains("```") && document.contains("\"description\""));
    }
}
