//! Holds what is on record of a run that is over against what is promised, and against the oracle.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::behaviour::weight;
use super::disk::Disk;
use super::ledger::{Ledger, name_of};
use super::oracle::{self, Story};
use super::play::{Played, play};
use super::scenario::Scenario;
use crate::engine::Outcome;
use crate::event::EventKind;
use crate::fault::Fault;
use crate::store::{MemoryStore, Stored};

/// Plays a scenario and judges it.
///
/// # Errors
/// What does not hold.
pub(super) fn judged(scenario: &Scenario) -> Result<Played, String> {
    let played = play(scenario)?;
    let ledger = Ledger::new(scenario, &Disk::new(MemoryStore::new(), 0));
    record(&ledger, &played.records)?;
    against_the_oracle(scenario, &ledger, &played).map_err(|why| format!("{why}\n  {}", played.log.join("\n  ")))?;
    Ok(played)
}

/// What holds of every record, whatever has happened.
fn record(ledger: &Ledger, records: &[Stored]) -> Result<(), String> {
    if let Some((at, stored)) = records.iter().enumerate().find(|(at, stored)| stored.seq != *at as u64) {
        return Err(format!("record {at} has the number {}", stored.seq));
    }
    if records.windows(2).any(|pair| pair[1].time < pair[0].time) {
        return Err("time goes backwards".to_owned());
    }
    let ends: Vec<usize> = (0..records.len()).filter(|at| records[*at].record.kind.is_terminal()).collect();
    if ends != [records.len().saturating_sub(1)] {
        return Err(format!("the run ends at {ends:?} of {} records", records.len()));
    }
    let mut nodes: BTreeMap<&str, Progress> = BTreeMap::new();
    for stored in records {
        let (path, kind) = (stored.record.path.as_str(), &stored.record.kind);
        if !ledger.is_node(path) {
            continue;
        }
        if let EventKind::NodeStarted { inside: Some(_), .. } = kind {
            nodes.retain(|at, _| !ledger.above(at).iter().any(|above| above == path));
        }
        let node = nodes.entry(path).or_default();
        node.follows(kind).map_err(|why| format!("`{path}` {why} (record {})", stored.seq))?;
    }
    Ok(())
}

/// What is known of a node.
#[derive(Debug, Default)]
struct Progress {
    attempt: u32,
    is_under_way: bool,
    is_over: bool,
}

impl Progress {
    fn follows(&mut self, kind: &EventKind) -> Result<(), &'static str> {
        let require = |holds: bool, what: &'static str| if holds { Ok(()) } else { Err(what) };
        match kind {
            EventKind::NodeStarted { attempt, .. } => {
                require(!self.is_over, "begins when it is over")?;
                require(*attempt == self.attempt || *attempt == self.attempt + 1, "leaves an attempt out")?;
                require(*attempt > self.attempt || self.is_under_way, "begins an attempt anew that has ended")?;
                (self.attempt, self.is_under_way) = (*attempt, true);
            }
            EventKind::NodeCompleted { error, .. } => {
                require(!self.is_over, "completes when it is over")?;
                require(self.is_under_way || error.is_some(), "completes and was not under way")?;
                (self.is_under_way, self.is_over) = (false, true);
            }
            EventKind::NodeFailed { attempt, retry_in, .. } => {
                require(!self.is_over, "fails when it is over")?;
                require(*attempt == self.attempt || self.attempt == 0, "fails in another attempt than it is at")?;
                self.is_under_way = false;
                // What fails for good may still go on by its arm `err`, which comes next.
                let _ = retry_in;
            }
            EventKind::NodeWaiting { .. } => {
                require(self.is_under_way, "waits for more and was not under way")?;
                (self.is_under_way, self.attempt) = (false, 0);
            }
            EventKind::NodeSkipped => {
                require(!self.is_over && !self.is_under_way, "is skipped when it has begun")?;
                self.is_over = true;
            }
            EventKind::NodeCancelled => {
                require(!self.is_over, "is cancelled when it is over")?;
                (self.is_under_way, self.is_over) = (false, true);
            }
            _ => {}
        }
        Ok(())
    }
}

/// What happened to the nodes, as it is on record.
struct Happened {
    completed: BTreeMap<String, Option<String>>,
    skipped: BTreeSet<String>,
    interrupted: BTreeSet<String>,
    cancel_requested: bool,
}

impl Happened {
    fn of(ledger: &Ledger, records: &[Stored]) -> Happened {
        let mut happened = Happened {
            completed: BTreeMap::new(),
            skipped: BTreeSet::new(),
            interrupted: BTreeSet::new(),
            cancel_requested: false,
        };
        for stored in records {
            let path = &stored.record.path;
            match &stored.record.kind {
                EventKind::CancelRequested => happened.cancel_requested = true,
                _ if !ledger.is_node(path) => {}
                EventKind::NodeCompleted { label, .. } => {
                    happened.completed.insert(path.clone(), label.clone());
                }
                EventKind::NodeSkipped => {
                    happened.skipped.insert(path.clone());
                }
                // What fails with it fails for the same reason.
                EventKind::NodeFailed { cause, .. }
                    if cause.fault == Some(Fault::Interrupted) && !ledger.is_scope(path) =>
                {
                    happened.interrupted.insert(path.clone());
                }
                _ => {}
            }
        }
        happened
    }
}

fn against_the_oracle(scenario: &Scenario, ledger: &Ledger, played: &Played) -> Result<(), String> {
    let happened = Happened::of(ledger, &played.records);
    for path in &happened.interrupted {
        if !scenario.flow.find(name_of(path)).is_some_and(|special| special.at_most_once) {
            return Err(format!("`{path}` may be repeated, and was given up as cut short"));
        }
    }
    let story = oracle::tell(scenario, &happened.interrupted);
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
        Outcome::Failed(failure) if story.fails.contains(&failure.path) => return Ok(()),
        Outcome::Failed(failure) => return Err(format!("it fails, and should not: {failure:?}")),
        Outcome::Waiting(_) => return Err("it waits".to_owned()),
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
        }
    }
    all_of_it(&story, &happened)?;
    let total = played.records.iter().rev().find_map(|at| match &at.record.kind {
        EventKind::RunCompleted { output } => Some(output),
        _ => None,
    });
    match (total, &played.outcome) {
        (Some(recorded), Outcome::Completed(output)) if !same(recorded, output) => {
            Err(format!("it gives {output}, and {recorded} is on record"))
        }
        _ => Ok(()),
    }
}

fn same(one: &Value, other: &Value) -> bool {
    one == other
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
