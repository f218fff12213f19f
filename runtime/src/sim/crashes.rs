//! The store fails at every commit of a scenario, one after another, before the commit is carried out and after.

use std::collections::BTreeSet;

use super::behaviour::weight;
use super::bodies::LIMIT;
use super::check::judged;
use super::disk::Takeovers;
use super::life::Ended;
use super::play::Played;
use super::records::is_retry;
use super::scenario::{How, Scenario, StoreFault};
use crate::engine::Outcome;
use crate::event::EventKind;
use crate::fault::Fault;
use crate::store::Stored;

/// How much was played.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Counts {
    pub(super) runs: u64,
    pub(super) crashes: u64,
    pub(super) store_failures: u64,
    pub(super) records: u64,
    /// Runs that were retried, and that were completed then.
    pub(super) retried: (u64, u64),
    /// Retries that were requested by a process without the workflow, and those whose run was given something to take
    /// since, or taken over, before they were carried out.
    pub(super) requested: (u64, u64),
    /// Forks that were requested, and those that were given something to take before they were carried out.
    pub(super) requested_forks: (u64, u64),
    /// Forks, and those of them that were completed.
    pub(super) forked: (u64, u64),
    pub(super) takeovers: Takeovers,
    /// Forks of runs that were not over, and those of them while the run waited.
    pub(super) forked_early: (u64, u64),
    /// Attempts at graphs the time of which was up.
    pub(super) timed_out: u64,
    /// Attempts of a process that began once more in another, while that one lived.
    pub(super) repeated: u64,
    pub(super) signals: SignalCounts,
    /// Runs that have started over.
    pub(super) started_over: u64,
}

/// What has become of signals.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct SignalCounts {
    pub(super) delivered: u64,
    /// Deliveries of a signal that had been delivered before.
    pub(super) again: u64,
    pub(super) rejected: u64,
    /// Those that came before their wait.
    pub(super) early: u64,
}

impl SignalCounts {
    fn add(&mut self, run: &Ended) {
        let mut known = BTreeSet::new();
        let mut awaited = BTreeSet::new();
        for stored in &run.records {
            match &stored.record.kind {
                EventKind::SignalAwaited { name, .. } => _ = awaited.insert(name),
                EventKind::SignalReceived { name, .. } => self.early += u64::from(!awaited.contains(name)),
                EventKind::SignalRejected { .. } => self.rejected += 1,
                EventKind::SignalDelivered { signal } => {
                    self.delivered += 1;
                    self.again += u64::from(!known.insert(*signal));
                }
                _ => {}
            }
        }
    }
}

impl Counts {
    pub(super) fn add(&mut self, played: &Played) {
        self.runs += 1;
        self.crashes += played.crashes;
        self.store_failures += played.store_failures;
        self.takeovers.add(played.takeovers);
        self.repeated += played.repeated;
        self.started_over += played.started_over;
        played.runs.iter().for_each(|run| self.signals.add(run));
        self.forked_early.0 += played.forked_early.0;
        self.forked_early.1 += played.forked_early.1;
        self.timed_out += played.runs.iter().map(timed_out).sum::<u64>();
        let Some((first, forks)) = played.runs.split_first() else { return };
        let is_completed = |run: &Ended| u64::from(matches!(run.outcome, Outcome::Completed(_)));
        self.records += played.runs.iter().map(|run| run.records.len() as u64).sum::<u64>();
        if first.records.iter().any(is_retry) {
            self.retried.0 += 1;
            self.retried.1 += is_completed(first);
        }
        for between in between_requests(first) {
            self.requested.0 += 1;
            self.requested.1 += u64::from(between > 1);
        }
        // A fork has copied the requests before its own.
        for between in forks.iter().filter_map(|fork| between_requests(fork).last()) {
            self.requested_forks.0 += 1;
            self.requested_forks.1 += u64::from(between > 1);
        }
        self.forked.0 += forks.len() as u64;
        self.forked.1 += forks.iter().map(is_completed).sum::<u64>();
    }
}

/// Plays a scenario with a fault at every commit that it makes without one.
///
/// # Errors
/// The scenario that breaks something, and what.
pub(super) fn at_every_commit(scenario: &Scenario, counts: &mut Counts) -> Result<(), Box<(Scenario, String)>> {
    let undisturbed = Scenario { faults: Vec::new(), ..scenario.clone() };
    let lived = judged(&undisturbed).map_err(|why| (undisturbed.clone(), why))?;
    counts.add(&lived);
    for at in 0..lived.commits {
        for carried_out in [false, true] {
            // Each commit has a crash, and every other way of failing in turn.
            let taken_over = How::TakenOver { after: at % 7, back: false };
            let other = [How::Full, taken_over, How::Io, How::Busy][(at % 4) as usize];
            for how in [How::Dies, other] {
                let disturbed = Scenario { faults: vec![StoreFault { at, carried_out, how }], ..undisturbed.clone() };
                let went_on = judged(&disturbed).and_then(|played| {
                    if !scenario.has_limits() {
                        same_end(&lived, &played)?;
                    }
                    Ok(played)
                });
                match went_on {
                    Ok(played) => counts.add(&played),
                    Err(why) => return Err(Box::new((disturbed, why))),
                }
            }
        }
    }
    Ok(())
}

/// How many records there are between each request of a run and that with which it was carried out.
fn between_requests(run: &Ended) -> impl Iterator<Item = usize> {
    let is_request = |at: &Stored| matches!(at.record.kind, EventKind::RunRetried { requested: true, .. });
    run.records.iter().enumerate().filter(move |(_, stored)| is_request(stored)).map(|(at, _)| {
        let rest = &run.records[at + 1..];
        rest.iter().position(is_retry).unwrap_or(rest.len())
    })
}

/// How often the time of a graph was up: the limit of all others is a certain one.
fn timed_out(run: &Ended) -> u64 {
    let is_timeout = |at: &&Stored| match &at.record.kind {
        EventKind::NodeFailed { cause, .. } => {
            matches!(cause.fault, Some(Fault::Timeout { after }) if after != LIMIT)
        }
        _ => false,
    };
    run.records.iter().filter(is_timeout).count() as u64
}

/// Whether a record is that of a failure that depends on time, or of a retry, after which nothing else fails.
fn is_up_to_time(line: &str) -> bool {
    line.contains("Interrupted")
        || line.contains("Dropped")
        || line.contains("StateConflict")
        || line.contains("run_retried")
}

/// Checks that a disturbed run has the same end as the undisturbed one. If an attempt was interrupted that may not be
/// repeated, another node was faster, or the run is cancelled, only the oracle knows the end.
fn same_end(lived: &Played, disturbed: &Played) -> Result<(), String> {
    // The results of its forks depend on how many records it had.
    match (&lived.runs[0].outcome, &disturbed.runs[0].outcome) {
        (Outcome::Completed(one), Outcome::Completed(other))
            if weight(one) != weight(other)
                && ![&disturbed.log, &lived.log].into_iter().flatten().any(|line| is_up_to_time(line)) =>
        {
            Err(format!("undisturbed it gives {one}, and here {other}"))
        }
        _ => Ok(()),
    }
}
