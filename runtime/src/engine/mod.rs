//! The engine: starts, finds and resumes the runs of one process.

mod answer;
mod answer_queue;
mod answering;
mod build;
mod called;
mod cancel;
mod changed;
mod check;
mod child_folds;
mod child_graphs;
mod delete;
mod derived;
mod drawn;
mod error;
mod events;
mod feed;
mod feed_cursor;
mod fitting;
mod folded_graph;
mod fork;
mod fork_request;
mod inbox;
mod info;
mod inner;
mod keeper;
mod linked;
mod list;
mod live;
mod logs;
mod look;
mod next_run;
mod node_input;
mod recover;
mod replay;
mod requests;
mod resumable;
mod retention;
mod retry;
mod retry_request;
mod run;
mod run_to_end;
mod runs;
mod runtime;
mod set_back;
mod shutdown;
mod signal;
mod signal_logs;
mod signalling;
mod snapshot_queue;
mod snapshots;
mod start;
mod versions;
mod voided;
mod voids;
mod wait;

#[cfg(test)]
mod tests;

pub use answering::Answering;
pub use build::EngineBuilder;
#[cfg(feature = "test-util")]
pub(crate) use build::MockWith;
pub use cancel::CancelError;
pub use check::{Check, CheckedVersion};
pub use delete::DeleteError;
pub use error::{BuildError, StartError};
pub use events::Events;
pub use feed::{Feed, FeedError, FeedEvent, WatchError};
pub use feed_cursor::{FeedCursor, FeedFrom, InvalidFeedCursor};
pub use fork::{Fork, ForkError};
pub use inbox::{PendingQuestion, QuestionFilter};
pub use info::{ItemProgress, Position, RunInfo};
pub use inner::Engine;
pub use list::RunFilter;
pub use logs::NoLogs;
pub use recover::Recovery;
pub use retention::Retention;
pub use retry::{Retry, RetryError};
pub use run::{Outcome, Run};
pub use run_to_end::RunToEndError;
#[cfg(test)]
pub(crate) use set_back::by_the_clock_of;
pub use signalling::Signalling;
pub use start::Start;
#[cfg(test)]
pub(crate) use voided::effective;
