//! Checks the voids in the record of a retry against the graph, by the loops that the judge has found.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use graphweft_graph::{Graph, NodeIx};
use graphweft_judge::judge::{Verdict, judge};

use super::behaviour::TURNS;
use super::sites::{Sites, name_of};
use super::wiring::kept;
use crate::event::{AfterFailure, EventKind};
use crate::store::Stored;

/// The completions that still count before a retry: their records, by path.
fn done(sites: &Sites, records: &[Stored]) -> BTreeMap<String, Vec<u64>> {
    let mut done: BTreeMap<String, Vec<u64>> = BTreeMap::new();
    let mut unchecked: BTreeMap<String, u64> = BTreeMap::new();
    for stored in records {
        let path = &stored.record.path;
        match &stored.record.kind {
            kind if begins_anew(kind) => {
                done.retain(|at, _| !is_inside(sites, at, path));
                unchecked.retain(|at, _| !is_inside(sites, at, path));
            }
            EventKind::Answered { unchecked: true, .. } => _ = unchecked.insert(path.clone(), stored.seq),
            EventKind::AnswerAccepted => done.entry(path.clone()).or_default().extend(unchecked.remove(path)),
            EventKind::AnswerRejected { .. } => _ = unchecked.remove(path),
            EventKind::NodeCompleted { .. }
            | EventKind::NodeCollecting { .. }
            | EventKind::Answered { .. }
            | EventKind::NodeFailed { then: AfterFailure::Routed { .. }, .. } => {
                done.entry(path.clone()).or_default().push(stored.seq);
            }
            EventKind::TimerFired if !sites.is_node(path) => done.entry(path.clone()).or_default().push(stored.seq),
            _ => {}
        }
    }
    done
}

/// The answers that were recorded unchecked and never accepted: their callers got an error.
#[derive(Default)]
struct Refused {
    /// Those whose question was withdrawn, by the numbers of their records.
    withdrawn: Vec<u64>,
    /// Those that their node has rejected, each with the number of that record.
    rejected: Vec<(u64, u64)>,
}

impl Refused {
    fn of(records: &[Stored]) -> Refused {
        let mut unchecked: BTreeMap<&str, u64> = BTreeMap::new();
        let mut refused = Refused::default();
        for Stored { seq, record, .. } in records {
            match &record.kind {
                EventKind::Answered { unchecked: true, .. } => _ = unchecked.insert(&record.path, *seq),
                EventKind::AnswerAccepted => _ = unchecked.remove(record.path.as_str()),
                EventKind::AnswerRejected { .. } => {
                    refused.rejected.extend(unchecked.remove(record.path.as_str()).map(|answer| (answer, *seq)));
                }
                _ => {}
            }
        }
        refused.withdrawn.extend(unchecked.into_values());
        refused
    }

    /// The first of them that counts again after a retry.
    fn counts_again(&self, is_void: impl Fn(u64) -> bool, is_fork: bool) -> Option<u64> {
        let withdrawn = self.withdrawn.iter().find(|answer| !is_fork && !is_void(**answer));
        let rejected = || self.rejected.iter().find(|(answer, rejected)| is_void(*rejected) && !is_void(*answer));
        withdrawn.copied().or_else(|| rejected().map(|(answer, _)| *answer))
    }
}

/// Whether a record makes all earlier records of the graphs inside a node void.
fn begins_anew(kind: &EventKind) -> bool {
    let is_failed = matches!(kind, EventKind::NodeFailed { then: AfterFailure::RetryAt { .. }, .. });
    is_failed || matches!(kind, EventKind::NodeStarted { inside: Some(_), .. })
}

/// Whether something was recorded at a path in the last attempts at the graphs around it.
fn is_current(sites: &Sites, records: &[Stored], path: &str) -> bool {
    let last = records.iter().rposition(|at| at.record.path == path).unwrap_or(0);
    !records[last..].iter().any(|at| begins_anew(&at.record.kind) && is_inside(sites, path, &at.record.path))
}

