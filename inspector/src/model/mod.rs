//! The forms of what is sent and received, as the schemas of the [OpenAPI document](crate::api::document) describe them. No function
//! of this crate takes or returns one: a client in any language is generated from the document.

mod actions;
mod events;
mod graph;
mod questions;
mod runs;
mod signals;
mod values;

pub use actions::{Answer, Answered, Cancellation, Empty, Fork, Retry, Signal, Signalled, StartRun, Started};
pub use graph::{Graph, GraphEdge, GraphLoop, GraphNode, GraphUse, Graphs, NodeKind, Way, Workflow, Workflows};
pub use questions::{AskedQuestion, Question, Questions};
pub use runs::{Counts, FeedChange, ForkedFrom, Items, Position, Run, Runs, Server, Status};
pub use signals::AwaitedSignal;
pub use values::{Attempt, Given, Message, NodeValues, Note, Returned};

pub(crate) use events::RunEvent;
pub(crate) use runs::STATUSES;

use std::time::{SystemTime, UNIX_EPOCH};

/// Milliseconds since 1970.
pub(crate) fn millis(time: SystemTime) -> u64 {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}
