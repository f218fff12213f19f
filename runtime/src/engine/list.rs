//! Listing and counting runs.

use std::ops::{Bound, RangeBounds};
use std::time::{Duration, SystemTime};

use super::info::RunInfo;
use super::inner::Engine;
use crate::store::{RunKey, RunQuery, RunStatus, StoreError, Tags, to_the_millisecond};

/// Which runs to list or to count; the default is all, of which the newest hundred are listed.
///
/// ```
/// use graphweft::{RunFilter, store::RunStatus};
/// # use std::time::{Duration, SystemTime};
///
/// let yesterday = SystemTime::now() - Duration::from_secs(24 * 60 * 60);
/// let failed = RunFilter::default().id_prefix("acme/").status(RunStatus::Failed).started(yesterday..).limit(20);
/// # assert_eq!(failed.limit, 20);
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
#[must_use = "a filter does nothing alone: pass it to `engine.list_runs` or `engine.count_runs`"]
pub struct RunFilter {
    /// Runs whose ids begin with this.
    pub id_prefix: String,
    /// Runs of one of these workflows; empty: all.
    pub workflow: Vec<String>,
    /// Runs with one of these statuses; empty: all.
    pub status: Vec<RunStatus>,
    /// Runs that were forked from this one.
    pub forked_from: Option<String>,
    /// Runs that nodes of this one have started.
    pub started_by: Option<String>,
    /// Runs with all of these [tags](crate::Start::tag).
    pub tags: Tags,
    /// Runs that were started at this time or later, to the millisecond.
    pub from: Option<SystemTime>,
    /// Runs that were started before this time, to the millisecond.
    pub until: Option<SystemTime>,
    /// Runs that were started before this one: [`RunInfo::key`] of the last one of a page gives the next page.
    pub before: Option<RunKey>,
    /// Runs that were started after this one: the same with the oldest first.
    pub after: Option<RunKey>,
    /// Whether the oldest run comes first.
    pub oldest_first: bool,
    /// The maximum number of runs that are listed; 0 for none.
    pub limit: usize,
}

impl Default for RunFilter {
    fn default() -> Self {
        RunFilter {
            id_prefix: String::new(),
            workflow: Vec::new(),
            status: Vec::new(),
            forked_from: None,
            started_by: None,
            tags: Tags::new(),
            from: None,
            until: None,
            before: None,
            after: None,
            oldest_first: false,
            limit: 100,
        }
    }
}

impl RunFilter {
    /// Runs whose ids begin with this.
    pub fn id_prefix(mut self, prefix: impl Into<String>) -> Self {
        self.id_prefix = prefix.into();
        self
    }

    /// Runs of a workflow. Called several times: runs of one of these workflows.
    pub fn workflow(mut self, name: impl Into<String>) -> Self {
        self.workflow.push(name.into());
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

    /// Runs that nodes of a run have [started](crate::Context::start).
    pub fn started_by(mut self, run: impl Into<String>) -> Self {
        self.started_by = Some(run.into());
        self
    }

    /// Runs with this [tag](crate::Start::tag). Called several times: runs with all of these tags.
    pub fn tag(mut self, key: impl Into<String>, value: impl Into<String>) -> Self {
        self.tags.insert(key.into(), value.into());
        self
    }

    /// Runs that were started in a range of time, to the millisecond.
    pub fn started(mut self, during: impl RangeBounds<SystemTime>) -> Self {
        let behind = |time: &SystemTime| time.checked_add(Duration::from_millis(1));
        self.from = match during.start_bound() {
            Bound::Included(from) => Some(*from),
            Bound::Excluded(before) => behind(before),
            Bound::Unbounded => None,
        };
        self.until = match during.end_bound() {
            Bound::Included(last) => behind(last),
            Bound::Excluded(until) => Some(*until),
            Bound::Unbounded => None,
        };
        self
    }

    /// Runs that were started after this one.
    pub fn after(mut self, run: RunKey) -> Self {
        self.after = Some(run);
        self
    }

    /// The oldest run first.
    pub fn oldest_first(mut self) -> Self {
        self.oldest_first = true;
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

    fn query(self) -> RunQuery {
        RunQuery {
            id_prefix: self.id_prefix,
            workflows: self.workflow,
            status: self.status,
            forked_from: self.forked_from,
            started_by: self.started_by,
            tags: self.tags,
            from: self.from.map(to_the_millisecond),
            until: self.until,
            before: self.before,
            after: self.after,
            oldest_first: self.oldest_first,
            limit: self.limit,
            ..RunQuery::default()
        }
    }
}

impl Engine {
    /// The runs of the store, newest first unless the filter says otherwise, a page at a time.
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
        if filter.limit == 0 {
            return Ok(Vec::new());
        }
        Ok(self.0.store.overview(filter.query()).await?.into_iter().map(RunInfo::from).collect())
    }

    /// How many runs there are, whatever the limit of the filter.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub async fn count_runs(&self, filter: RunFilter) -> Result<u64, StoreError> {
        self.0.store.count(filter.query()).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The header of a run that was started behind it, within the same millisecond, has the earlier time.
    #[test]
    fn the_first_time_of_a_range_is_one_that_headers_have() {
        let time = SystemTime::UNIX_EPOCH + Duration::new(1_700_000_000, 123_456_789);
        let whole = SystemTime::UNIX_EPOCH + Duration::from_millis(1_700_000_000_123);
        let query = RunFilter::default().started(time..).query();
        assert_eq!((query.from, query.until), (Some(whole), None));
    }
}
