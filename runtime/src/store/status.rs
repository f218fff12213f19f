//! The status of a run.

use std::fmt;

/// The status of a run.
///
/// ```
/// use graphweft::prelude::*;
///
/// # #[node] async fn review(ctx: &Context) -> bool { ctx.ask("approve", "Ship it?").await }
/// # workflow! { pub publish(()) -> bool { START => review; } }
/// # graphweft::block_on(async {
/// let engine = Engine::builder().build()?;
/// let run = engine.start::<publish>(()).await?;
/// # run.outcome().await?;
/// let status = run.status().await?;
/// assert!(status.is_suspended() && !status.is_over());
/// run.answer("approve", true).await?;
/// # run.outcome().await?;
/// assert_eq!(run.status().await?, RunStatus::Completed);
/// assert_eq!(engine.count_runs(RunFilter::default().status(RunStatus::Waiting)).await?, 0);
/// # Ok::<(), Box<dyn std::error::Error>>(()) }).unwrap();
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum RunStatus {
    /// Nodes are running, or were when their process died.
    Running,
    /// It cannot make progress until a question is answered or a signal comes (or a timer fires).
    Waiting,
    /// It cannot make progress until a timer fires, or a [pool](crate::Executor) has a result that it has not had for some time; no
    /// question is open, and no signal is awaited.
    Sleeping,
    /// It has completed, with its output.
    Completed,
    /// A node failed, and its error was not routed.
    Failed,
    /// It was cancelled.
    Cancelled,
    /// It has started over: another run follows.
    StartedOver,
}

/// In words: `running`, `started over`.
impl fmt::Display for RunStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            RunStatus::Running => "running",
            RunStatus::Waiting => "waiting",
            RunStatus::Sleeping => "sleeping",
            RunStatus::Completed => "completed",
            RunStatus::Failed => "failed",
            RunStatus::Cancelled => "cancelled",
            RunStatus::StartedOver => "started over",
        })
    }
}

impl RunStatus {
    /// Whether the run has ended.
    pub fn is_over(self) -> bool {
        matches!(self, RunStatus::Completed | RunStatus::Failed | RunStatus::Cancelled | RunStatus::StartedOver)
    }

    /// Whether the run is suspended: it waits for an answer, a signal, a timer or a pool.
    pub fn is_suspended(self) -> bool {
        matches!(self, RunStatus::Waiting | RunStatus::Sleeping)
    }
}
