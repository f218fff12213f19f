//! Checks the records of a run that is over against the guarantees and against the oracle.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use super::behaviour::weight;
use super::load::{damage, is_recorded};

use super::life::Ended;
use super::oracle;
use super::play::{Played, play};
use super::scenario::Scenario;
use super::sites::{Sites, name_of};
use super::story::Story;
use crate::engine::Outcome;
use crate::event::{AfterFailure, EventKind};
use crate::fault::{Cause, Failure, Fault};
use crate::store::Stored;

/// Plays a scenario and judges it.
///
/// # Errors
/// The guarantee that does not hold.
pub(super) fn judged(scenario: &Scenario) -> Result<Played, String> {
    let played = play(scenario)?;
    let sites = Sites::of(scenario);
    for run in &played.runs {
        record(&run.records)?;
        against_the_oracle(scenario, &sites, run)
            .map_err(|why| format!("{why} (run `{}`)\n  {}", run.id, played.log.join("\n  ")))?;
    }
    Ok(played)
}

/// Checks that the log ends with the end of the run; the records before were checked one by one.
fn record(records: &[Stored]) -> Result<(), String> {
    match records.last() {
        Some(last) if last.record.kind.is_terminal() => Ok(()),
        last => Err(format!("the run is over, and its last record is {last:?}")),
    }
}

/// What happened to the nodes, by the records.
struct Happened {
    completed: BTreeMap<String, Option<String>>,
    skipped: BTreeSet<String>,
    interrupted: BTreeSet<String>,
    /// Nodes that have failed since another had replaced a key that they replace as well.
    conflicted: BTreeSet<String>,
    /// Those with a graph inside the time of which is up.
    out_of_time: BTreeSet<String>,
    /// Those of them that have failed for good because of that.
    timed_out: BTreeSet<String>,
    /// Those that have failed for good.
    failed: BTreeSet<String>,
    /// If the run was retried: the failed nodes after which it had continued before, by an arm.
    gone_on_from: Option<BTreeSet<String>>,
    /// Whether a retry is requested, and not carried out.
    is_requested: bool,
    cancel_requested: bool,
    /// Whether the run has taken too long.
    is_timed_out: bool,
}

impl Happened {
    /// The fold of the records that count.
    fn of(sites: &Sites, records: &[Stored]) -> Happened {
        let mut happened = Happened {
            completed: BTreeMap::new(),
            skipped: BTreeSet::new(),
            interrupted: BTreeSet::new(),
            conflicted: BTreeSet::new(),
            out_of_time: BTreeSet::new(),
            timed_out: BTreeSet::new(),
            failed: BTreeSet::new(),
            gone_on_from: None,
            is_requested: false,
            cancel_requested: false,
            is_timed_out: false,
        };
        for stored in records {
            let path = &stored.record.path;
            if let EventKind::NodeFailed { then: AfterFailure::Routed { .. } | AfterFailure::Fails, .. } =
                stored.record.kind
                && sites.is_node(path)
                && !sites.is_scope(path)
            {
                happened.failed.insert(path.clone());
            }
            happened.keeps_time(sites, stored);
            match &stored.record.kind {
                EventKind::CancelRequested => happened.cancel_requested = true,
                EventKind::RunTimedOut => happened.is_timed_out = true,
                // What was asked of the run since the request counts.
                EventKind::RunRetried { requested: false, .. } if happened.is_requested => {
                    happened.is_requested = false;
                }
                EventKind::RunRetried { requested, .. } => {
                    happened.is_requested = *requested;
                    happened.is_retried();
                }
                EventKind::NodeStarted { inside: Some(_), .. } => happened.begins_anew(sites, path),
                _ if !sites.is_node(path) => {}
                EventKind::NodeCompleted { label, .. } => {
                    happened.completed.insert(path.clone(), label.clone());
                }
                EventKind::NodeFailed { then: AfterFailure::Routed { label, .. }, cause, .. } => {
                    happened.completed.insert(path.clone(), Some(label.clone()));
                    if cause.fault.as_ref().is_some_and(Fault::is_cut_short) && !sites.is_scope(path) {
                        happened.interrupted.insert(path.clone());
                    }
                    if is_too_late(sites, path, cause) {
                        happened.conflicted.insert(path.clone());
                        happened.failed.insert(path.clone());
                    }
                }
                EventKind::NodeSkipped => {
                    happened.skipped.insert(path.clone());
                }
                // What fails with it fails for the same reason.
                EventKind::NodeFailed { cause, .. }
                    if cause.fault.as_ref().is_some_and(Fault::is_cut_short) && !sites.is_scope(path) =>
                {
                    happened.interrupted.insert(path.clone());
                }
                EventKind::NodeFailed { cause, then: AfterFailure::Fails, .. } if is_too_late(sites, path, cause) => {
                    happened.conflicted.insert(path.clone());
                    happened.failed.insert(path.clone());
                }
                _ => {}
            }
        }
        happened
    }

    fn keeps_time(&mut self, sites: &Sites, stored: &Stored) {
        let path = &stored.record.path;
        match &stored.record.kind {
            _ if !sites.is_scope(path) => {}
            EventKind::NodeStarted { .. } => {
                self.out_of_time.remove(path);
                self.timed_out.remove(path);
            }
            // Or a delay is over, and an attempt is to start.
            EventKind::TimerFired => _ = self.out_of_time.insert(path.clone()),
            EventKind::NodeFailed { then: AfterFailure::Routed { .. } | AfterFailure::Fails, .. }
                if self.out_of_time.contains(path) =>
            {
                self.timed_out.insert(path.clone());
                self.failed.insert(path.clone());
            }
            _ => {}
        }
    }

