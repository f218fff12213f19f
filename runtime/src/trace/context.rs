//! What connects a run to a trace of another process.

use tracing::Span;

use super::guarded::GuardedSpan;

/// The tag of a run with the trace that it was started in.
pub(crate) const TRACEPARENT: &str = "traceparent";

/// Connects what follows a wait or a restart to the trace in which a run was started. For
/// [`EngineBuilder::trace_context`](crate::EngineBuilder::trace_context); the crate `graphweft-otel` has one for OpenTelemetry.
///
/// graphweft knows spans only by `tracing`, which has no text for them that another process would understand. This has.
///
/// Its functions must not block: they are called by the tasks that drive runs, and [`begin`](Self::begin) and [`resume`](Self::resume) under
/// a lock that every node of the run waits for. A panic in one of them is the same as if it had done nothing.
///
/// ```
/// use graphweft::prelude::*;
/// use graphweft::TraceContext;
/// use tracing::Span;
///
/// /// Every run belongs to one trace.
/// struct Fixed;
///
/// impl TraceContext for Fixed {
///     fn of_span(&self, _: &Span) -> Option<String> {
///         Some("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01".to_owned())
///     }
///     fn begin(&self, _: &Span, recorded: &str) {
///         println!("a child of {recorded}");
///     }
///     fn resume(&self, _: &Span, recorded: &str) {
///         println!("a later part of {recorded}");
///     }
/// }
/// # #[node] async fn double(n: u32) -> u32 { 2 * n }
/// # workflow! { pub doubled(u32) -> u32 { START => double; } }
/// # graphweft::block_on(async {
/// let engine = Engine::builder().trace_context(Fixed).build()?;
/// let run = engine.start::<doubled>(4).await?;
/// assert!(run.info().await?.tags["traceparent"].starts_with("00-4bf92f"));
/// # Ok::<(), Box<dyn std::error::Error>>(()) }).unwrap();
/// ```
pub trait TraceContext: Send + Sync + 'static {
    /// The place of a span in its trace, in the form of the [W3C header `traceparent`](https://www.w3.org/TR/trace-context/). `None` if
    /// it has none. Called when a run is started, with the span `graphweft.start`; the result is recorded as the tag `traceparent`, unless
    /// it is longer than the 256 bytes that the value of a tag may have. It is not one of the 16 tags that a program may set.
    fn of_span(&self, span: &Span) -> Option<String>;

    /// Whether spans can be connected to this text, which may be anything that a program has set as the tag `traceparent`. If not, the
    /// functions below are not called, and the spans of the run are as without the tag. Called once for each run that begins or is
    /// resumed in a process. The default is `true`.
    fn is_readable(&self, recorded: &str) -> bool {
        let _ = recorded;
        true
    }

    /// Makes a span a child of what was recorded at the start of its run. Called for the first span `graphweft.run` after
    /// `graphweft.start`, before it is entered.
    fn begin(&self, span: &Span, recorded: &str);

    /// Connects a span to what was recorded at the start of its run: as a link, or as a child. Called for each span `graphweft.run`
    /// that follows a wait or a restart, before it is entered.
    fn resume(&self, span: &Span, recorded: &str);
}

/// What is recorded of the trace that a run is started in.
pub(crate) fn traceparent(context: &dyn TraceContext, start: &GuardedSpan) -> Option<String> {
    start.with(|start| context.of_span(start)).flatten()
}
