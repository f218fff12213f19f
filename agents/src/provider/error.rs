//! The failures of providers, as [`ModelError`]s.

use std::time::{Duration, SystemTime};

use genai::Error;
use genai::resolver::Error as ResolverError;
use graphweft::Json;

use crate::causes::{short, with_causes};
use crate::model_error::ModelError;

/// The status of HTTP that some providers send for "overloaded"; the others of 52x are those of proxies.
const OVERLOADED: u16 = 529;

/// Why genai gave nothing.
pub(super) fn of(error: Error) -> ModelError {
    match error {
        // The status of a streamed call is only in the error within.
        Error::WebStream { error, .. } => match error.downcast::<Error>() {
            Ok(inner) => of(*inner),
            Err(other) => ModelError::Unreachable { message: with_causes(&*other) },
        },
        Error::HttpError { status, body, headers, .. } => {
            let header = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
            by_status(status.as_u16(), &body, delay(header, SystemTime::now()))
        }
        Error::WebModelCall { webc_error, .. } | Error::WebAdapterCall { webc_error, .. } => {
            ModelError::Unreachable { message: with_causes(&webc_error) }
        }
        Error::ChatResponse { body, .. } => in_stream(&body),
        // A connection that ends within an event.
        Error::StreamParse { serde_error, .. } | Error::SerdeJson(serde_error) if serde_error.is_eof() => {
            ModelError::Unreachable { message: format!("the stream ended within an event: {serde_error}") }
        }
        Error::Resolver { resolver_error: ResolverError::ApiKeyEnvNotFound { env_name }, .. } => {
            let message = format!("no key: set `{env_name}` in the environment, or call `GenaiModel::key`");
            ModelError::Unauthorised { message }
        }
        Error::RequiresApiKey { .. } | Error::NoAuthResolver { .. } | Error::NoAuthData { .. } => {
            ModelError::Unauthorised { message: short(&error.to_string()) }
        }
        other => ModelError::Rejected { message: short(&other.to_string()) },
    }
}

/// An error that comes in place of a reply.
fn by_status(status: u16, body: &str, retry_after: Option<Duration>) -> ModelError {
    let json = serde_json::from_str(body).unwrap_or(Json::Null);
    let said = Said::of(&json);
    let text = said.message.unwrap_or(body.trim());
    let message =
        short(&if text.is_empty() { format!("status {status}") } else { format!("{text} (status {status})") });
    if said.is_about(TOO_LONG) || status == 413 {
        return ModelError::TooLong { message };
    }
    if said.is_about(FILTERED) {
        return ModelError::Filtered { message };
    }
    match status {
        // It does not pass by waiting.
        429 if said.is_about(UNPAID) => ModelError::Unauthorised { message },
        429 => ModelError::RateLimited { retry_after, message },
        401..=403 => ModelError::Unauthorised { message },
        408 | 500 | 502..=504 | 520..=OVERLOADED => ModelError::Overloaded { retry_after, message },
        _ => ModelError::Rejected { message },
    }
}

/// An error that comes as an event of the stream, by its type: there is no status.
fn in_stream(body: &Json) -> ModelError {
    let said = Said::of(body);
    let message = short(&said.message.map_or_else(|| body.to_string(), str::to_owned));
    match () {
        () if said.is_about(TOO_LONG) => ModelError::TooLong { message },
        () if said.is_about(FILTERED) => ModelError::Filtered { message },
        () if said.is_about(UNPAID) => ModelError::Unauthorised { message },
        () if said.is_about(&["rate_limit", "resource_exhausted"]) => {
            ModelError::RateLimited { retry_after: None, message }
        }
        () if said.is_about(&["overloaded", "server_error", "api_error", "unavailable", "timeout"]) => {
            ModelError::Overloaded { retry_after: None, message }
        }
        () if said.is_about(&["authentication", "permission"]) => ModelError::Unauthorised { message },
        () => ModelError::Rejected { message },
    }
}

/// How OpenAI, Anthropic, Google and llama.cpp say it.
const TOO_LONG: &[&str] = &[
    "context_length_exceeded",
    "exceed_context_size",
    "request_too_large",
    "maximum context length",
    "available context size",
    "context window",
    "prompt is too long",
    "exceeds the maximum number of tokens",
];
const FILTERED: &[&str] = &["content_filter", "content_policy", "content management policy"];
const UNPAID: &[&str] = &["insufficient_quota", "billing_error", "credit balance"];

/// What the body of an error says: `{"error": {"type", "code", "message"}}`, or what is inside of that.
struct Said<'b> {
    message: Option<&'b str>,
    /// Type, code, status and message, in small letters.
    words: String,
}

impl<'b> Said<'b> {
    fn of(body: &'b Json) -> Self {
        // Some send a list of one.
        let body = body.get(0).unwrap_or(body);
        let error = body.get("error").unwrap_or(body);
        let text = |key: &str| error.get(key).and_then(Json::as_str);
        let message = text("message").or(error.as_str());
        let all = [text("type"), text("code"), text("status"), message];
        let words = all.into_iter().flatten().collect::<Vec<_>>().join(" ").to_lowercase();
        Said { message, words }
    }

    fn is_about(&self, words: &[&str]) -> bool {
        words.iter().any(|word| self.words.contains(word))
    }
}