/// The jobs that have failed for good, or were about to, of nodes that are not done: these start anew.
fn failed_jobs(sites: &Sites, records: &[Stored], done: &BTreeMap<String, Vec<u64>>) -> BTreeSet<String> {
    let mut failed: BTreeSet<String> = BTreeSet::new();
    let mut stopped: BTreeSet<&str> = BTreeSet::new();
    for (at, stored) in records.iter().enumerate() {
        let path = &stored.record.path;
        let is_job = sites.which_job(path).is_some();
        match &stored.record.kind {
            EventKind::NodeStarted { .. } if is_job => failed.retain(|at| at != path && !is_below(at, path)),
            EventKind::NodeFailed { then: AfterFailure::Fails, .. } if is_job => _ = failed.insert(path.clone()),
            EventKind::RunCancelling if is_job => _ = stopped.insert(path),
            EventKind::NodeFailed { then: AfterFailure::Fails, .. } => {
                let Some(job) = sites.job(path).filter(|job| !stopped.contains(job)) else { continue };
                let around = sites.above(path).into_iter().next();
                let ends = |kind: &EventKind| {
                    matches!(
                        kind,
                        EventKind::NodeFailed { .. } | EventKind::NodeCompleted { .. } | EventKind::NodeCancelled
                    )
                };
                let ends_around = |at: &Stored| around.as_ref() == Some(&at.record.path) && ends(&at.record.kind);
                // Records after the stop of the job do not count.
                let stops = |at: &Stored| at.record.path == job && at.record.kind == EventKind::RunCancelling;
                if !records[at..].iter().take_while(|at| !stops(at)).any(ends_around) {
                    failed.insert(job.to_owned());
                }
            }
            _ => {}
        }
    }
    let is_done = |node: &str| [node.to_owned()].iter().chain(&sites.around_all(node)).any(|at| done.contains_key(at));
    failed.retain(|job| !is_done(node_of(sites, job)));
    failed
}

/// The node that made a request, or the node itself.
fn node_of<'p>(sites: &Sites, path: &'p str) -> &'p str {
    let mut at = path;
    while !sites.is_node(at) {
        let Some((before, _)) = at.rsplit_once('/') else { return path };
        at = before;
    }
    at
}

fn is_inside(sites: &Sites, path: &str, node: &str) -> bool {
    sites.around_all(node_of(sites, path)).iter().any(|above| above == node)
}

/// Checks that the retry voids the completions of the nodes that it names and of all behind them, and no others.
///
/// # Errors
/// The record that is void and should not be, or the other way round.
pub(super) fn look_at_voids(sites: &Sites, records: &[Stored], retry: &EventKind, is_fork: bool) -> Result<(), String> {
    let EventKind::RunRetried { voids, from_nodes, rerun, .. } = retry else { return Ok(()) };
    let mut graphs = Graphs { sites, known: BTreeMap::new() };
    let from_nodes = from_nodes.iter().map(|path| Named { path, node: node_of(sites, path), is_anew: true });
    let rerun = rerun.iter().map(|path| Named { path, node: node_of(sites, path), is_anew: false });
    let named: Vec<Named<'_>> =
        from_nodes.chain(rerun).filter(|named| is_current(sites, records, named.path)).collect();
    let is_void = |number: u64| voids.iter().any(|range| range.contains(&number));
    if let Some(refused) = Refused::of(records).counts_again(is_void, is_fork) {
        return Err(format!("the answer of record {refused} was refused before, and counts again"));
    }
    let done = done(sites, records);
    let failed = failed_jobs(sites, records, &done);
    for (path, numbers) in done {
        let is_in_failed = failed.iter().any(|job| is_below(&path, job));
        // In the original run its node may have been done with it, behind the records that the fork has copied.
        if is_fork && is_in_failed {
            continue;
        }
        let is_due = is_in_failed || named.iter().any(|named| graphs.runs_again(named, &path));
        for number in numbers {
            if is_void(number) != is_due {
                let what = if is_due { "is to run again, and stays" } else { "is not to run again, and is voided" };
                return Err(format!("`{path}` {what} (record {number})"));
            }
        }
    }
    Ok(())
}

/// A node or request that a retry names.
struct Named<'r> {
    path: &'r str,
    /// The node that made the request, or the node itself.
    node: &'r str,
    /// Whether all of it begins anew.
    is_anew: bool,
}

/// The graphs of a scenario, by their nodes.
struct Graphs<'s> {
    sites: &'s Sites,
    known: BTreeMap<String, (Graph<String>, Verdict)>,
}

