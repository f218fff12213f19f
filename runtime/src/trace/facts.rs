//! What all spans of a run say of it.

use std::sync::Arc;

use super::context::{TRACEPARENT, TraceContext};
use super::guarded::GuardedSpan;
use crate::catch::caught;
use crate::event::Tags;

/// What all spans of a run say of it.
pub(crate) struct RunFacts {
    pub(super) id: String,
    pub(super) workflow: String,
    /// Its tags, as JSON, if it has any.
    pub(super) tags: Option<String>,
    /// What connects its spans to the trace that it was started in, with what was recorded of that.
    recorded: Option<(Arc<dyn TraceContext>, String)>,
}

impl RunFacts {
    pub(crate) fn new(id: String, workflow: String, tags: &Tags, context: Option<&Arc<dyn TraceContext>>) -> Self {
        let recorded = context.cloned().zip(tags.get(TRACEPARENT).cloned());
        let recorded = recorded.filter(|(context, text)| caught(|| context.is_readable(text)).unwrap_or_default());
        RunFacts { id, workflow, tags: written(tags), recorded }
    }

    /// Whether its spans are connected by more than `tracing`.
    pub(super) fn is_connected(&self) -> bool {
        self.recorded.is_some()
    }

    /// Connects the first span.
    pub(super) fn begin(&self, span: GuardedSpan) -> GuardedSpan {
        if let Some((context, recorded)) = self.recorded.as_ref().filter(|_| !span.is_disabled()) {
            span.with(|span| context.begin(span, recorded));
        }
        span
    }

    /// Connects a span that follows a wait or a restart.
    pub(super) fn resume(&self, span: GuardedSpan) -> GuardedSpan {
        if let Some((context, recorded)) = self.recorded.as_ref().filter(|_| !span.is_disabled()) {
            span.with(|span| context.resume(span, recorded));
        }
        span
    }
}

fn written(tags: &Tags) -> Option<String> {
    let mut own = tags.clone();
    own.remove(TRACEPARENT);
    if own.is_empty() { None } else { serde_json::to_string(&own).ok() }
}
