//! Reading requests: what is wrong with one is a [`Problem`] that names the field.

use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::extract::{FromRequest, FromRequestParts, Query, RawPathParams, Request};
use axum::http::request::Parts;
use axum::http::{HeaderMap, StatusCode, header};
use serde::de::{DeserializeOwned, IgnoredAny};

use crate::problem::{Problem, shown};
use crate::state::Inspected;

/// How long a body may take to arrive.
const PATIENCE: Duration = Duration::from_secs(20);

/// A body of JSON. Its content type must be `application/json`, also where it is empty: a form of another site cannot send that.
pub(crate) struct Sent<T>(pub(crate) T);

impl<T: DeserializeOwned> FromRequest<Inspected> for Sent<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, state: &Inspected) -> Result<Self, Problem> {
        if !is_json(request.headers()) {
            return Err(Problem::new(
                StatusCode::UNSUPPORTED_MEDIA_TYPE,
                "not_json",
                "send the header `Content-Type: application/json`, also without a body",
            ));
        }
        let bytes = whole(request.into_body(), state.limits.body).await?;
        let text: &[u8] = if bytes.is_empty() { b"{}" } else { &bytes };
        if !is_object(text) {
            let detail = "the body has to be a JSON object, `{..}`, as `/api/openapi.json` describes it";
            return Err(Problem::new(StatusCode::UNPROCESSABLE_ENTITY, "invalid_body", detail).at("."));
        }
        let mut json = serde_json::Deserializer::from_slice(text);
        let read = serde_path_to_error::deserialize(&mut json).map_err(|error| {
            let field = error.path().to_string();
            let inner = error.into_inner();
            match inner.classify() {
                serde_json::error::Category::Data => {
                    Problem::new(StatusCode::UNPROCESSABLE_ENTITY, "invalid_body", format!("invalid body: {inner}"))
                        .at(field)
                }
                _ => Problem::new(StatusCode::BAD_REQUEST, "invalid_json", format!("the body is not JSON: {inner}")),
            }
        })?;
        json.end().map_err(|error| {
            Problem::new(
                StatusCode::BAD_REQUEST,
                "invalid_json",
                format!("the body is more than one JSON value: {error}"),
            )
        })?;
        Ok(Sent(read))
    }
}

/// Whether a text is no other JSON than an object. A list would be read by the order of the fields: `[true]` would be an answer.
fn is_object(text: &[u8]) -> bool {
    text.trim_ascii_start().starts_with(b"{") || serde_json::from_slice::<IgnoredAny>(text).is_err()
}

/// Whether the content type is `application/json`, with any parameters.
pub(crate) fn is_json(headers: &HeaderMap) -> bool {
    let kind = headers.get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    let kind = kind.split(';').next().unwrap_or_default().trim();
    kind.eq_ignore_ascii_case("application/json")
}

/// The whole of a body, if it is not too long and not too slow.
pub(crate) async fn whole(body: Body, limit: usize) -> Result<Bytes, Problem> {
    match tokio::time::timeout(PATIENCE, axum::body::to_bytes(body, limit)).await {
        Ok(Ok(bytes)) => Ok(bytes),
        Ok(Err(_)) => Err(Problem::new(
            StatusCode::PAYLOAD_TOO_LARGE,
            "body_too_large",
            format!("the body has more than {limit} bytes, or was cut off"),
        )),
        Err(_) => Err(Problem::new(
            StatusCode::REQUEST_TIMEOUT,
            "body_too_slow",
            format!("the body has not arrived within {} s", PATIENCE.as_secs()),
        )),
    }
}

/// The parameters in the path of a route here. An app may mount the routes under a path with parameters of its own, which come first
/// and may have the same names.
pub(crate) struct At<T>(pub(crate) T);

/// What [`At`] reads: the last parameters of a path.
pub(crate) trait LastParameters: Sized {
    /// `None` if there are fewer.
    fn read<'p>(last: impl Iterator<Item = &'p str>) -> Option<Self>;
}

impl LastParameters for String {
    fn read<'p>(mut last: impl Iterator<Item = &'p str>) -> Option<Self> {
        last.next().map(str::to_owned)
    }
}

impl LastParameters for (String, String) {
    fn read<'p>(mut last: impl Iterator<Item = &'p str>) -> Option<Self> {
        let second = last.next()?.to_owned();
        Some((last.next()?.to_owned(), second))
    }
}

impl<T: LastParameters> FromRequestParts<Inspected> for At<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &Inspected) -> Result<Self, Problem> {
        let invalid = |why: String| Problem::new(StatusCode::BAD_REQUEST, "invalid_path", why);
        let all = RawPathParams::from_request_parts(parts, state).await.map_err(|error| invalid(error.body_text()))?;
        let all: Vec<&str> = all.iter().map(|(_, value)| value).collect();
        let read = T::read(all.into_iter().rev()).ok_or_else(|| invalid("the path has too few parameters".into()))?;
        Ok(At(read))
    }
}

/// The parameters behind `?`, in their order. Each must be asked for, so that a misspelt one is not ignored.
pub(crate) struct Asked {
    pairs: Vec<(String, String)>,
}

impl FromRequestParts<Inspected> for Asked {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &Inspected) -> Result<Self, Problem> {
        match Query::<Vec<(String, String)>>::from_request_parts(parts, state).await {
            Ok(Query(pairs)) => Ok(Asked { pairs }),
            Err(error) => Err(Problem::new(StatusCode::BAD_REQUEST, "invalid_query", error.body_text())),
        }
    }
}

impl Asked {
    /// All values of a parameter that may be given several times, or once with commas.
    pub(crate) fn list(&mut self, name: &str) -> Vec<String> {
        let all = self.all(name);
        all.iter().flat_map(|text| text.split(',')).filter(|part| !part.is_empty()).map(str::to_owned).collect()
    }

    /// All values of a parameter, as they are.
    pub(crate) fn all(&mut self, name: &str) -> Vec<String> {
        let (found, rest) = std::mem::take(&mut self.pairs).into_iter().partition(|(key, _)| key == name);
        self.pairs = rest;
        let found: Vec<(String, String)> = found;
        found.into_iter().map(|(_, value)| value).collect()
    }

    /// The value of a parameter; empty is as if it were left out.
    pub(crate) fn one(&mut self, name: &str) -> Result<Option<String>, Problem> {
        let mut found = self.all(name);
        if found.len() > 1 {
            return Err(Problem::parameter(name, format!("`{name}` is given {} times", found.len())));
        }
        Ok(found.pop().filter(|value| !value.is_empty()))
    }

    pub(crate) fn parsed<T: std::str::FromStr>(&mut self, name: &str, what: &str) -> Result<Option<T>, Problem> {
        let Some(text) = self.one(name)? else { return Ok(None) };
        let bad = |_| Problem::parameter(name, format!("`{}` is not {what}", shown(&text)));
        text.parse().map(Some).map_err(bad)
    }

    /// # Errors
    /// If a parameter was not asked for.
    pub(crate) fn end(self) -> Result<(), Problem> {
        match self.pairs.first() {
            None => Ok(()),
            Some((name, _)) => Err(Problem::parameter(name, format!("there is no parameter `{}` here", shown(name)))),
        }
    }
}