    /// The failures that still count are those after which the run has continued: the records of the others are voided.
    fn is_retried(&mut self) {
        self.cancel_requested = false;
        self.is_timed_out = false;
        let failed = std::mem::take(&mut self.failed);
        self.gone_on_from.get_or_insert_default().extend(failed);
    }

    /// A graph begins from its start: its earlier records do not count.
    fn begins_anew(&mut self, sites: &Sites, path: &String) {
        let stays = |at: &String| !sites.above(at).contains(path);
        self.completed.retain(|at, _| stays(at));
        self.skipped.retain(stays);
        self.conflicted.retain(stays);
        self.timed_out.retain(stays);
        self.failed.retain(stays);
        self.interrupted.retain(stays);
        if let Some(failed) = &mut self.gone_on_from {
            failed.retain(stays);
        }
    }
}

fn is_too_late(sites: &Sites, path: &str, cause: &Cause) -> bool {
    matches!(&cause.fault, Some(Fault::StateConflict { first, .. }) if sites.is_too_late(path, first))
}

fn against_the_oracle(scenario: &Scenario, sites: &Sites, played: &Ended) -> Result<(), String> {
    let happened = Happened::of(sites, &played.events);
    for path in &happened.interrupted {
        if !scenario.find(name_of(path)).is_some_and(|special| special.at_most_once) {
            return Err(format!("`{path}` may be repeated, and was given up as cut short"));
        }
    }
    let given_up = happened.interrupted.iter().chain(&happened.conflicted).chain(&happened.timed_out);
    let mut given_up: BTreeSet<String> = given_up.cloned().collect();
    let story = match &happened.gone_on_from {
        None => oracle::tell(scenario, &given_up),
        Some(failed) => {
            given_up.extend(failed.iter().cloned());
            oracle::tell(&scenario.mended(), &given_up)
        }
    };
    for (path, label) in &happened.completed {
        if story.completes.get(path) != Some(label) {
            let expected = story.completes.get(path);
            return Err(format!("`{path}` completes by {label:?}, and should by {expected:?}"));
        }
    }
    let (must_fail, may_fail) = story.fails.iter().partition::<Vec<_>, _>(|path| !story.may_be_stopped.contains(*path));
    match &played.outcome {
        Outcome::Cancelled if happened.cancel_requested => return Ok(()),
        Outcome::Cancelled => return Err("it was cancelled by nobody".to_owned()),
        Outcome::Failed(failure) if happened.is_timed_out && is_out_of_time(scenario, failure) => return Ok(()),
        Outcome::Failed(failure) if story.fails.contains(&failure.path) => return Ok(()),
        Outcome::Failed(failure) => return Err(format!("it fails, and should not: {failure:?}")),
        Outcome::Waiting(_) | Outcome::AwaitingSignals(_) => return Err("it waits".to_owned()),
        Outcome::Completed(_) if !must_fail.is_empty() => {
            return Err(format!("it completes, and should fail at one of {must_fail:?}"));
        }
        Outcome::Completed(output) => {
            let Some(expected) = &story.output else {
                return if may_fail.is_empty() {
                    Err("it has an output, and should have none".to_owned())
                } else {
                    Ok(())
                };
            };
            if weight(output) != weight(expected) {
                return Err(format!("it gives {output}, and should give {expected}"));
            }
            if let Some(damage) = damage(output) {
                return Err(format!("it gives {output}: {damage}"));
            }
        }
    }
    all_of_it(&story, &happened)?;
    let total = played.records.iter().rev().find_map(|at| match &at.record.kind {
        EventKind::RunCompleted { output } => Some(output),
        _ => None,
    });
    match (total, &played.outcome) {
        (Some(recorded), Outcome::Completed(output)) if !is_recorded(output, recorded) => {
            Err(format!("it gives {output}, and {recorded} is on record"))
        }
        _ => Ok(()),
    }
}

fn is_out_of_time(scenario: &Scenario, failure: &Failure) -> bool {
    let after = scenario.time_limit.map(Duration::from_millis);
    matches!(failure.cause.fault, Some(Fault::Timeout { after: said }) if Some(said) == after)
        && !failure.path.contains('/')
}

/// A run that completes has done all that it should, and skipped the rest.
fn all_of_it(story: &Story, happened: &Happened) -> Result<(), String> {
    let is_due = |path: &&String| !story.may_be_stopped.contains(*path);
    if let Some(path) =
        story.completes.keys().filter(is_due).find(|path| !happened.completed.contains_key(path.as_str()))
    {
        return Err(format!("`{path}` should complete, and does not"));
    }
    if let Some(path) = story.skips.iter().filter(is_due).find(|path| !happened.skipped.contains(path.as_str())) {
        return Err(format!("`{path}` should be skipped, and is not"));
    }
    let may_be_in_vain = |path: &str| story.may_be_in_vain.contains(name_of(path));
    let may_be_skipped =
        |path: &String| story.skips.contains(path) || story.may_be_stopped.contains(path) || may_be_in_vain(path);
    if let Some(path) = happened.skipped.iter().find(|path| !may_be_skipped(path)) {
        return Err(format!("`{path}` is skipped, and should not be"));
    }
    Ok(())
}
