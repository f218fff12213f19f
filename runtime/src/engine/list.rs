//! What runs there are.

use std::time::SystemTime;

use super::Engine;
use crate::store::{RunHeader, RunKey, RunQuery, RunStatus, StoreError};

/// Which runs to list; the default is the newest hundred of all.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct RunFilter {
    /// Runs of this workflow.
    pub workflow: Option<String>,
    /// Runs that have come this far; empty: all.
    pub status: Vec<RunStatus>,
    /// Runs that were forked from this one.
    pub forked_from: Option<String>,
    /// Runs that were started before this one: [`RunInfo::key`] of the last one of a page gives the next page.
    pub before: Option<RunKey>,
    /// At most so many.
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

    /// Runs that have come this far. Given several times: runs in one of these states.
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

    /// At most so many.
    pub fn limit(mut self, runs: usize) -> Self {
        self.limit = runs;
        self
    }
}

/// What there is to know of a run without its records.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct RunInfo {
    /// Its place among all runs.
    pub key: RunKey,
    /// Its id.
    pub id: String,
    /// The name of its workflow.
    pub workflow: String,
    /// How far it has come.
    pub status: RunStatus,
    /// When it was started.
    pub created: SystemTime,
    /// When its status changed last.
    pub updated: SystemTime,
    /// How many records it has.
    pub records: u64,
    /// When it goes on by itself, where it waits for a timer.
    pub wake_at: Option<SystemTime>,
    /// The run that it was forked from, and the number of the first record that was not taken over.
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
    /// let failed = engine.runs(RunFilter::default().status(RunStatus::Failed).limit(20)).await?;
    /// assert!(failed.is_empty());
    /// # Ok::<(), Box<dyn std::error::Error>>(()) }).unwrap();
    /// ```
    ///
    /// # Errors
    /// Where the store cannot be read.
    pub async fn runs(&self, filter: RunFilter) -> Result<Vec<RunInfo>, StoreError> {
        let RunFilter { workflow, status, forked_from, before, limit } = filter;
        let query = RunQuery { workflow, status, forked_from, before, limit, ..RunQuery::default() };
        Ok(self.0.store.list(query).await?.into_iter().map(RunInfo::from).collect())
    }
}
