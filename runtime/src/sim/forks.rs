//! Forks: a run that is over is forked, and the fork is played and judged like any other run. The original run does not
//! change.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::Value;

use super::behaviour;
use super::disk::Disk;
use super::life::{Ended, Life};
use super::originals::{EARLY, id, link};
use super::process::is_on_purpose;
use super::processes::Driving;
use super::scenario::ForkAt;
use crate::engine::{CancelError, ForkError, Outcome, Run};
use crate::event::EventKind;
use crate::run_error::RunError;
use crate::store::{StoreError, Stored};

/// The runs of a scenario that are over, with the outcome of each.
pub(super) fn ended(disk: &Disk, outcomes: Vec<Outcome<Value>>) -> Vec<Ended> {
    let originals = disk.originals().into_iter().map(|original| (original.records, original.events));
    let last = (disk.with_records(<[Stored]>::to_vec), disk.with_follower(|follower| follower.events()));
    let ids = (0..disk.forks()).map(id).chain([disk.id()]);
    let runs = originals.chain([last]).zip(outcomes).zip(ids);
    runs.map(|(((records, events), outcome), id)| Ended { id, outcome, records, events }).collect()
}

/// The early fork, if there is one.
pub(super) fn ended_early(disk: &Disk, outcome: Option<Outcome<Value>>) -> Option<Ended> {
    let (records, events) = disk.early()?;
    Some(Ended { id: EARLY.to_owned(), outcome: outcome?, records, events })
}

/// The forks that were requested and forked.
///
/// # Errors
/// One that is not over.
pub(super) fn ended_links(disk: &Disk, mut outcomes: BTreeMap<String, Outcome<Value>>) -> Result<Vec<Ended>, String> {
    let links = disk.links().into_iter().map(|(id, records, events)| match outcomes.remove(&id) {
        Some(outcome) => Ok(Ended { id, outcome, records, events }),
        None => Err(format!("the fork `{id}` is not over")),
    });
    links.collect()
}

impl Life<'_> {
    /// The id of the run that is played now.
    pub(super) fn id(&self) -> String {
        self.disk.id()
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
                    let requester = if early.requested { Some(self.without_workflows(&driving)?) } else { None };
                    let engine_of_fork = requester.as_ref().map_or(engine, |requester| &requester.engine);
                    let asked = engine_of_fork.fork(original.id).id(EARLY);
                    let asked = match early.before {
                        Some(before) => asked.before(1 + before % original.records),
                        None => asked,
                    };
                    match asked.await {
                        Ok(run) => {
                            self.ledger.is_forked_early(original.status.is_suspended());
                            match requester {
                                None => Ok(run),
                                Some(requester) => self.is_requested(&driving, &requester, EARLY).await?,
                            }
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
                    // The process in charge may have begun before there was a fork.
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
    pub(super) async fn forks(
        &self,
        driving: &Driving,
        fork: ForkAt,
    ) -> Result<Result<Run<Value>, StoreError>, String> {
        let requester = if fork.requested { Some(self.without_workflows(driving)?) } else { None };
        let engine = requester.as_ref().map_or(&driving.engine, |requester| &requester.engine);
        let number = self.disk.forks() + 1;
        if let Some(requester) = &requester
            && fork.chain > 0
        {
            return self.forks_by_links(driving, requester, fork, number).await;
        }
        let records = self.disk.with_records(<[Stored]>::len) as u64;
        let asked = engine.fork(self.id()).id(id(number));
        let asked = match fork.before {
            Some(before) => asked.before(1 + before % records),
            None => asked,
        };
        match asked.await {
            Ok(run) => match requester {
                None => Ok(Ok(run)),
                Some(requester) => self.is_requested(driving, &requester, run.id()).await,
            },
            Err(ForkError::Store(error) | ForkError::Run(RunError::Store(error))) => Ok(Err(error)),
            Err(other) => Err(format!("the run cannot be forked: {other}")),
        }
    }

    /// Requests a fork of a fork, which is requested as well, and so on. None of them is carried out yet, unless a process
    /// that lives is faster.
    async fn forks_by_links(
        &self,
        driving: &Driving,
        requester: &Driving,
        fork: ForkAt,
        number: usize,
    ) -> Result<Result<Run<Value>, StoreError>, String> {
        let mut origin = self.id();
        for at in 0..=fork.chain {
            let (id, is_last) = if at < fork.chain { (link(number, at), false) } else { (id(number), true) };
            let drawn = |what: &str| behaviour::drawn(self.scenario.chance, &id, what);
            let records = self.disk.header(&origin).map_or(1, |origin| origin.records);
            let before = match at {
                0 => fork.before,
                _ => drawn("before").in_percent(30).then(|| drawn("before record").below(1000) as u64),
            };
            let asked = requester.engine.fork(&*origin).id(&*id);
            let asked = match before {
                Some(before) => asked.before(1 + before % records),
                None => asked,
            };
            match asked.await {
                // A process that has died has requested it.
                Ok(_) | Err(ForkError::IdTaken { .. }) => {}
                Err(ForkError::Store(error)) => return Ok(Err(error)),
                Err(other) => return Err(format!("the fork `{origin}` cannot be forked: {other}")),
            }
            // The forks that copy it are not cancelled.
            if !is_last && drawn("cancelled at once").in_percent(50) {
                match requester.engine.cancel(&id).await {
                    Ok(()) => {}
                    Err(CancelError::Store(error)) => return Ok(Err(error)),
                    Err(unknown) => return Err(unknown.to_string()),
                }
            }
            origin = id;
        }
        self.is_requested(driving, requester, &origin).await
    }

    /// Cancels the forks that were forked before they were carried out, and awaits their ends.
    pub(super) async fn ends_links(&self, driving: &Driving) -> Result<Result<(), StoreError>, String> {
        let links = self.disk.links().into_iter().map(|(id, ..)| id).filter(|id| !self.ledger.has_ended_link(id));
        for id in links {
            let run = match self.recovers(&driving.engine, &id).await? {
                Ok(run) => run,
                Err(error) => return Ok(Err(error)),
            };
            match run.cancel().await {
                Ok(()) => {}
                Err(CancelError::Store(error)) => return Ok(Err(error)),
                Err(unknown) => return Err(unknown.to_string()),
            }
            let outcome = loop {
                match run.outcome().await {
                    Ok(Outcome::Waiting(_) | Outcome::AwaitingSignals(_)) => {
                        tokio::time::sleep(Duration::from_millis(20)).await;
                    }
                    Ok(outcome) => break outcome,
                    Err(RunError::Store(error)) => return Ok(Err(error)),
                    Err(other) => return Err(format!("the fork `{id}` has stopped: {other}")),
                }
            };
            self.ledger.ends_link(id, outcome);
        }
        Ok(Ok(()))
    }

    /// Whether the run that a fork comes from was cancelled: then the fork is not, which would keep it from ever being
    /// completed.
    pub(super) fn is_of_a_cancelled_run(&self) -> bool {
        let is_cancelled = |at: &Stored| matches!(at.record.kind, EventKind::RunCancelled);
        self.disk.originals().iter().any(|original| original.records.iter().any(is_cancelled))
    }
}
