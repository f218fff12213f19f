//! Children that are workflows, and were recorded under another graph than those have now.

use std::collections::HashSet;
use std::sync::Arc;

use super::called::uses_node;
use super::changed::{each_path, note_seen};
use super::inner::Engine;
use super::voided::voided;
use crate::compile;
use crate::event::{AfterFailure, EventKind};
use crate::fingerprint::{Fingerprint, FormerNamesOfCalled, Past, below_child, inside_child};
use crate::halt::Halt;
use crate::store::{RunHeader, StoreError, Stored};
use crate::table::Definition;

impl Engine {
    /// Checks the records of children that are under way against the current graphs of their workflows, and translates them to
    /// their names. Returns those that they had. What this program is not known to have is not checked: the node that calls it finds out.
    ///
    /// # Errors
    /// [`Halt::GraphChanged`] for the first that cannot continue.
    pub(super) async fn adapt_called(
        &self,
        caller: &Arc<Definition>,
        history: &mut [Stored],
    ) -> Result<Vec<FormerNamesOfCalled>, Halt> {
        let under_way = under_way(history);
        if under_way.is_empty() {
            return Ok(Vec::new());
        }
        let called = self.called_by(caller);
        let current: HashSet<u64> = called.iter().map(|called| compile::fingerprint(called).hash).collect();
        let mut former = Vec::new();
        for (at, graph) in under_way.into_iter().filter(|(_, graph)| !current.contains(graph)) {
            let Some(body) = self.0.store.graph(graph).await.map_err(Halt::Store)? else { continue };
            // One that this version of the crate cannot read is not checked.
            let Ok(name) = Past::read(&body).map(|past| past.name().to_owned()) else { continue };
            let mut namesakes = called.iter().filter(|now| now.name == name).peekable();
            // It would begin again from its start.
            if namesakes.peek().is_none() && uses_node(caller, &name) && self.called_somewhere(graph).is_none() {
                let changes = vec!["it was a workflow when it was called, and is a node now".to_owned()];
                return Err(Halt::GraphChanged { workflow: name, changes });
            }
            let mut refused = None;
            for now in namesakes {
                let Ok(past) = Past::read(&body) else { break };
                // In the names of now, if it is a child of a child.
                let path = history[at].record.path.clone();
                match adapt(past, now, &path, &mut history[at + 1..]) {
                    Ok(names) => {
                        former.extend(Some(names).filter(|names| names.from.renames()));
                        refused = None;
                        break;
                    }
                    Err(changes) => {
                        refused.get_or_insert(Halt::GraphChanged { workflow: now.name.clone(), changes });
                    }
                }
            }
            if let Some(refused) = refused {
                return Err(refused);
            }
        }
        Ok(former)
    }
}

/// The names that the nodes of a run have in this program: those of its workflow, and of the workflows that are its children.
#[derive(Default)]
pub(super) struct CurrentNames {
    run: Option<Arc<Fingerprint>>,
    /// In the order in which they were called, so that a caller comes before what it calls.
    calls: Vec<RenamedCall>,
}

/// A child that is a workflow of which nodes were renamed.
struct RenamedCall {
    /// With the present names of the nodes around it, which may have been renamed in the same upgrade.
    path: String,
    now: Arc<Definition>,
}

impl CurrentNames {
    /// A recorded path with the present names of its nodes. One that has them already stays as it is.
    pub(super) fn path(&self, recorded: &str) -> String {
        let path = match &self.run {
            Some(run) => run.current_path(recorded).into_owned(),
            None => recorded.to_owned(),
        };
        self.calls.iter().fold(path, |path, RenamedCall { path: child, now }| {
            match inside_child(&path, child, &now.name) {
                Some(inside) => below_child(&compile::fingerprint(now).current_path(&inside), child, &now.name),
                None => path,
            }
        })
    }
}

