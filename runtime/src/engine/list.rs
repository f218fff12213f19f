//! Listing runs.

use std::time::SystemTime;

use super::inner::Engine;
use crate::store::{RunHeader, RunKey, RunQuery, RunStatus, StoreError};

/// Which runs to list; the default is the newest hundred of all.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct RunFilter {
    /// Runs of this workflow.
    pub workflow: Option<String>,
    /// Runs with one of these statuses; empty: all.
    pub status: Vec<RunStatus>,
    /// Runs that were forked from this one.
    pub forked_from: Option<String>,
    /// Runs that were started before this one: [`RunInfo::key`] of the last one of a page gives the next page.
    pub before: Option<RunKey>,
    /// The maximum number of runs; 0 for none.
    pub limit: usize,
}

impl Default for RunFilter {
    fn default() -> Self {
        RunFilter { workflow: None, status: Vec::new(), forked_from: None, before: None, limit: 100 }
    }
}

impl RunFilter {
    /// Runs of a workflow.
    pub fn workflow(mut self, name: impl Into<String>) -> Self {
        self.workflow = Some(name.into());
        self
    }

    /// Runs with this status. Called several times: runs with one of these statuses.
    pub fn status(mut self, status: RunStatus) -> Self {
        self.status.push(status);
        self
    }

    /// Runs that were forked from a run.
    pub fn forked_from(mut self, run: impl Into<String>) -> Self {
        self.forked_from = Some(run.into());
        self
    }

    /// Runs that were started before this one.
    pub fn before(mut self, run: RunKey) -> Self {
        self.before = Some(run);
        self
    }

    /// At most this many runs; 0 for none.
    pub fn limit(mut self, runs: usize) -> Self {
        self.limit = runs;
        self
    }
}

/// A run, without its events.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct RunInfo {
    /// Its position among all runs.
    pub key: RunKey,
    /// Its id.
    pub id: String,
    /// The name of its workflow.
    pub workflow: String,
    /// Its status.
    pub status: RunStatus,
    /// When it was started.
    pub created: SystemTime,
    /// When its status changed last.
    pub updated: SystemTime,
    /// The number of its recorded events.
    pub records: u64,
    /// When its next timer fires, if it waits for one.
    pub wake_at: Option<SystemTime>,
    /// The run that it was forked from, and the number of the first event that was not copied.
    pub forked_from: Option<(String, u64)>,
}

impl From<RunHeader> for RunInfo {
    fn from(header: RunHeader) -> Self {
        let RunHeader { key, id, workflow, status, created, updated, records, wake_at, forked_from, .. } = header;
        RunInfo { key, id, workflow, status, created, updated, records, wake_at, forked_from }
    }
}

impl Engine {
    /// The runs of the store, newest first, a page at a time.
    ///
    /// ```
    /// # use graphweft::prelude::*;
    /// # use graphweft::{RunFilter, store::RunStatus};
    /// # graphweft::block_on(async {
    /// let engine = Engine::builder().build()?;
    /// let failed = engine.list_runs(RunFilter::default().status(RunStatus::Failed).limit(20)).await?;
    /// assert!(failed.is_empty());
    /// # Ok::<(), Box<dyn std::error::Error>>(()) }).unwrap();
    /// ```
    ///
    /// # Errors
    /// If the store cannot be read.
    pub async fn list_runs(&self, filter: RunFilter) -> Result<Vec<RunInfo>, StoreError> {
        let RunFilter { workflow, status, forked_from, before, limit } = filter;
        if limit == 0 {
            return Ok(Vec::new());
        }
        let query = RunQuery { workflow, status, forked_from, before, limit, ..RunQuery::default() };
        Ok(self.0.store.list(query).await?.into_iter().map(RunInfo::from).collect())
    }
}
