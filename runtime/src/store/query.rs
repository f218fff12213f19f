//! Which runs to list or to count.

use std::time::SystemTime;

use super::ids::RunKey;
use super::status::RunStatus;
use crate::event::Tags;

/// Which runs to list or to count; the default is all.
///
/// ```
/// use graphweft::store::{MemoryStore, RunQuery, RunStatus, Store};
///
/// # graphweft::block_on(async {
/// let mut query = RunQuery::default();
/// query.workflows = vec!["pay".into()];
/// query.status = vec![RunStatus::Failed, RunStatus::Cancelled];
/// query.limit = 20;
/// assert_eq!(MemoryStore::new().count(query).await?, 0);
/// # Ok::<(), graphweft::store::StoreError>(()) }).unwrap();
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct RunQuery {
    /// Whose ids begin with this, by bytes: `Order-` is no beginning of `order-7`.
    pub id_prefix: String,
    /// Of one of these workflows; empty: any.
    pub workflows: Vec<String>,
    /// Of none of these workflows.
    pub not_workflows: Vec<String>,
    /// Recorded last under none of the graphs with these hashes.
    pub not_graphs: Vec<u64>,
    /// With one of these statuses; empty: any.
    pub status: Vec<RunStatus>,
    /// Forked from this run.
    pub forked_from: Option<String>,
    /// Started by a node of this run.
    pub started_by: Option<String>,
    /// With all of these labels.
    pub tags: Tags,
    /// Whose status has changed last before this time.
    pub unchanged_since: Option<SystemTime>,
    /// Started at this time or later: one of whole milliseconds if an engine asks, as times in headers are.
    pub from: Option<SystemTime>,
    /// Started before this time.
    pub until: Option<SystemTime>,
    /// Started before this one: for the next page, newest first.
    pub before: Option<RunKey>,
    /// Started after this one: for the next page, oldest first.
    pub after: Option<RunKey>,
    /// Whether the oldest run comes first.
    pub oldest_first: bool,
    /// At most this many; 0: no limit.
    pub limit: usize,
}
