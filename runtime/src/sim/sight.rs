//! The run's state that an attempt has to see, by the records alone.

use std::sync::Arc;

use serde_json::{Map, Value};

use super::behaviour;
use super::layers::Layers;
use super::records::{is_completion, is_start};
use super::scenario::Doing;
use super::sites::Sites;
use crate::core::fold_into;
use crate::event::EventKind;
use crate::fault::Fault;
use crate::state_write::StateWrite;
use crate::store::Stored;

/// The state that an attempt sees which began with this record: all earlier writes to the state around it.
pub(super) fn seen(
    sites: &Arc<Sites>,
    path: &str,
    started: usize,
    records: &[Stored],
) -> Result<Map<String, Value>, (String, Fault)> {
    let layers = match sites.job(path) {
        None => Layers::new(sites, None, Map::new()).take_all(&records[..started])?,
        Some(job) => {
            let begun = last(records, |at| is_start(at) && at.record.path == job);
            Layers::new(sites, Some(job), job_sees(sites, job, records)?).take_all(&records[begun..started])?
        }
    };
    Ok(layers.seen_by(path).clone())
}

/// The state with which a job begins, or resumes after a crash: the state that its node has seen when it last began,
/// with the node's own writes before the job.
fn job_sees(sites: &Arc<Sites>, job: &str, records: &[Stored]) -> Result<Map<String, Value>, (String, Fault)> {
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

/// The writes that a completed job has passed to its node.
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
