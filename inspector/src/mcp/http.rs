//! The same over streamable HTTP, beside the page.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::response::{IntoResponse, Response};
use axum::routing::any;
use futures::StreamExt;
use rmcp::transport::StreamableHttpServerConfig;
use rmcp::transport::streamable_http_server::StreamableHttpService;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use tokio_util::sync::CancellationToken;

use super::door::Door;
use crate::extract::whole;
use crate::guard::MCP;
use crate::problem::Problem;
use crate::state::Inspected;

/// How long a session is kept in which nothing is sent. A person may think for a long time about a question.
const SILENCE: Duration = Duration::from_secs(60 * 60);

type Service = StreamableHttpService<Door, LocalSessionManager>;

pub(crate) fn routes(inspected: &Inspected) -> Router<Inspected> {
    let closed = CancellationToken::new();
    let mut sessions = LocalSessionManager::default();
    sessions.session_config.keep_alive = Some(SILENCE);
    // The guard of all routes has checked these, with the names that this server has.
    let config = StreamableHttpServerConfig::default()
        .disable_allowed_hosts()
        .disable_allowed_origins()
        .with_max_request_body_bytes(inspected.limits.body)
        .with_cancellation_token(closed.child_token());
    let door = Door::new(inspected.engine.clone(), closed.child_token());
    let service = StreamableHttpService::new(move || Ok(door.clone()), Arc::new(sessions), config);
    // Sessions end with the server.
    let guarded = Arc::new((service, closed.drop_guard()));
    let serve = move |State(inspected): State<Inspected>, request: Request| {
        let guarded = Arc::clone(&guarded);
        async move { serve(&guarded.0, &inspected, request).await.unwrap_or_else(IntoResponse::into_response) }
    };
    Router::new().route(MCP, any(serve))
}

async fn serve(service: &Service, inspected: &Inspected, request: Request) -> Result<Response, Problem> {
    let permit = inspected.permit()?;
    let (parts, body) = request.into_parts();
    let body = whole(body, inspected.limits.body).await?;
    let response = service.handle(Request::from_parts(parts, Body::from(body))).await;
    // A call is a stream until it has its result.
    let (parts, body) = response.into_parts();
    let held = Body::new(body).into_data_stream().map(move |item| {
        let _held = &permit;
        item
    });
    Ok(Response::from_parts(parts, Body::from_stream(held)))
}
