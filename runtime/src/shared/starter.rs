//! The way from a run down to its engine, which is on a higher floor.

use std::any::Any;
use std::sync::Arc;

use futures_util::future::BoxFuture;

use super::journal::Journal;
use crate::halt::Halt;

/// An engine, for runs whose nodes start other runs.
pub(crate) trait Starter: Send + Sync {
    /// Itself, as its own type.
    fn as_any(self: Arc<Self>) -> Arc<dyn Any + Send + Sync>;

    /// Cancels the runs that nodes of a run have started, or waits for them, before the run ends.
    fn close_started(self: Arc<Self>, journal: Arc<Journal>) -> BoxFuture<'static, Result<(), Halt>>;
}

/// Whether a path is that of a request to start a run. It may be a step that is called like one.
pub(crate) fn is_start_of_run(path: &str) -> bool {
    path.rsplit_once('/').is_some_and(|(_, request)| request.starts_with("start:"))
}
