//! The same over streamable HTTP, beside the page.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, Method, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::any;
use axum::{Json, Router};
use futures::StreamExt;
use rmcp::model::{ClientJsonRpcMessage, ClientRequest, JsonRpcMessage};
use rmcp::transport::StreamableHttpServerConfig;
use rmcp::transport::streamable_http_server::StreamableHttpService;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use tokio_util::sync::{CancellationToken, DropGuard};

use super::door::Door;
use super::message;
use super::sessions::Sessions;
use crate::extract::{is_json, whole};
use crate::guard::MCP;
use crate::problem::Problem;
use crate::state::Inspected;

type Service = StreamableHttpService<Door, LocalSessionManager>;

/// What serves `/mcp`.
struct Served {
    service: Service,
    sessions: Arc<Sessions>,
    /// Sessions end with the server.
    _closed: DropGuard,
}

pub(crate) fn routes(inspected: &Inspected) -> Router<Inspected> {
    let closed = CancellationToken::new();
    let sessions = Arc::new(Sessions::new(inspected.limits.sessions));
    // The guard of all routes has checked these, with the names that this server has.
    let config = StreamableHttpServerConfig::default()
        .disable_allowed_hosts()
        .disable_allowed_origins()
        .with_max_request_body_bytes(inspected.limits.body)
        .with_cancellation_token(closed.child_token());
    let door = Door::new(inspected.engine.clone(), closed.child_token());
    let service = StreamableHttpService::new(move || Ok(door.clone()), Arc::clone(&sessions.manager), config);
    let served = Arc::new(Served { service, sessions, _closed: closed.drop_guard() });
    let serve = move |State(inspected): State<Inspected>, request: Request| {
        let served = Arc::clone(&served);
        async move { served.serve(&inspected, request).await.unwrap_or_else(IntoResponse::into_response) }
    };
    Router::new().route(MCP, any(serve))
}

impl Served {
    async fn serve(&self, inspected: &Inspected, request: Request) -> Result<Response, Problem> {
        let permit = inspected.permit()?;
        let (parts, body) = request.into_parts();
        let body = whole(body, inspected.limits.body).await?;
        let mut opens = false;
        if parts.method == Method::POST && is_json(&parts.headers) {
            match message::read(&body) {
                Ok(message) => opens = initializes(&message) && session(&parts.headers).is_none(),
                Err(Some(refusal)) => return Ok((StatusCode::BAD_REQUEST, Json(refusal)).into_response()),
                // rmcp knows what to do with it.
                Err(None) => {}
            }
        }
        let used = match session(&parts.headers) {
            Some(id) => self.sessions.enter(id).await,
            None => None,
        };
        let room = if opens { Some(self.sessions.room().await?) } else { None };
        let response = self.service.handle(Request::from_parts(parts, Body::from(body))).await;
        let used = match session(response.headers()).filter(|_| opens) {
            Some(id) => self.sessions.enter(id).await,
            None => used,
        };
        drop(room);
        // A call is a stream until it has its result.
        let (parts, body) = response.into_parts();
        let held = Body::new(body).into_data_stream().map(move |item| {
            let _held = (&permit, &used);
            item
        });
        Ok(Response::from_parts(parts, Body::from_stream(held)))
    }
}

/// Whether a message opens a session.
fn initializes(message: &ClientJsonRpcMessage) -> bool {
    matches!(message, JsonRpcMessage::Request(request) if matches!(request.request, ClientRequest::InitializeRequest(_)))
}

fn session(headers: &HeaderMap) -> Option<&str> {
    headers.get("mcp-session-id").and_then(|id| id.to_str().ok())
}