/// The delay that a provider asks for: `retry-after-ms`, or `retry-after` as seconds or as a date (RFC 9110, 10.2.3). A date is
/// compared with the provider's own clock, if its reply says the time.
fn delay<'h>(header: impl Fn(&str) -> Option<&'h str>, now: SystemTime) -> Option<Duration> {
    let number = |name: &str| header(name)?.trim().parse::<f64>().ok();
    let seconds = number("retry-after-ms").map(|ms| ms / 1_000.0).or_else(|| number("retry-after"));
    if let Some(seconds) = seconds {
        return Duration::try_from_secs_f64(seconds).ok();
    }
    let date = |name: &str| httpdate::parse_http_date(header(name)?.trim()).ok();
    let until = date("retry-after")?;
    Some(until.duration_since(date("date").unwrap_or(now)).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn status(status: u16, body: Json) -> ModelError {
        by_status(status, &body.to_string(), None)
    }

    fn said(message: &str) -> Json {
        json!({ "error": { "message": message } })
    }

    fn delay_of(headers: &[(&str, &'static str)]) -> Option<Duration> {
        let now = httpdate::parse_http_date("Wed, 25 Nov 2026 12:00:00 GMT").unwrap();
        delay(|name| headers.iter().find(|(key, _)| *key == name).map(|(_, value)| *value), now)
    }

    #[test]
    fn a_delay_is_milliseconds_seconds_or_a_date() {
        assert_eq!(delay_of(&[("retry-after-ms", "1500"), ("retry-after", "9")]), Some(Duration::from_millis(1500)));
        assert_eq!(delay_of(&[("retry-after", " 20 ")]), Some(Duration::from_secs(20)));
        let at = ("retry-after", "Wed, 25 Nov 2026 12:01:30 GMT");
        assert_eq!(delay_of(&[at]), Some(Duration::from_secs(90)));
        assert_eq!(delay_of(&[at, ("date", "Wed, 25 Nov 2026 12:01:00 GMT")]), Some(Duration::from_secs(30)));
        assert_eq!(delay_of(&[at, ("date", "Wed, 25 Nov 2026 12:02:00 GMT")]), Some(Duration::ZERO));
    }

    #[test]
    fn a_delay_that_is_none_is_left_out() {
        for odd in ["soon", "-5", "NaN", "inf", "1e300", ""] {
            assert_eq!(delay_of(&[("retry-after", odd)]), None, "{odd}");
        }
        assert_eq!(delay_of(&[]), None);
    }

    #[test]
    fn a_conversation_that_is_too_long_is_recognised_in_each_dialect() {
        let bodies = [
            json!({ "error": { "code": "context_length_exceeded", "message": "too many" } }),
            said("This model's maximum context length is 8192 tokens."),
            said("prompt is too long: 210000 tokens > 200000 maximum"),
            said("The input token count (1) exceeds the maximum number of tokens allowed (0)."),
            json!({ "error": { "code": 400, "type": "exceed_context_size_error", "message": "no" } }),
        ];
        for body in bodies {
            assert!(matches!(status(400, body.clone()), ModelError::TooLong { .. }), "{body}");
        }
        assert!(matches!(status(413, Json::Null), ModelError::TooLong { .. }));
        let misfit = said("max_tokens: 90000 > 64000, which is the maximum allowed number of output tokens");
        assert!(matches!(status(400, misfit), ModelError::Rejected { .. }));
    }

    #[test]
    fn each_status_has_its_error() {
        assert!(matches!(status(429, said("slow")), ModelError::RateLimited { .. }));
        let unpaid = json!({ "error": { "type": "insufficient_quota", "message": "You exceeded your quota" } });
        assert!(matches!(status(429, unpaid), ModelError::Unauthorised { .. }));
        for passing in [408, 500, 502, 503, 504, 522, 529] {
            assert!(matches!(status(passing, said("later")), ModelError::Overloaded { .. }), "{passing}");
        }
        for key in [401, 402, 403] {
            assert!(matches!(status(key, said("no")), ModelError::Unauthorised { .. }), "{key}");
        }
        let policy = json!({ "error": { "code": "content_filter", "message": "no" } });
        assert!(matches!(status(400, policy), ModelError::Filtered { .. }));
        assert!(matches!(status(404, said("no such model")), ModelError::Rejected { .. }));
    }

    #[test]
    fn the_message_is_the_provider_s_and_of_bounded_length() {
        let ModelError::Rejected { message } = status(404, said("no such model")) else { panic!("404 is none") };
        assert_eq!(message, "no such model (status 404)");
        let ModelError::Overloaded { message, .. } = by_status(503, "", None) else { panic!("503 is none") };
        assert_eq!(message, "status 503");
        let ModelError::Overloaded { message, .. } = by_status(502, &"é".repeat(5_000), None) else {
            panic!("502 is none")
        };
        assert_eq!(message.chars().count(), crate::causes::MAX_MESSAGE + 3);
    }

    #[test]
    fn an_error_within_a_stream_is_recognised_by_its_type() {
        let typed = |kind: &str| in_stream(&json!({ "type": "error", "error": { "type": kind, "message": "no" } }));
        assert!(matches!(typed("overloaded_error"), ModelError::Overloaded { .. }));
        assert!(matches!(typed("rate_limit_error"), ModelError::RateLimited { retry_after: None, .. }));
        assert!(matches!(typed("authentication_error"), ModelError::Unauthorised { .. }));
        assert!(matches!(typed("invalid_request_error"), ModelError::Rejected { .. }));
        let openai = json!({ "type": "server_error", "message": "The server had an error" });
        assert!(matches!(in_stream(&openai), ModelError::Overloaded { .. }));
        assert!(matches!(in_stream(&Json::Null), ModelError::Rejected { .. }));
    }
}
