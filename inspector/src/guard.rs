//! Who may do what: the checks that every request passes, and the headers that every response has.

use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use crate::hosts::Hosts;
use crate::problem::{Problem, shown};
use crate::state::Inspected;

/// The header with the token of a request that changes something.
pub(crate) const TOKEN: &str = "x-graphweft-token";

/// Where a client calls workflows, if that is served.
pub(crate) const MCP: &str = "/mcp";

/// No script but those of the page, no frame around it, and nothing from elsewhere.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; \
                      connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

const HEADERS: [(HeaderName, &str); 5] = [
    (header::CONTENT_SECURITY_POLICY, POLICY),
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::X_FRAME_OPTIONS, "DENY"),
    (header::REFERRER_POLICY, "no-referrer"),
    (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
];

/// Checks a request, and adds the headers to its response.
pub(crate) async fn guard(State(inspected): State<Inspected>, request: Request, next: Next) -> Response {
    let mut response = match check(&inspected, &request) {
        Ok(()) => next.run(request).await,
        Err(problem) => problem.into_response(),
    };
    let headers = response.headers_mut();
    for (name, value) in HEADERS {
        headers.insert(name, HeaderValue::from_static(value));
    }
    // Values of runs, and a page with the token of this start.
    headers.entry(header::CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
    response
}

fn check(inspected: &Inspected, request: &Request) -> Result<(), Problem> {
    let headers = request.headers();
    let host = request.uri().authority().map(|authority| authority.as_str()).or_else(|| text(headers, &header::HOST));
    if let Some(hosts) = &inspected.hosts {
        // Another name may lead here as well, if its owner wants that: DNS rebinding.
        let host = host.unwrap_or_default();
        if headers.get_all(header::HOST).iter().count() > 1 || !hosts.has(host) {
            let detail = format!("this server is not `{}`; ask for it by its address, or allow the name", shown(host));
            return Err(Problem::new(StatusCode::MISDIRECTED_REQUEST, "unknown_host", detail));
        }
        if request.uri().path().starts_with("/api") && is_of_another_site(headers) {
            return Err(cross_origin("another site"));
        }
    }
    // What is read from there is what calls have come to, and a client that calls has the token.
    let is_of_mcp = request.uri().path() == MCP;
    if matches!(*request.method(), Method::GET | Method::HEAD | Method::OPTIONS) && !is_of_mcp {
        return Ok(());
    }
    if inspected.read_only {
        let detail = "this inspector only shows runs, and changes nothing";
        return Err(Problem::new(StatusCode::FORBIDDEN, "read_only", detail));
    }
    if is_of_another_site(headers) {
        return Err(cross_origin("another site"));
    }
    if let Some(origin) = headers.get(header::ORIGIN)
        && !is_own(origin, host, inspected.hosts.as_ref(), headers)
    {
        return Err(cross_origin(&String::from_utf8_lossy(origin.as_bytes())));
    }
    let Some(token) = &inspected.token else { return Ok(()) };
    match headers.get(TOKEN).map(HeaderValue::as_bytes) {
        Some(sent) if is_equal(sent, token.as_bytes()) => Ok(()),
        sent => {
            let code = if sent.is_some() { "wrong_token" } else { "missing_token" };
            let detail =
                "send the token of this start in the header `X-Graphweft-Token`; the page has it, so load it again";
            Err(Problem::new(StatusCode::FORBIDDEN, code, detail))
        }
    }
}

fn text<'h>(headers: &'h HeaderMap, name: &HeaderName) -> Option<&'h str> {
    headers.get(name)?.to_str().ok()
}

fn cross_origin(origin: &str) -> Problem {
    let detail = format!("a page of {} may not do this", shown(origin));
    Problem::new(StatusCode::FORBIDDEN, "cross_origin", detail)
}

/// What a browser says of the page that has sent the request.
fn is_of_another_site(headers: &HeaderMap) -> bool {
    let site = headers.get("sec-fetch-site").map(HeaderValue::as_bytes);
    site.is_some_and(|site| !matches!(site, b"same-origin" | b"none"))
}

/// Whether the page that has sent the request was served here.
fn is_own(origin: &HeaderValue, host: Option<&str>, hosts: Option<&Hosts>, headers: &HeaderMap) -> bool {
    let Some(authority) = origin.to_str().ok().and_then(|origin| origin.split_once("://")).map(|(_, host)| host) else {
        return false;
    };
    match hosts {
        Some(hosts) => hosts.has(authority),
        // A proxy may have changed the host, and what the browser says is better where it says something.
        None => headers.contains_key("sec-fetch-site") || host.is_some_and(|host| host.eq_ignore_ascii_case(authority)),
    }
}

/// Takes the same time wherever they differ.
fn is_equal(one: &[u8], other: &[u8]) -> bool {
    one.len() == other.len() && one.iter().zip(other).fold(0, |all, (one, other)| all | (one ^ other)) == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_equal_or_not() {
        assert!(is_equal(b"abc", b"abc"));
        for other in [&b"abd"[..], b"ab", b"abcd", b""] {
            assert!(!is_equal(other, b"abc"));
        }
    }
}