impl Engine {
    /// The names of the nodes of a run, and of the workflows that its nodes call, as this program has them. None if its workflow is not
    /// registered. Reads the records only if nodes of called workflows were renamed.
    pub(super) async fn current_names(&self, header: &RunHeader) -> Result<CurrentNames, StoreError> {
        let Some(versions) = self.0.workflows.get(&header.workflow) else { return Ok(CurrentNames::default()) };
        let definition = &versions.newest.definition;
        let mut names = CurrentNames { run: Some(compile::fingerprint(definition)), calls: Vec::new() };
        let mut renamed = self.called_by(definition);
        renamed.retain(|called| compile::fingerprint(called).has_former_names());
        if renamed.is_empty() {
            return Ok(names);
        }
        let history = self.0.store.read(header.key, 0, usize::MAX).await?;
        for Stored { record, .. } in history {
            let Some(graph) = graph_of(&record.kind) else { continue };
            let past = self.0.store.graph(graph).await?.and_then(|body| Past::read(&body).ok());
            if let Some(now) = past.and_then(|past| renamed.iter().find(|called| called.name == past.name())) {
                let path = names.path(&record.path);
                names.calls.push(RenamedCall { path, now: Arc::clone(now) });
            }
        }
        Ok(names)
    }
}

/// The last starts of the children that are workflows and have not ended, with the hashes of their graphs, in order.
fn under_way(history: &[Stored]) -> Vec<(usize, u64)> {
    let mut under_way: Vec<(usize, u64)> = Vec::new();
    let starts = history.iter().any(|stored| graph_of(&stored.record.kind).is_some());
    let voided = if starts { voided(history) } else { return under_way };
    for (at, stored) in history.iter().enumerate().filter(|(_, stored)| !voided.contains(&stored.seq)) {
        let (path, kind) = (&stored.record.path, &stored.record.kind);
        let graph = graph_of(kind);
        let ends = matches!(kind, EventKind::NodeCompleted { .. } | EventKind::NodeCancelled)
            || matches!(kind, EventKind::NodeFailed { then, .. } if !matches!(then, AfterFailure::RetryAt { .. }));
        if kind.is_terminal() {
            // The end of the run is theirs as well.
            under_way.clear();
        }
        if graph.is_some() || ends {
            under_way.retain(|(start, _)| !is_within(&history[*start].record.path, path));
        }
        under_way.extend(graph.map(|graph| (at, graph)));
    }
    under_way
}

fn graph_of(kind: &EventKind) -> Option<u64> {
    match kind {
        EventKind::NodeStarted { inside: Some(inside), .. } => inside.graph,
        _ => None,
    }
}

/// Whether a path is that one, or lies below it.
fn is_within(path: &str, around: &str) -> bool {
    path.strip_prefix(around).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Translates the records below a child to the names of the current graph of its workflow.
///
/// # Errors
/// What has changed.
fn adapt(
    mut past: Past,
    now: &Arc<Definition>,
    child: &str,
    records: &mut [Stored],
) -> Result<FormerNamesOfCalled, Vec<String>> {
    let name = past.name().to_owned();
    for Stored { record, .. } in &*records {
        if let Some(path) = inside_child(&record.path, child, &name) {
            note_seen(&mut past, &path, &record.kind);
        }
    }
    // It may have continued under a later graph before this one.
    let now = compile::fingerprint(now);
    let (names, changes) = past.without_unknown().under(&now);
    let mut changes: Vec<String> = changes.iter().map(|change| format!("in the child `{child}`, {change}")).collect();
    if names.reuses_a_name() {
        changes.push(format!("in the child `{child}`, a node has the former name of another one"));
    }
    if !changes.is_empty() {
        return Err(changes);
    }
    for Stored { record, .. } in records {
        each_path(&mut record.path, &mut record.kind, |path| {
            if let Some(recorded) = inside_child(path, child, &name) {
                *path = below_child(&now.current_path(&names.path(&recorded)), child, &name);
            }
        });
    }
    Ok(FormerNamesOfCalled { child: child.to_owned(), now, from: names })
}
