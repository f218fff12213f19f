//! Deleting runs, one by one or after a time.

use std::sync::Weak;
use std::time::Duration;

use super::inner::{Engine, Inner};
use super::retention::Retention;
use super::runtime;
use crate::core::after;
use crate::store::{Delete, ReserveTask, RunKey, RunQuery, RunStatus, StoreError};

/// How often an engine looks for runs that are to be deleted.
const LOOK: Duration = Duration::from_secs(60);

/// How long another engine does not look after one has.
const RESERVED: Duration = Duration::from_secs(90);

/// The pause where there may be more of them.
const LOOK_FOR_MORE: Duration = Duration::from_secs(1);

/// How many runs are deleted at once.
const AT_ONCE: usize = 100;

/// A run was not deleted.
///
/// A run that is under way is cancelled first:
///
/// ```
/// use graphweft::prelude::*;
/// use graphweft::DeleteError;
///
/// #[node]
/// async fn review(ctx: &Context) -> bool { ctx.ask("approve", "Ship it?").await }
/// workflow! { pub publish(()) -> bool { START => review; } }
///
/// # graphweft::block_on(async {
/// let engine = Engine::builder().build()?;
/// let run = engine.start::<publish>(()).id("poem").await?;
/// if let Err(DeleteError::NotOver { .. }) = engine.delete_run("poem").await {
///     run.cancel().await?;
///     run.outcome().await?;
///     engine.delete_run("poem").await?;
/// }
/// assert!(engine.get_run("poem").await?.is_none());
/// # Ok::<(), Box<dyn std::error::Error>>(()) }).unwrap();
/// ```
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DeleteError {
    /// There is no such run.
    #[error("there is no run `{run}`")]
    UnknownRun {
        /// The id that was asked for.
        run: String,
    },
    /// The run has not ended.
    #[error("run `{run}` has not ended; cancel it first, and wait for its end")]
    NotOver {
        /// Its id.
        run: String,
    },
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl Engine {
    /// Deletes a run that has ended, with all of its records. Forks of it stay as they are. The space that it took is
    /// free for others.
    ///
    /// Its id is kept for 30 days, or as long as [`Retention::ids`](crate::Retention::ids) says: until then starting a run with it is
    /// [`StartError::Deleted`](crate::StartError::Deleted), so that a late repetition of the same start does nothing
    /// twice.
    ///
    /// ```
    /// # use graphweft::prelude::*;
    /// # #[node] async fn double(n: u32) -> u32 { 2 * n }
    /// # workflow! { doubled(u32) -> u32 { START => double; } }
    /// # graphweft::block_on(async {
    /// let engine = Engine::builder().build()?;
    /// engine.start::<doubled>(4).id("order-7").await?.result().await?;
    /// engine.delete_run("order-7").await?;
    /// assert!(engine.get_run("order-7").await?.is_none());
    /// # Ok::<(), Box<dyn std::error::Error>>(()) }).unwrap();
    /// ```
    ///
    /// # Errors
    /// [`DeleteError`]. Nothing is deleted then, except with [`DeleteError::Store`], where it may be.
    ///
    /// # Cancel safety
    /// If the future is dropped, the run may or may not be deleted.
    pub async fn delete_run(&self, run: &str) -> Result<(), DeleteError> {
        if let Some(live) = self.0.runs.get(run) {
            live.journal.catch_up_now();
        }
        let Some(header) = self.0.store.header(run).await? else {
            return Err(DeleteError::UnknownRun { run: run.to_owned() });
        };
        if self.delete_all(vec![header.key], self.0.retention).await? == 0 {
            return Err(DeleteError::NotOver { run: run.to_owned() });
        }
        Ok(())
    }

    /// Deletes the runs whose time is over by [`EngineBuilder::retention`](crate::EngineBuilder::retention), and returns
    /// how many those were. An engine does that by itself once a minute, from its first run or its
    /// [`recover`](Self::recover) on; this is for a program that ends before, or has its own hours for it.
    ///
    /// # Errors
    /// If the store cannot be read or written. Some runs may be deleted then.
    ///
    /// # Cancel safety
    /// If the future is dropped, some of the runs are deleted.
    pub async fn delete_expired(&self) -> Result<u64, StoreError> {
        self.delete_expired_by(self.0.retention).await
    }

    /// The same by another [`Retention`] than that of the engine: for a command that deletes old runs now.
    /// [`count_expired_by`](Self::count_expired_by) says before how many those are.
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use graphweft::prelude::*;
    /// # use graphweft::Retention;
    /// # #[node] async fn double(n: u32) -> u32 { 2 * n }
    /// # workflow! { doubled(u32) -> u32 { START => double; } }
    /// # graphweft::block_on(async {
    /// let engine = Engine::builder().build()?;
    /// engine.start::<doubled>(4).id("order-7").await?.result().await?;
    /// let retention = Retention::completed(Duration::ZERO);
    /// assert_eq!(engine.count_expired_by(retention).await?, 1);
    /// assert_eq!(engine.delete_expired_by(retention).await?, 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(()) }).unwrap();
    /// ```
    ///
    /// # Errors
    /// If the store cannot be read or written. Some runs may be deleted then.
    ///
    /// # Cancel safety
    /// If the future is dropped, some of the runs are deleted.
    pub async fn delete_expired_by(&self, retention: Retention) -> Result<u64, StoreError> {
        let mut deleted = 0;
        for (status, keep) in retention.ages() {
            let mut before = Vec::new();
            loop {
                let runs = self.some_expired(status, keep).await?;
                // Another one may delete beside this: what was found says whether there is more, not what was deleted.
                let is_all = runs.len() < AT_ONCE || runs == before;
                before.clone_from(&runs);
                deleted += self.delete_all(runs, retention).await?;
                if is_all {
                    break;
                }
            }
        }
        Ok(deleted)
    }

    /// How many runs [`delete_expired_by`](Self::delete_expired_by) would delete. Changes nothing.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub async fn count_expired_by(&self, retention: Retention) -> Result<u64, StoreError> {
        let mut count = 0;
        for (status, keep) in retention.ages() {
            if let Some(expired) = self.expired(status, keep) {
                count += self.0.store.count(expired).await?;
            }
        }
        Ok(count)
    }

    /// Deletes the runs whose time is over, as long as the engine is there and the runtime has timers. A task of its own:
    /// runs that are due do not wait for it.
    pub(super) async fn delete_regularly(inner: Weak<Inner>) {
        loop {
            let Some(inner) = inner.upgrade().filter(|inner| !inner.runs.is_closed()) else { return };
            let pause = Engine::behind(inner).delete_a_batch().await.unwrap_or_else(|error| {
                tracing::warn!(%error, "runs whose time is over cannot be deleted");
                LOOK
            });
            let Ok(sleep) = runtime::sleep(pause) else { return };
            sleep.await;
        }
    }

    /// The same once, and not all of them, unless another engine does it. Returns when to look again.
    async fn delete_a_batch(&self) -> Result<Duration, StoreError> {
        let now = self.0.env.clock.now();
        let (task, owner) = ("retention".to_owned(), self.owner().await?);
        if !self.0.store.reserve_task(ReserveTask { task, owner, until: now + RESERVED, now }).await? {
            return Ok(LOOK);
        }
        let mut pause = LOOK;
        for (status, keep) in self.0.retention.ages() {
            let runs = self.some_expired(status, keep).await?;
            if runs.len() == AT_ONCE {
                pause = LOOK_FOR_MORE;
            }
            self.delete_all(runs, self.0.retention).await?;
        }
        Ok(pause)
    }

    /// The runs with a status that have had it for so long; `None` if that is longer than there is time.
    fn expired(&self, status: RunStatus, keep: Duration) -> Option<RunQuery> {
        let since = self.0.env.clock.now().checked_sub(keep)?;
        Some(RunQuery { status: vec![status], unchanged_since: Some(since), ..RunQuery::default() })
    }

    async fn some_expired(&self, status: RunStatus, keep: Duration) -> Result<Vec<RunKey>, StoreError> {
        let Some(expired) = self.expired(status, keep) else { return Ok(Vec::new()) };
        let query = RunQuery { oldest_first: true, limit: AT_ONCE, ..expired };
        Ok(self.0.store.list(query).await?.iter().map(|header| header.key).collect())
    }

    async fn delete_all(&self, runs: Vec<RunKey>, by: Retention) -> Result<u64, StoreError> {
        if runs.is_empty() {
            return Ok(0);
        }
        let now = self.0.env.clock.now();
        let ids_until = Some(by.keeps_ids()).filter(|keep| !keep.is_zero());
        let ids_until = ids_until.map(|keep| after(now, keep));
        Ok(self.0.store.delete(Delete { runs, ids_until, now }).await?.len() as u64)
    }
}
