//! Cancellation, for runs of any process.

use super::inner::Engine;
use crate::event::EventKind;
use crate::halt::Halt;
use crate::meter;
use crate::store::{Append, Appended, HeaderChange, Record, Records, RunHeader, RunStatus, StoreError};

/// A run was not cancelled.
///
/// ```
/// use graphweft::prelude::*;
/// use graphweft::CancelError;
///
/// # graphweft::block_on(async {
/// let engine = Engine::builder().build()?;
/// let error = engine.cancel("order-7").await.unwrap_err();
/// assert_eq!(error, CancelError::UnknownRun { run: "order-7".into() }); // a 404 of an HTTP API
/// # Ok::<(), graphweft::BuildError>(()) }).unwrap();
/// ```
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CancelError {
    /// There is no such run, or it was deleted.
    #[error("there is no run `{run}`, or it was deleted")]
    UnknownRun {
        /// The id that was asked for, or that of a run to which it leads by starting over.
        run: String,
    },
    /// The request cannot be recorded.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl Engine {
    /// Cancels a run of any process; see [`Run::cancel`](crate::Run::cancel). Does nothing if the run has ended. If it has
    /// [started over](crate::Context::start_over), cancels the last run that follows it.
    ///
    /// ```
    /// # use graphweft::prelude::*;
    /// # use graphweft::CancelError;
    /// # #[node] async fn hold(n: u32, ctx: &Context) -> u32 { ctx.ask::<u32>("more", "How many more?").await + n }
    /// # workflow! { held(u32) -> u32 { START => hold; } }
    /// # graphweft::block_on(async {
    /// let engine = Engine::builder().build()?;
    /// let run = engine.start::<held>(4).id("order-7").await?;
    /// engine.cancel("order-7").await?;
    /// assert!(matches!(run.outcome().await?, Outcome::Cancelled));
    /// assert!(matches!(engine.cancel("order-8").await, Err(CancelError::UnknownRun { .. })));
    /// # Ok::<(), Box<dyn std::error::Error>>(()) }).unwrap();
    /// ```
    ///
    /// # Errors
    /// [`CancelError`]. Nothing is recorded then, except with [`CancelError::Store`], where the request may be.
    pub async fn cancel(&self, run: &str) -> Result<(), CancelError> {
        let mut run = run.to_owned();
        loop {
            if let Some(live) = self.0.runs.get(&run) {
                live.journal.push_cancel();
                let Err(halt) = live.journal.flush().await else {
                    // The request came behind the last record of a run that has started over.
                    match live.journal.next() {
                        Some(next) => run = next,
                        None => return Ok(()),
                    }
                    continue;
                };
                // The run is leaving this process.
                Engine::until_gone(&live).await;
                match halt {
                    Halt::Store(error) => return Err(error.into()),
                    _ => continue,
                }
            }
            let Some(header) = self.0.store.header(&run).await? else { return Err(CancelError::UnknownRun { run }) };
            if header.status.is_over() {
                match header.next {
                    Some(next) => run = next,
                    None => return Ok(()),
                }
                continue;
            }
            if self.obstacle(&header).await?.is_some() {
                if self.end_cancelled(&header).await? {
                    return Ok(());
                }
                continue;
            }
            let record = Record { path: header.workflow.clone(), kind: EventKind::CancelRequested };
            if self.add(&header, header.records, vec![record]).await? {
                self.adopt(&header).await;
                return Ok(());
            }
        }
    }

    /// Ends a run that no living engine has and that this program cannot resume, for which no graph is needed. `false`
    /// if another engine was faster: the caller has to look again.
    async fn end_cancelled(&self, header: &RunHeader) -> Result<bool, StoreError> {
        // It does not wait for any: nothing would look for their ends.
        self.cancel_started(&header.id, header.key).await?;
        let record = |kind| Record { path: header.workflow.clone(), kind };
        let mut records = vec![record(EventKind::CancelRequested), record(EventKind::RunCancelled)];
        if header.owner.is_some() {
            // Its owner is dead, or only believed to be: then its later appends are refused.
            records.insert(0, record(EventKind::RunResumed { owner: self.owner().await?.0 }));
        }
        let append = Append {
            run: header.key,
            at: header.records,
            time: self.0.env.clock.now(),
            records: Records::from(records),
            header: HeaderChange {
                status: Some((RunStatus::Cancelled, None)),
                owner: Some(None),
                ..HeaderChange::default()
            },
        };
        // Read for the metrics only: the store closes them with the run.
        let open = if meter::IS_ON { self.asked(header.key).await?.open().len() } else { 0 };
        let is_done = self.0.append(append).await? == Appended::Done;
        if is_done {
            meter::run_ended(&header.workflow, "cancelled");
            meter::questions_changed(0, open);
            self.halted().remove(&header.key);
        }
        Ok(is_done)
    }
}
