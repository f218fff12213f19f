//! What an attempt has to see of the run's state, by the records alone.

use serde_json::{Map, Value};

use super::behaviour;
use super::ledger::{is_completion, is_start};
use super::scenario::Doing;
use super::sites::Sites;
use crate::core::fold_into;
use crate::event::EventKind;
use crate::fault::Fault;
use crate::state_write::StateWrite;
use crate::store::Stored;

/// What an attempt sees that began with this record: all that was written before, and nothing else.
pub(super) fn seen(
    sites: &Sites,
    path: &str,
    started: usize,
    records: &[Stored],
) -> Result<Map<String, Value>, (String, Fault)> {
    let Some(job) = sites.job(path) else {
        let mut state = Map::new();
        fold_writes(&mut state, &records[..started], |at| sites.is_own(at))?;
        return Ok(state);
    };
    let begun = last(records, |at| is_start(at) && at.record.path == job);
    let mut state = job_sees(sites, job, records)?;
    fold_writes(&mut state, &records[begun..started], |at| sites.job(at) == Some(job))?;
    Ok(state)
}

/// What a job begins with, or goes on with after a crash: what its node has seen when it began last, and has written
/// before it came to the job.
fn job_sees(sites: &Sites, job: &str, records: &[Stored]) -> Result<Map<String, Value>, (String, Fault)> {
    let (node, at) = job.rsplit_once("/job:").unwrap_or_default();
    let special = sites.special(node).cloned().unwrap_or_default();
    let mut state = seen(sites, node, last(records, |at| is_start(at) && at.record.path == node), records)?;
    let mut writes = behaviour::writes(&special, node);
    for at in 0..at.parse().unwrap_or(0) {
        if let Doing::Job { .. } = special.does[at] {
            writes.extend(job_wrote(sites, &format!("{node}/job:{at}"), records));
        }
    }
    fold_into(&mut state, &writes).map_err(|fault| (node.to_owned(), fault))?;
    Ok(state)
}

/// What a job has given to its node, where it is done.
fn job_wrote(sites: &Sites, job: &str, records: &[Stored]) -> Vec<StateWrite> {
    let (node, _) = job.rsplit_once("/job:").unwrap_or_default();
    let above = sites.above(node);
    let entered = last(records, |at| is_start(at) && above.contains(&at.record.path));
    let done = records[entered..].iter().rev().find(|at| is_completion(at) && at.record.path == job);
    match done.map(|done| &done.record.kind) {
        Some(EventKind::NodeCompleted { state, .. }) => state.clone(),
        _ => Vec::new(),
    }
}

/// Where the last record of this kind is.
fn last(records: &[Stored], is_it: impl Fn(&Stored) -> bool) -> usize {
    records.iter().rposition(is_it).unwrap_or(0)
}

fn fold_writes(
    state: &mut Map<String, Value>,
    records: &[Stored],
    is_theirs: impl Fn(&str) -> bool,
) -> Result<(), (String, Fault)> {
    for stored in records {
        let path = &stored.record.path;
        if let EventKind::NodeCompleted { state: writes, .. } | EventKind::NodeCollecting { state: writes, .. } =
            &stored.record.kind
            && is_theirs(path)
        {
            fold_into(state, writes).map_err(|fault| (path.clone(), fault))?;
        }
    }
    Ok(())
}
