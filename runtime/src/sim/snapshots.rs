//! Compares each snapshot that a process makes with the fold of all records that it covers: to the byte.
//!
//! A process makes a snapshot of the one before it and of the records in between. So what is compared was written and
//! read again once for each few records of the run.

use std::sync::Arc;

use super::disk::Disk;
use crate::compile;
use crate::core::TimeLimit;
use crate::driver::{RunSnapshot, Shadow, SnapshotHead, print_of};
use crate::engine::{by_the_clock_of, effective};
use crate::event::EventKind;
use crate::store::{RunKey, Snapshot, Stored};
use crate::table::Definition;

/// # Errors
/// The difference.
pub(super) fn is_the_fold(definition: &Arc<Definition>, records: Vec<Stored>, kept: &Snapshot) -> Result<(), String> {
    let read = RunSnapshot::of_bytes(&kept.state).ok_or("a snapshot cannot be read")?;
    if (read.head.at, records.len() as u64) != (kept.at, kept.at) {
        return Err(format!("a snapshot of {} records covers {:?}", records.len(), read.head));
    }
    let expected = folded(definition, records).map_err(|why| format!("no snapshot can be made: {why}"))?;
    let found = String::from_utf8_lossy(&kept.state);
    match found.lines().zip(expected.lines()).find(|(found, expected)| found != expected) {
        None if found == expected => Ok(()),
        None => Err(format!("a snapshot at {} is {found}, and should be {expected}", kept.at)),
        Some((found, expected)) => Err(format!("a snapshot at {} has {found}, and should have {expected}", kept.at)),
    }
}

fn folded(definition: &Arc<Definition>, mut records: Vec<Stored>) -> Result<String, String> {
    let latest = records.iter().map(|stored| stored.time).max().ok_or("there are no records")?;
    let owner = records.iter().rev().find_map(|stored| match stored.record.kind {
        EventKind::RunResumed { owner } => Some(owner),
        _ => None,
    });
    let at = records.len() as u64;
    by_the_clock_of(latest, &mut records);
    let first = records.first().map(|stored| stored.record.kind.clone());
    let Some(EventKind::RunStarted { input, state, limit, .. }) = first else { return Err("there is no start".into()) };
    let executable = compile::executable(definition);
    let limit = limit.as_ref().map(TimeLimit::from);
    let begins = (Arc::new(input), state, limit);
    let mut shadow = Shadow::begin(&executable, definition, begins).map_err(|halt| format!("{halt:?}"))?;
    shadow.take(effective(records)).map_err(|halt| format!("{halt:?}"))?;
    let head = SnapshotHead { print: print_of(&executable, definition), at, latest, owner };
    let frozen = shadow.freeze(head).and_then(|snapshot| snapshot.to_bytes());
    frozen.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).map_err(|error| error.to_string())
}

impl Disk {
    pub(super) fn put_snapshot(&self, run: RunKey, snapshot: Snapshot) {
        let records = self.records_of(run, snapshot.at);
        let mut state = self.state();
        let held = is_the_fold(&state.tracks.now.follower.workflow(), records, &snapshot);
        state.tracks.breaks(held);
        if state.snapshots.get(&run).is_none_or(|before| before.at <= snapshot.at) {
            state.snapshots.insert(run, snapshot);
        }
    }
}
