//! Forks: a run that is over is forked, and the fork is played and judged like any other run. The run that it comes from
//! stays as it is.

use serde_json::Value;

use super::disk::{Disk, at_once};
use super::ledger::is_retry;
use super::play::{Ended, Life};
use super::scenario::ForkAt;
use crate::engine::{Engine, ForkError, Outcome, Run};
use crate::event::EventKind;
use crate::run_error::RunError;
use crate::store::{RunHeader, RunKey, Store, StoreError, Stored};

/// The id of the run that comes of so many forks, each of the one before it.
pub(super) fn id(forks: usize) -> String {
    if forks == 0 { "x".to_owned() } else { format!("x{forks}") }
}

/// A run that is over and was forked, as it was then.
#[derive(Clone)]
pub(super) struct Original {
    header: Option<RunHeader>,
    records: Vec<Stored>,
    events: Vec<Stored>,
    key: RunKey,
}

impl Original {
    pub(super) fn new(store: &dyn Store, key: RunKey, id: &str, records: Vec<Stored>, events: Vec<Stored>) -> Original {
        let header = at_once(store.header(id)).ok().flatten();
        Original { header, records, events, key }
    }

    /// The fork has the records before the one of its number, and then says what does not count in it.
    ///
    /// # Errors
    /// What it has otherwise.
    pub(super) fn is_forked_as(&self, store: &dyn Store, fork: &RunHeader) -> Result<(), String> {
        let (of, at) = fork.forked_from.as_ref().ok_or("a second run, and no fork")?;
        if self.header.as_ref().map(|header| &header.id) != Some(of) {
            return Err(format!("a fork of `{of}`, which is another run"));
        }
        let records = at_once(store.read(fork.key, 0, usize::MAX)).map_err(|error| error.to_string())?;
        let copied = self.records.iter().filter(|stored| stored.seq < *at).map(|stored| &stored.record);
        match records.split_last() {
            Some((last, first)) if is_retry(last) && first.iter().map(|stored| &stored.record).eq(copied) => Ok(()),
            last => Err(format!("a fork before record {at} has not the records before that: {last:?}")),
        }
    }

    /// # Errors
    /// What has changed.
    pub(super) fn is_untouched(&self, store: &dyn Store) -> Result<(), String> {
        let Some(header) = &self.header else { return Err("a run was forked that is not there".to_owned()) };
        let now = at_once(store.header(&header.id)).map_err(|error| error.to_string())?;
        if now.as_ref() != Some(header) {
            return Err(format!("the run that was forked is {now:?}, and was {header:?}"));
        }
        let records = at_once(store.read(self.key, 0, usize::MAX)).map_err(|error| error.to_string())?;
        if records != self.records {
            return Err(format!(
                "the run that was forked has {} records, and had {}",
                records.len(),
                self.records.len()
            ));
        }
        Ok(())
    }
}

/// The runs of a scenario that are over, by what came of each.
pub(super) fn ended(disk: &Disk, outcomes: Vec<Outcome<Value>>) -> Vec<Ended> {
    let originals = disk.originals().into_iter().map(|original| (original.records, original.events));
    let last = (disk.with_records(<[Stored]>::to_vec), disk.with_follower(|follower| follower.events()));
    let runs = originals.chain([last]).zip(outcomes).enumerate();
    runs.map(|(at, ((records, events), outcome))| Ended { id: id(at), outcome, records, events }).collect()
}

impl Life<'_> {
    /// The id of the run that is played now.
    pub(super) fn id(&self) -> String {
        id(self.disk.forks())
    }

    /// The fork that is asked for and not there yet.
    pub(super) fn next_fork(&self) -> Option<ForkAt> {
        let forks = self.disk.forks();
        self.scenario.forks.get(forks).copied().filter(|_| self.ledger.ended() > forks)
    }

    /// Forks the run, which is over.
    pub(super) async fn forks(&self, engine: &Engine, fork: ForkAt) -> Result<Result<Run<Value>, StoreError>, String> {
        self.ledger.begins_anew();
        let records = self.disk.with_records(<[Stored]>::len) as u64;
        let asked = engine.fork(self.id()).id(id(self.disk.forks() + 1));
        let asked = match fork.before {
            Some(before) => asked.before(1 + before % records),
            None => asked,
        };
        match asked.await {
            Ok(run) => Ok(Ok(run)),
            Err(ForkError::Store(error) | ForkError::Run(RunError::Store(error))) => Ok(Err(error)),
            Err(other) => Err(format!("the run cannot be forked: {other}")),
        }
    }

    /// Whether the run that a fork comes from was cancelled: then the fork is not, which would keep it from ever being
    /// completed.
    pub(super) fn is_of_a_cancelled_run(&self) -> bool {
        let is_cancelled = |at: &Stored| matches!(at.record.kind, EventKind::RunCancelled);
        self.disk.originals().iter().any(|original| original.records.iter().any(is_cancelled))
    }
}
