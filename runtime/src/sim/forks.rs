//! Forks: a run that is over is forked, and the fork is played and judged like any other run. The run that it comes from
//! stays as it is.

use std::time::Duration;

use serde_json::Value;

use super::disk::{Disk, at_once};
use super::ledger::is_retry;
use super::play::{Ended, Life, is_on_purpose};
use super::processes::Driving;
use super::scenario::ForkAt;
use crate::engine::{Engine, ForkError, Outcome, Run};
use crate::event::EventKind;
use crate::run_error::RunError;
use crate::store::{RunHeader, RunKey, Store, StoreError, Stored};

/// The id of the run that comes of so many forks, each of the one before it.
pub(super) fn id(forks: usize) -> String {
    if forks == 0 { "x".to_owned() } else { format!("x{forks}") }
}

/// The id of the fork of a run that is not over.
pub(super) const EARLY: &str = "early";

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

    /// # Errors
    /// What the fork has otherwise.
    pub(super) fn is_forked_as(&self, store: &dyn Store, fork: &RunHeader) -> Result<(), String> {
        let header = self.header.as_ref().ok_or("a run was forked that is not there")?;
        is_forked_as(store, &header.id, &self.records, fork)
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

/// The fork has the records before the one of its number, and then says what does not count in it.
///
/// # Errors
/// What it has otherwise.
pub(super) fn is_forked_as(store: &dyn Store, id: &str, original: &[Stored], fork: &RunHeader) -> Result<(), String> {
    let (of, at) = fork.forked_from.as_ref().ok_or("a second run, and no fork")?;
    if id != of {
        return Err(format!("a fork of `{of}`, which is another run"));
    }
    let records = at_once(store.read(fork.key, 0, usize::MAX)).map_err(|error| error.to_string())?;
    let copied = original.iter().filter(|stored| stored.seq < *at).map(|stored| &stored.record);
    match records.split_last() {
        Some((last, first)) if is_retry(last) && first.iter().map(|stored| &stored.record).eq(copied) => Ok(()),
        last => Err(format!("a fork before record {at} has not the records before that: {last:?}")),
    }
}

/// The runs of a scenario that are over, by what came of each.
pub(super) fn ended(disk: &Disk, outcomes: Vec<Outcome<Value>>) -> Vec<Ended> {
    let originals = disk.originals().into_iter().map(|original| (original.records, original.events));
    let last = (disk.with_records(<[Stored]>::to_vec), disk.with_follower(|follower| follower.events()));
    let runs = originals.chain([last]).zip(outcomes).enumerate();
    runs.map(|(at, ((records, events), outcome))| Ended { id: id(at), outcome, records, events }).collect()
}

/// The early fork, if there is one.
pub(super) fn ended_early(disk: &Disk, outcome: Option<Outcome<Value>>) -> Option<Ended> {
    let (records, events) = disk.early()?;
    Some(Ended { id: EARLY.to_owned(), outcome: outcome?, records, events })
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

    /// Forks the run when it is time, if it is not over by then, and accompanies the fork to its end.
    pub(super) async fn forks_early(&self, driving: Driving) -> Result<(), String> {
        let Some(early) = self.scenario.early else { return Ok(()) };
        tokio::time::sleep(self.clock.until(self.begun + Duration::from_millis(early.at))).await;
        let Driving { process, engine, .. } = &driving;
        while self.is_in_charge(&driving) {
            let run = match self.disk.header(EARLY) {
                Some(header) if header.status.is_over() && self.ledger.has_ended_early() => return Ok(()),
                Some(_) => self.recovers(engine, EARLY).await?,
                None => {
                    let Some(original) = self.disk.header(&self.id()).filter(|now| !now.status.is_over()) else {
                        return Ok(());
                    };
                    let asked = engine.fork(original.id).id(EARLY);
                    let asked = match early.before {
                        Some(before) => asked.before(1 + before % original.records),
                        None => asked,
                    };
                    match asked.await {
                        Ok(run) => {
                            self.ledger.is_forked_early(original.status.is_suspended());
                            Ok(run)
                        }
                        Err(ForkError::Store(error) | ForkError::Run(RunError::Store(error))) => Err(error),
                        // The run was retried, or another process has forked it.
                        Err(ForkError::IdTaken { .. }) => continue,
                        Err(other) => return Err(format!("the run cannot be forked early: {other}")),
                    }
                }
            };
            let ended = match run {
                Ok(run) => self.accompanies(&driving, &run).await?,
                Err(error) => Err(error),
            };
            match ended {
                Ok(outcome) if !self.is_in_charge(&driving) => {
                    // Whoever is in charge may have come before there was a fork.
                    if !self.ledger.has_ended_early() {
                        self.ledger.ends_early(outcome.clone());
                    }
                    self.ledger.follows(EARLY.to_owned(), outcome);
                }
                Ok(outcome) => {
                    self.ledger.ends_early(outcome);
                    return Ok(());
                }
                Err(failed) => {
                    if !is_on_purpose(&failed, &self.scenario.faults) {
                        return Err(format!("the store is said to have failed: {failed}"));
                    }
                    process.mend();
                }
            }
        }
        Ok(())
    }

    /// Forks the run, which is over.
    pub(super) async fn forks(&self, engine: &Engine, fork: ForkAt) -> Result<Result<Run<Value>, StoreError>, String> {
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