impl Graphs<'_> {
    /// Whether the completion at a path is void.
    fn runs_again(&mut self, named: &Named<'_>, path: &str) -> bool {
        let node = node_of(self.sites, path);
        let is_request = node != path;
        let is_inside = self.sites.around_all(node).iter().any(|above| above == named.node);
        if node == named.node {
            // The results of a node's requests are returned to it, unless they are named themselves.
            let is_named = |at: &str| at == named.path || is_below(at, named.path) || is_below(named.path, at);
            return named.is_anew || !is_request || (named.path != named.node && is_named(path));
        }
        if is_inside && named.is_anew {
            return true;
        }
        if named.path != named.node && is_below(path, named.path) {
            return true;
        }
        let around = self.sites.around_all(named.node);
        if around.iter().any(|above| above == path) {
            return true;
        }
        let firsts: Vec<String> = [named.node.to_owned()].into_iter().chain(around).collect();
        let lasts: Vec<String> = [node.to_owned()].into_iter().chain(self.sites.around_all(node)).collect();
        lasts.iter().any(|last| firsts.iter().any(|first| self.is_behind(first, last)))
    }

    /// Whether a token from the first node may reach the other, directly or by further nodes.
    fn is_behind(&mut self, first: &str, last: &str) -> bool {
        let (from, to) = (Spot::of(first), Spot::of(last));
        if first == last || (from.before, from.item) != (to.before, to.item) {
            return false;
        }
        let Some((graph, verdict)) = self.graph_of(from.name) else { return false };
        let at = |spot: &Spot<'_>| graph.nodes.iter().position(|node| node.id == spot.name);
        let (Some(from_node), Some(to_node)) = (at(&from), at(&to)) else { return false };
        let tag = |spot: &Spot<'_>, node: NodeIx| match spot.turns.is_empty() {
            true => vec![1; verdict.chain[node].len()],
            false => spot.turns.clone(),
        };
        let wanted = (to_node, tag(&to, to_node));
        let mut seen = BTreeSet::new();
        let mut left = VecDeque::from([(from_node, tag(&from, from_node))]);
        while let Some((node, tag)) = left.pop_front() {
            for (edge, ends) in graph.edges.iter().enumerate().filter(|(_, ends)| ends.from == node) {
                let mut tag = tag[..kept(graph, verdict, edge)].to_vec();
                let heads = match verdict.back[edge] {
                    // Which head begins the next turn, and which one does not, is known from all that lead back.
                    Some(of) => {
                        *tag.last_mut().expect("a turn") += 1;
                        verdict.loops[of].heads.iter().copied().collect()
                    }
                    None => vec![ends.to],
                };
                for head in heads {
                    let mut tag = tag.clone();
                    tag.resize(verdict.chain[head].len(), 1);
                    let next = (head, tag);
                    if next == wanted {
                        return true;
                    }
                    if next.1.iter().all(|turn| *turn < TURNS) && seen.insert(next.clone()) {
                        left.push_back(next);
                    }
                }
            }
        }
        false
    }

    fn graph_of(&mut self, name: &str) -> Option<&(Graph<String>, Verdict)> {
        if !self.known.contains_key(name) {
            let graph = self.sites.graph_of(name)?;
            let verdict = judge(&graph).ok()?;
            self.known.insert(name.to_owned(), (graph, verdict));
        }
        self.known.get(name)
    }
}

/// The place of a node: the graph under way, and the turns in it.
struct Spot<'p> {
    before: &'p str,
    /// The item of `[..]` in which the graph is, and those around it.
    item: &'p str,
    name: &'p str,
    turns: Vec<u64>,
}

impl<'p> Spot<'p> {
    fn of(path: &'p str) -> Spot<'p> {
        let (before, last) = path.rsplit_once('/').unwrap_or_default();
        let (name, behind) = last.split_at(name_of(path).len());
        let (item, turns) = behind.split_at(behind.rfind(']').map_or(0, |at| at + 1));
        let turns = turns.trim_start_matches('#').split('.').filter_map(|turn| turn.parse().ok()).collect();
        Spot { before, item, name, turns }
    }
}

fn is_below(path: &str, above: &str) -> bool {
    path.strip_prefix(above).is_some_and(|rest| rest.starts_with('/'))
}
