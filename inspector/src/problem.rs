//! Why a request is refused, as problem JSON (RFC 9457).

mod errors;

use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use utoipa::ToSchema;

/// Why a request is refused: the JSON of RFC 9457, with the field that is wrong.
///
/// A route of the app, beside those of the inspector, refuses in the same form:
///
/// ```
/// use axum::response::IntoResponse;
/// use graphweft_inspector::Problem;
///
/// let closed = Problem {
///     kind: "urn:shop:closed".into(),
///     title: "closed".into(),
///     status: 503,
///     detail: "the shop is closed; order again tomorrow".into(),
///     code: "closed",
///     field: None,
/// };
/// assert_eq!(serde_json::to_value(&closed)?["code"], "closed");
/// assert_eq!(closed.into_response().headers()["content-type"], "application/problem+json");
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct Problem {
    /// `urn:graphweft:` and the code.
    #[serde(rename = "type")]
    pub kind: String,
    /// The code in words.
    pub title: String,
    /// The status of the response.
    pub status: u16,
    /// What is wrong, and what to do.
    pub detail: String,
    /// Which kind of problem it is, for programs: `unknown_run`, `invalid_input`.
    pub code: &'static str,
    /// Where in the value that was sent: `lines[2].price`; `.` for the whole. For a problem with the request itself, the name
    /// of the parameter.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub field: Option<String>,
}

impl Problem {
    pub(crate) fn new(status: StatusCode, code: &'static str, detail: impl Into<String>) -> Self {
        Problem {
            kind: format!("urn:graphweft:{code}"),
            title: code.replace('_', " "),
            status: status.as_u16(),
            detail: detail.into(),
            code,
            field: None,
        }
    }

    pub(crate) fn at(mut self, field: impl Into<String>) -> Self {
        self.field = Some(field.into());
        self
    }

    pub(crate) fn unknown_run(run: &str) -> Self {
        Problem::new(StatusCode::NOT_FOUND, "unknown_run", format!("there is no run `{}`", shown(run)))
    }

    pub(crate) fn parameter(name: &str, detail: impl Into<String>) -> Self {
        Problem::new(StatusCode::BAD_REQUEST, "invalid_parameter", detail).at(name)
    }
}

/// What was sent, in a message: cut where it is long.
pub(crate) fn shown(text: &str) -> String {
    match text.char_indices().nth(200) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let status = StatusCode::from_u16(self.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let body = serde_json::to_vec(&self).unwrap_or_default();
        let mut response = (status, [(header::CONTENT_TYPE, "application/problem+json")], body).into_response();
        if status == StatusCode::TOO_MANY_REQUESTS {
            response.headers_mut().insert(header::RETRY_AFTER, header::HeaderValue::from_static("2"));
        }
        response
    }
}
