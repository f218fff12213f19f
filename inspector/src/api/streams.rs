//! Views and events, as they are and as they come.

use std::convert::Infallible;
use std::time::Duration;

use axum::extract::State;
use axum::http::{HeaderMap, header};
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use futures::{Stream, StreamExt, stream};
use graphweft::{EventPosition, FeedCursor, FeedFrom};
use tokio::sync::{OwnedSemaphorePermit, mpsc};

use super::{filter, runs};
use crate::extract::{Asked, At};
use crate::hub::Phase;
use crate::model::FeedChange;
use crate::page;
use crate::problem::{Problem, shown};
use crate::state::Inspected;
use crate::view::ViewPart;

/// How many events wait for a reader.
const AHEAD: usize = 32;

/// How long a reader may leave them waiting before its stream is closed.
const PATIENCE: Duration = Duration::from_secs(10);

/// Up to this many bytes a view is not compressed.
const SMALL: usize = 4096;

type Item = Result<Event, Infallible>;

/// The view of a run, or what was added to it since a cursor.
#[utoipa::path(
    get, path = "/api/runs/{id}/view", tag = "views", operation_id = "get_view",
    params(
        ("id" = String, Path, description = "The id of the run"),
        ("since" = Option<String>, Query, description = "`cursor` of a part; what was added since. The whole if the server does not know it any more"),
    ),
    responses((status = 200, body = ViewPart), (status = "default", body = Problem, content_type = "application/problem+json"))
)]
pub(super) async fn view(
    State(inspected): State<Inspected>,
    At(id): At<String>,
    headers: HeaderMap,
    mut asked: Asked,
) -> Result<Response, Problem> {
    let since = asked.one("since")?;
    asked.end()?;
    let run = runs::found(&inspected, &id).await?;
    let follow = inspected.hub.follow(&run).await?;
    let json = follow.part(since.as_deref());
    let mut response = match json.len() > SMALL && page::unzips(&headers) {
        true => ([(header::CONTENT_ENCODING, "gzip")], page::zip(json.as_bytes())).into_response(),
        false => axum::body::Bytes::from_owner(SharedJson(json)).into_response(),
    };
    response.headers_mut().insert(header::CONTENT_TYPE, header::HeaderValue::from_static("application/json"));
    response.headers_mut().insert(header::VARY, header::HeaderValue::from_static("Accept-Encoding"));
    Ok(response)
}

/// The view of a run as it changes: server-sent events whose data is a [`ViewPart`] each, at most ten a second. The first is the
/// whole view, or what was added since the `Last-Event-ID`. The stream ends with the run, after an event of the type `end`; a
/// browser is to close its `EventSource` then, and to open it again when the run is retried.
#[utoipa::path(
    get, path = "/api/runs/{id}/live", tag = "views", operation_id = "watch_view",
    params(
        ("id" = String, Path, description = "The id of the run"),
        ("since" = Option<String>, Query, description = "`cursor` of a part that the reader has; without it, `Last-Event-ID` counts"),
        ("Last-Event-ID" = Option<String>, Header, description = "The id of the last event that was read"),
    ),
    responses(
        (status = 200, body = ViewPart, content_type = "text/event-stream"),
        (status = "default", body = Problem, content_type = "application/problem+json"),
    )
)]
pub(super) async fn live(
    State(inspected): State<Inspected>,
    At(id): At<String>,
    headers: HeaderMap,
    mut asked: Asked,
) -> Result<Response, Problem> {
    let since = last_event_id(&headers)?.or(asked.one("since")?);
    asked.end()?;
    let permit = inspected.permit()?;
    let run = runs::found(&inspected, &id).await?;
    let follow = inspected.hub.follow(&run).await?;
    let phases = follow.phases();
    let parts = stream::unfold(Some((since, phases, follow)), |state| async move {
        let (since, mut phases, follow) = state?;
        loop {
            // Before the look, so that what comes behind it wakes.
            let phase = *phases.borrow_and_update();
            if let Some((cursor, json)) = follow.news(since.as_deref()) {
                let sent = Event::default().id(&cursor).data(&*json);
                return Some((Ok(sent), Some((Some(cursor), phases, follow))));
            }
            match phase {
                Phase::Following => phases.changed().await.ok()?,
                Phase::Ended if follow.is_over() => return Some((Ok(Event::default().event("end").data("{}")), None)),
                // A browser comes again.
                Phase::Ended | Phase::Left => return None,
            }
        }
    });
    Ok(sent(parts, permit))
}

