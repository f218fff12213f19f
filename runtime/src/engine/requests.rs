//! Which records of a node's requests a retry voids, if the node runs again.

use crate::event::{AfterFailure, EventKind};
use crate::fault::Fault;
use crate::shared::below;
use crate::sorted::{SortedMap, SortedSet};
use crate::store::Stored;

/// Voids the records by which requests of a node have failed for good, and those that only stopped something inside
/// them. Only the records before `until` count: later ones have not happened for the fork, and an attempt that failed
/// only then counts as interrupted.
pub(super) fn retry_requests(requests: &[&Stored], until: u64, voids: &mut SortedSet<u64>) {
    let mut graphs: SortedMap<&str, Vec<&Stored>> = SortedMap::new();
    let mut others: Vec<&Stored> = Vec::new();
    for stored in requests.iter().copied().filter(|stored| stored.seq < until) {
        let path = stored.record.path.as_str();
        let around = graphs.keys().find(|at| path == **at || below(path, at)).copied();
        match around.or(is_entered(stored).then_some(path)) {
            Some(at) => graphs.get_or_insert_with(at, Vec::new).push(stored),
            None => others.push(stored),
        }
    }
    retry_failed(&others, voids);
    for (path, records) in graphs.into_pairs() {
        retry_graph(path, &records, until, voids);
    }
}

/// The first record of the outermost child workflow around a path. Its graph is a type that only its caller knows, so
/// the nodes behind a node of it are not known here.
pub(super) fn child_workflow_around(history: &[Stored], path: &str) -> Option<usize> {
    // A node of the run's own graphs has no hash of an input.
    let is_child = |kind: &EventKind| matches!(kind, EventKind::NodeStarted { inside: Some(_), input: Some(_), .. });
    let around = history.iter().enumerate().filter(|(_, at)| below(path, &at.record.path) && is_child(&at.record.kind));
    around.min_by_key(|(_, at)| at.record.path.len()).map(|(number, _)| number)
}

fn is_entered(stored: &Stored) -> bool {
    matches!(stored.record.kind, EventKind::NodeStarted { inside: Some(_), .. })
}

/// Voids the failures of steps, and of children without a graph inside.
fn retry_failed(requests: &[&Stored], voids: &mut SortedSet<u64>) {
    let mut failed: SortedSet<&str> = SortedSet::new();
    for stored in requests {
        let path = stored.record.path.as_str();
        match &stored.record.kind {
            EventKind::NodeFailed { cause, then: AfterFailure::Fails, .. } if may_be_retried(cause.fault.as_ref()) => {
                failed.insert(path);
            }
            EventKind::NodeCompleted { .. } => _ = failed.remove(path),
            EventKind::NodeCancelled => _ = voids.insert(stored.seq),
            _ => {}
        }
    }
    let is_attempt = |stored: &Stored| {
        matches!(stored.record.kind, EventKind::NodeStarted { .. } | EventKind::NodeFailed { .. })
            && failed.contains(stored.record.path.as_str())
    };
    voids.extend(requests.iter().filter(|stored| is_attempt(stored)).map(|stored| stored.seq));
}

/// Whether a failure may be retried: not that of an interrupted node that may run at most once.
fn may_be_retried(fault: Option<&Fault>) -> bool {
    !fault.is_some_and(Fault::is_cut_short)
}

/// A child workflow that had failed for good, or was about to, starts from its beginning: its graph is not known here,
/// and so neither are the records that led to its end. One that was under way continues from there: its nodes continue
/// the attempts that were under way, and their failed requests are retried too.
fn retry_graph(path: &str, records: &[&Stored], until: u64, voids: &mut SortedSet<u64>) {
    let stopping = |at: &&Stored| at.record.path == path && at.record.kind == EventKind::RunCancelling;
    let stopped = records.iter().position(stopping).unwrap_or(records.len());
    let end = records.iter().rfind(|stored| stored.record.path == path && is_end(&stored.record.kind));
    let has_failed = match end.map(|stored| &stored.record.kind) {
        Some(EventKind::NodeFailed { cause, .. }) => may_be_retried(cause.fault.as_ref()),
        Some(_) => false,
        None => is_failing(&records[..stopped]),
    };
    if has_failed {
        voids.extend(records.iter().map(|stored| stored.seq));
    }
    if has_failed || end.is_some() {
        return;
    }
    let is_stop = |kind: &EventKind| {
        let fails = matches!(kind, EventKind::NodeFailed { then: AfterFailure::Fails, .. });
        fails || matches!(kind, EventKind::RunCancelling | EventKind::NodeCancelled)
    };
    let stops = records[stopped..].iter().filter(|stored| is_stop(&stored.record.kind));
    voids.extend(stops.map(|stored| stored.seq));
    for (node, requests) in leaves(records).into_pairs() {
        let last = records.iter().rfind(|at| at.record.path == node && (is_start(at) || is_end(&at.record.kind)));
        if last.is_some_and(|last| is_start(last) || voids.contains(&last.seq)) {
            retry_requests(&requests, until, voids);
        }
    }
}

/// Whether a node has failed for good, and the failure has had no effect yet.
fn is_failing(records: &[&Stored]) -> bool {
    let leaves = leaves(records);
    let is_node = |path: &str| !leaves.keys().any(|leaf| below(path, leaf));
    records.iter().enumerate().any(|(at, stored)| {
        let failed = stored.record.path.as_str();
        let ends = |kind: &EventKind| is_end(kind) || matches!(kind, EventKind::NodeFailed { .. });
        let ends_around = |later: &&Stored| is_around(&later.record.path, failed) && ends(&later.record.kind);
        match &stored.record.kind {
            EventKind::NodeFailed { cause, then: AfterFailure::Fails, .. } => {
                may_be_retried(cause.fault.as_ref()) && is_node(failed) && !records[at..].iter().any(ends_around)
            }
            _ => false,
        }
    })
}

/// Whether a node may be in the graph inside another, by their paths: below it, or beside it as an item of `[..]`.
fn is_around(around: &str, node: &str) -> bool {
    let Some((before, name)) = node.rsplit_once('/') else { return false };
    let Some(item) = name.rfind('[') else { return before == around };
    let turns = |name: &str| name.find(['#', '[']).map_or(String::new(), |at| name[at..].to_owned());
    around.rsplit_once('/').is_some_and(|(of, around)| of == before && turns(around) == turns(&name[..item]))
}

/// The nodes of a graph without a graph inside, each with the records of its requests.
fn leaves<'h>(records: &[&'h Stored]) -> SortedMap<&'h str, Vec<&'h Stored>> {
    let mut leaves: SortedMap<&str, Vec<&Stored>> = SortedMap::new();
    for stored in records.iter().copied() {
        let path = stored.record.path.as_str();
        let around = leaves.keys().find(|leaf| below(path, leaf)).copied();
        if let Some(requests) = around.and_then(|leaf| leaves.get_mut(leaf)) {
            requests.push(stored);
        } else if is_start(stored) && !is_entered(stored) {
            leaves.get_or_insert_with(path, Vec::new);
        }
    }
    leaves
}

fn is_start(stored: &Stored) -> bool {
    matches!(stored.record.kind, EventKind::NodeStarted { .. })
}

/// Whether this record ends a node, a child or a step in any way.
pub(super) fn is_end(kind: &EventKind) -> bool {
    matches!(
        kind,
        EventKind::NodeCompleted { .. }
            | EventKind::NodeCollecting { .. }
            | EventKind::NodeCancelled
            | EventKind::RunStartingOver { .. }
            | EventKind::NodeFailed { then: AfterFailure::Routed { .. } | AfterFailure::Fails, .. }
    )
}
