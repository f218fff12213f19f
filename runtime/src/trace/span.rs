//! The spans, with their names and fields.

use tracing::field::Empty;
use tracing::{Id, Span};

use super::TARGET;
use super::facts::RunFacts;
use super::guarded::GuardedSpan;
use crate::around::CallKind;

/// The name of the node, child or step at a path: without its key, its turn and its item, of which there are many.
pub(crate) fn plain_name(path: &str) -> &str {
    let last = path.rsplit('/').next().unwrap_or_default();
    last.split([':', '#', '[']).next().unwrap_or_default()
}

/// The span in which a run is recorded before it begins. What is recorded of its trace is this span.
pub(crate) fn start_span(workflow: &str, run: &str) -> GuardedSpan {
    if !super::is_wanted() {
        return GuardedSpan::none();
    }
    GuardedSpan::of(|| {
        tracing::info_span!(
            target: TARGET,
            "graphweft.start",
            otel.name = format!("graphweft.start {workflow}"),
            otel.kind = "producer",
            graphweft.run_id = run,
            graphweft.workflow = workflow,
        )
    })
}

pub(super) fn run_span(parent: Option<Id>, facts: &RunFacts) -> Span {
    tracing::info_span!(
        target: TARGET,
        parent: parent,
        "graphweft.run",
        otel.name = format!("graphweft.run {}", facts.workflow),
        otel.kind = "internal",
        graphweft.run_id = facts.id,
        graphweft.workflow = facts.workflow,
        graphweft.tags = facts.tags,
        graphweft.outcome = Empty,
        otel.status_code = Empty,
        otel.status_description = Empty,
    )
}

pub(super) fn attempt_span(
    parent: Option<Id>,
    kind: CallKind,
    facts: Option<&RunFacts>,
    path: &str,
    number: u32,
) -> Span {
    let (run, workflow) = facts.map(|facts| (&*facts.id, &*facts.workflow)).unzip();
    let name = plain_name(path);
    match kind {
        CallKind::Node | CallKind::Child => tracing::info_span!(
            target: TARGET,
            parent: parent,
            "graphweft.node",
            otel.name = format!("graphweft.node {name}"),
            otel.kind = "internal",
            graphweft.run_id = run,
            graphweft.workflow = workflow,
            graphweft.path = path,
            graphweft.attempt = number,
            graphweft.outcome = Empty,
            otel.status_code = Empty,
            otel.status_description = Empty,
        ),
        CallKind::Step => tracing::info_span!(
            target: TARGET,
            parent: parent,
            "graphweft.step",
            otel.name = format!("graphweft.step {name}"),
            otel.kind = "internal",
            graphweft.run_id = run,
            graphweft.workflow = workflow,
            graphweft.path = path,
            graphweft.attempt = number,
            graphweft.outcome = Empty,
            otel.status_code = Empty,
            otel.status_description = Empty,
        ),
    }
}