/// The events of a run, past ones and as they come: server-sent events, whose id is the position of the event. The stream ends
/// with the run. A reader that does not keep up is cut off; with its `Last-Event-ID` it continues where it was.
#[utoipa::path(
    get, path = "/api/runs/{id}/events", tag = "views", operation_id = "watch_events",
    params(
        ("id" = String, Path, description = "The id of the run"),
        ("after" = Option<String>, Query, description = "Events behind this position; without it, `Last-Event-ID` counts"),
        ("Last-Event-ID" = Option<String>, Header, description = "The position of the last event that was read"),
    ),
    responses(
        (status = 200, body = crate::model::RunEvent, content_type = "text/event-stream"),
        (status = "default", body = Problem, content_type = "application/problem+json"),
    )
)]
pub(super) async fn events(
    State(inspected): State<Inspected>,
    At(id): At<String>,
    headers: HeaderMap,
    mut asked: Asked,
) -> Result<Response, Problem> {
    let position = last_event_id(&headers)?.or(asked.one("after")?);
    asked.end()?;
    let position = position.map(|text| text.parse::<EventPosition>()).transpose();
    let position = position.map_err(|error| Problem::parameter("after", error.to_string()))?;
    let permit = inspected.permit()?;
    let run = runs::found(&inspected, &id).await?;
    let mut events = position.map_or_else(|| run.events(), |seen| run.events_after(seen));
    let (to, from) = mpsc::channel::<Event>(AHEAD);
    // What a slow reader leaves waiting is held by the stream of the run, so a reader has a time for it.
    tokio::spawn(async move {
        loop {
            let event = tokio::select! {
                event = events.next() => event,
                () = to.closed() => return,
            };
            let Some(event) = event else { return };
            let message = Event::default().id(event.position().to_string()).json_data(&event);
            let Ok(message) = message else { continue };
            if tokio::time::timeout(PATIENCE, to.send(message)).await.is_err() {
                tracing::info!(run = event.run_id, "a reader of events did not keep up, and was cut off");
                return;
            }
        }
    });
    let messages = stream::unfold(from, |mut from| async move { Some((Ok(from.recv().await?), from)) });
    Ok(sent(messages, permit))
}

/// What is recorded for all runs, in the order in which it was committed, without the values: for lists that follow. Server-sent
/// events, each with a [`FeedChange`]. Without a position, what comes from now on.
#[utoipa::path(
    get, path = "/api/changes", tag = "runs", operation_id = "watch_runs",
    params(
        ("workflow" = Option<Vec<String>>, Query, style = Form, explode = false, description = "Of runs of one of these workflows"),
        ("tag" = Option<Vec<String>>, Query, description = "Of runs with all of these tags, each `key=value`; may be repeated"),
        ("after" = Option<String>, Query, description = "`beginning`, or the id of an event of this stream; without it, `Last-Event-ID` counts"),
        ("Last-Event-ID" = Option<String>, Header, description = "The id of the last event that was read"),
    ),
    responses(
        (status = 200, body = FeedChange, content_type = "text/event-stream"),
        (status = "default", body = Problem, content_type = "application/problem+json"),
    )
)]
pub(super) async fn changes(
    State(inspected): State<Inspected>,
    headers: HeaderMap,
    mut asked: Asked,
) -> Result<Response, Problem> {
    let workflows = asked.list("workflow");
    let tags = filter::tags(&mut asked)?;
    let after = last_event_id(&headers)?.or(asked.one("after")?);
    asked.end()?;
    let from = match after.as_deref() {
        None => FeedFrom::Now,
        Some("beginning") => FeedFrom::Beginning,
        Some(text) => FeedFrom::After(text.parse::<FeedCursor>().map_err(|_| {
            let detail = format!("`{}` is not the id of an event of this stream", shown(text));
            Problem::parameter("after", detail)
        })?),
    };
    let permit = inspected.permit()?;
    let mut feed = inspected.engine.watch(from).await?;
    for workflow in workflows {
        feed = feed.workflow(workflow);
    }
    for (key, value) in tags {
        feed = feed.tag(key, value);
    }
    let changes = feed.filter_map(|next| async move {
        match next {
            Ok(next) => {
                let event = Event::default().id(next.cursor.to_string()).json_data(FeedChange::of(&next));
                event.ok().map(Ok)
            }
            // The feed continues behind it, or looks again.
            Err(error) => {
                tracing::warn!(%error, "a part of the feed was not sent");
                None
            }
        }
    });
    Ok(sent(changes, permit))
}

fn last_event_id(headers: &HeaderMap) -> Result<Option<String>, Problem> {
    let Some(id) = headers.get("Last-Event-ID") else { return Ok(None) };
    let id = id.to_str().map_err(|_| Problem::parameter("Last-Event-ID", "`Last-Event-ID` is no text"))?;
    Ok(Some(id.to_owned()).filter(|id| !id.is_empty()))
}

/// A response of server-sent events that gives its permit back when it is over or its reader is gone.
fn sent(events: impl Stream<Item = Item> + Send + 'static, permit: OwnedSemaphorePermit) -> Response {
    let held = events.map(move |item| {
        let _held = &permit;
        item
    });
    let mut response = Sse::new(held).keep_alive(KeepAlive::default()).into_response();
    // A proxy that collects a response before it sends it would send nothing.
    response.headers_mut().insert("X-Accel-Buffering", header::HeaderValue::from_static("no"));
    response
}

/// The JSON of a part, which several responses share.
struct SharedJson(std::sync::Arc<str>);

impl AsRef<[u8]> for SharedJson {
    fn as_ref(&self) -> &[u8] {
        self.0.as_bytes()
    }
}
