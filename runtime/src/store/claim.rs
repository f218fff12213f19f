//! Runs that are taken over.

use std::time::{Instant, SystemTime};

use super::append::HeaderChange;
use super::error::StoreError;
use super::header::RunHeader;
use super::ids::{Owner, RunKey};
use super::record::Record;
use super::status::RunStatus;
use crate::event::EventKind;

/// Which runs to take over.
///
/// What a store does with each run that an engine takes over, after it has looked that no other engine owns it:
///
/// ```
/// use std::time::SystemTime;
/// use graphweft::store::{Claim, Record, RunHeader};
///
/// fn take_over(claim: &Claim, header: &mut RunHeader, last_record: Option<SystemTime>) -> (SystemTime, Record) {
///     let time = claim.resumed_at(last_record);
///     let record = claim.record(&header.workflow); // what the former owner appends later, conflicts with it
///     header.apply(&claim.change(), 1, time);
///     (time, record)
/// }
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Claim {
    /// The new owner.
    pub owner: Owner,
    /// Runs of these workflows. What was nudged is reported for all of them.
    pub workflows: Vec<String>,
    /// Only this run, if it is of these workflows.
    pub only: Option<RunKey>,
    /// Not these runs, which it already executes, or cannot execute.
    pub except: Vec<RunKey>,
    /// Also its own runs that are running. Its own suspended runs are taken in any case: an engine keeps a run that it
    /// has unloaded.
    pub own: bool,
    /// Also runs whose owner is no longer alive. Runs that have no owner are taken in any case.
    pub orphans: bool,
    /// The time when it was made.
    pub now: SystemTime,
    /// At most this many runs: those that have been ready for the longest time. 0: none.
    pub limit: usize,
    /// When that was, by a clock that is never set.
    pub(crate) begun: Instant,
}

impl Claim {
    /// All runs of these workflows that are ready and that no other living engine owns, at most 100.
    pub fn new(owner: Owner, workflows: Vec<String>, now: SystemTime) -> Self {
        let begun = Instant::now();
        Claim { owner, workflows, only: None, except: Vec::new(), own: false, orphans: true, now, limit: 100, begun }
    }

    /// The record that is added to a run which is taken over.
    pub fn record(&self, workflow: &str) -> Record {
        Record { path: workflow.to_owned(), kind: EventKind::RunResumed { owner: self.owner.0 } }
    }

    /// The time of that record, in a run whose last record is of the time `last`, if it has one: [`now`](Self::now), or `last`, if the run has got
    /// records while the claim waited, for a connection or a lock. A time before theirs would say that the clock was set back, and the run would
    /// end its delays early. It was set back if `last` has yet to come, by how long the claim has waited, and then the time is `now`.
    pub fn resumed_at(&self, last: Option<SystemTime>) -> SystemTime {
        let by_now = self.now + self.begun.elapsed();
        last.filter(|last| *last <= by_now).map_or(self.now, |last| last.max(self.now))
    }

    /// What changes in the header of a run which is taken over. All stores do this, with [`RunHeader::apply`].
    pub fn change(&self) -> HeaderChange {
        HeaderChange {
            status: Some((RunStatus::Running, None)),
            owner: Some(Some(self.owner)),
            ..HeaderChange::default()
        }
    }
}

/// The result of [`Store::claim`](super::Store::claim).
///
/// ```
/// use graphweft::store::{Claimed, Damaged, RunKey, StoreError};
///
/// let mut claimed = Claimed::default();
/// let torn = StoreError::Other { message: "row 7 has no workflow".into() };
/// claimed.damaged.push(Damaged::new(RunKey::new(7), "order-7", torn)); // reported, and not taken over
/// assert!(claimed.runs.is_empty());
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Claimed {
    /// The runs that the caller now owns, including the new record.
    pub runs: Vec<RunHeader>,
    /// Runs that are ready, but whose headers cannot be read. They were not taken over and not changed.
    pub damaged: Vec<Damaged>,
    /// Runs of the caller to which other engines have added records since its last claim, and runs of
    /// [`Claim::except`] that other engines have taken over since, which believed the caller to be dead. One that is reported
    /// again, or has not changed, does no harm: the engine reads what is new of it.
    pub nudged: Vec<RunKey>,
    /// When the next waiting run of these workflows will be ready.
    pub next_wake: Option<SystemTime>,
}

/// A damaged run, which cannot be taken over.
///
/// One run that cannot be read does not keep the others from being resumed:
///
/// ```
/// use graphweft::store::{Damaged, RunKey, StoreError};
///
/// fn report(damaged: &[Damaged]) -> Vec<String> {
///     damaged.iter().map(|run| format!("{}: {}", run.id, run.error)).collect()
/// }
///
/// let torn = StoreError::Other { message: "its row ends early".into() };
/// assert_eq!(report(&[Damaged::new(RunKey::new(7), "order-7", torn)]), ["order-7: its row ends early"]);
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Damaged {
    /// Its number, for [`Claim::except`].
    pub key: RunKey,
    /// Its id if that can be read, or else its number.
    pub id: String,
    /// What is wrong with it.
    pub error: StoreError,
}

impl Damaged {
    /// A run that is damaged in this way.
    pub fn new(key: RunKey, id: impl Into<String>, error: StoreError) -> Self {
        Damaged { key, id: id.into(), error }
    }
}
