//! How long runs are kept.

use std::time::Duration;

use crate::store::RunStatus;

/// How long runs are kept after they have ended, for
/// [`EngineBuilder::retention`](crate::EngineBuilder::retention). What is not named is kept for ever.
///
/// ```
/// use std::time::Duration;
/// use graphweft::Retention;
///
/// const DAY: Duration = Duration::from_secs(24 * 60 * 60);
///
/// let retention = Retention::completed(30 * DAY).failed(90 * DAY).cancelled(90 * DAY);
/// # let _ = retention;
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use = "nothing is deleted before `EngineBuilder::retention` has it"]
pub struct Retention {
    completed: Option<Duration>,
    failed: Option<Duration>,
    cancelled: Option<Duration>,
    ids: Duration,
}

/// How long the id of a deleted run is kept, if nothing else is said: 30 days.
const IDS: Duration = Duration::from_secs(30 * 24 * 60 * 60);

impl Default for Retention {
    /// Keeps everything.
    fn default() -> Self {
        Retention { completed: None, failed: None, cancelled: None, ids: IDS }
    }
}

impl Retention {
    /// Deletes completed runs this long after they have ended, and so those that have [started
    /// over](crate::Context::start_over). The id of a chain of runs is that of the first of them: what is sent to it
    /// does not reach the last one any more when a run between the two was deleted.
    pub fn completed(keep: Duration) -> Self {
        Retention { completed: Some(keep), ..Retention::default() }
    }

    /// Deletes failed runs this long after they have ended. Until then they can be retried.
    pub fn failed(mut self, keep: Duration) -> Self {
        self.failed = Some(keep);
        self
    }

    /// Deletes cancelled runs this long after they have ended. Until then they can be retried.
    pub fn cancelled(mut self, keep: Duration) -> Self {
        self.cancelled = Some(keep);
        self
    }

    /// How long the id of a deleted run is kept, so that a late repetition of its start does not begin it anew. The
    /// default is 30 days. This holds for [`Engine::delete_run`](crate::Engine::delete_run) too.
    pub fn ids(mut self, keep: Duration) -> Self {
        self.ids = keep;
        self
    }

    /// How long the id of a deleted run is kept.
    pub(super) fn keeps_ids(self) -> Duration {
        self.ids
    }

    /// The statuses of which runs are deleted, and after how long.
    pub(super) fn ages(self) -> impl Iterator<Item = (RunStatus, Duration)> {
        let Retention { completed, failed, cancelled, ids: _ } = self;
        let all = [
            (RunStatus::Completed, completed),
            (RunStatus::StartedOver, completed),
            (RunStatus::Failed, failed),
            (RunStatus::Cancelled, cancelled),
        ];
        all.into_iter().filter_map(|(status, keep)| Some((status, keep?)))
    }

    pub(super) fn deletes_something(self) -> bool {
        self.ages().next().is_some()
    }
}
