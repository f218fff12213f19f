//! Spans of agents and their tools. As all spans of a run, they end while what they are about waits.

use std::future::{Future, poll_fn};
use std::pin::pin;

use graphweft::{ChildError, Context, Json};
use serde::Serialize;
use tracing::Span;
use tracing::field::Empty;

use crate::names::node_name;

/// Polls a future within a span.
pub(crate) async fn within<F: Future>(span: &Span, future: F) -> F::Output {
    let mut future = pin!(future);
    poll_fn(|waker| span.in_scope(|| future.as_mut().poll(waker))).await
}

/// What an error is called in `error.type`, which has few values: as in JSON.
pub(crate) fn kind(error: &impl Serialize) -> String {
    match serde_json::to_value(error) {
        Ok(Json::String(name)) => name,
        Ok(Json::Object(error)) => error.into_iter().next().map(|(name, _)| name).unwrap_or_default(),
        _ => "error".to_owned(),
    }
}

/// Runs an agent, which is the node of the context, within a span.
pub(crate) async fn invoke_agent<T, E: Serialize>(
    ctx: &Context,
    model: &str,
    future: impl Future<Output = Result<T, E>>,
) -> Result<T, E> {
    let (path, model) = (ctx.path(), model.to_owned());
    let name = node_name(&path).to_owned();
    let cover = ctx.__cover(None, move |around| {
        tracing::info_span!(
            parent: around,
            "invoke_agent",
            otel.name = format!("invoke_agent {name}"),
            otel.kind = "internal",
            gen_ai.operation.name = "invoke_agent",
            gen_ai.agent.name = name,
            gen_ai.agent.id = path,
            gen_ai.request.model = model,
            error.type = Empty,
        )
    });
    let ended = future.await;
    if let Err(error) = &ended {
        cover.with_span(|span| _ = span.record("error.type", kind(error)));
    }
    ended
}

/// Calls a tool, which is this child of the node of the context, within a span: unless its result is recorded, and nothing runs.
pub(crate) async fn execute_tool<T, E>(
    ctx: &Context,
    name: &str,
    child: &str,
    future: impl Future<Output = Result<T, ChildError<E>>>,
) -> Result<T, ChildError<E>> {
    if ctx.__has_result(child) {
        return future.await;
    }
    let (name, id) = (name.to_owned(), format!("{}/{child}", ctx.path()));
    let cover = ctx.__cover(Some(child), move |around| {
        tracing::info_span!(
            parent: around,
            "execute_tool",
            otel.name = format!("execute_tool {name}"),
            otel.kind = "internal",
            gen_ai.operation.name = "execute_tool",
            gen_ai.tool.name = name,
            gen_ai.tool.type = "function",
            gen_ai.tool.call.id = id,
            error.type = Empty,
        )
    });
    let ended = future.await;
    if let Err(error) = &ended {
        let kind = match error {
            ChildError::Fault(fault) => kind(fault),
            _ => "tool_error".to_owned(),
        };
        cover.with_span(|span| _ = span.record("error.type", kind));
    }
    ended
}
