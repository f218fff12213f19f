#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

#[doc = include_str!("../docs/telemetry.md")]
pub mod guide {}
mod traceparent;

use graphweft::TraceContext;
use opentelemetry::Context;
use opentelemetry::trace::{SpanContext, TraceContextExt};
use tracing::Span;
use tracing_opentelemetry::OpenTelemetrySpanExt;

/// How the part of a run that follows a wait or a restart belongs to the trace in which the run was started. For
/// [`EngineBuilder::trace_context`](graphweft::EngineBuilder::trace_context).
///
/// When a run is started, its place in the trace is recorded with it, as the tag `traceparent` and in the form of the [W3C
/// header](https://www.w3.org/TR/trace-context/) of this name. So a process that resumes the run knows it, whichever it is. A text there that is
/// no such header is passed over, with a warning.
///
/// Needs a layer of [`tracing_opentelemetry`]; without one, nothing is recorded, and nothing is connected.
///
/// ```
/// use graphweft::prelude::*;
/// use graphweft_otel::Resumed;
///
/// # graphweft::block_on(async {
/// // Runs of this service end within minutes: each is one trace.
/// let engine = Engine::builder().trace_context(Resumed::AsChild).build()?;
/// # let _ = engine;
/// # Ok::<(), Box<dyn std::error::Error>>(()) }).unwrap();
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Resumed {
    /// A trace of its own, with a link to the start of the run. A run that waits for weeks is many short traces, each of which is
    /// whole when it is looked at.
    #[default]
    AsLink,
    /// A child of the start of the run: everything that ever happens in a run is one trace. Many backends drop what comes long
    /// after the beginning of a trace, and samplers that look at whole traces do not see it.
    AsChild,
}

impl TraceContext for Resumed {
    fn of_span(&self, span: &Span) -> Option<String> {
        let context = span.context();
        let place = context.span().span_context().clone();
        place.is_valid().then(|| traceparent::written(&place))
    }

    fn is_readable(&self, recorded: &str) -> bool {
        let is_readable = traceparent::read(recorded).is_some();
        if !is_readable {
            tracing::warn!(traceparent = recorded, "a trace that a run was started in cannot be read");
        }
        is_readable
    }

    fn begin(&self, span: &Span, recorded: &str) {
        if let Some(place) = traceparent::read(recorded) {
            is_child(span, place);
        }
    }

    fn resume(&self, span: &Span, recorded: &str) {
        match (self, traceparent::read(recorded)) {
            (Resumed::AsLink, Some(place)) => span.add_link(place),
            (Resumed::AsChild, Some(place)) => is_child(span, place),
            (_, None) => {}
        }
    }
}

fn is_child(span: &Span, place: SpanContext) {
    if let Err(error) = span.set_parent(Context::new().with_remote_span_context(place)) {
        tracing::debug!(%error, "a span is not connected to the trace that its run was started in");
    }
}

#[cfg(test)]
mod tests {
    use super::{Resumed, TraceContext};

    #[test]
    fn only_a_header_of_the_w3c_is_readable() {
        for how in [Resumed::AsLink, Resumed::AsChild] {
            assert!(how.is_readable("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"));
            assert!(!how.is_readable("mine"));
        }
    }
}
