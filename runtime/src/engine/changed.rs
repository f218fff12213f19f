//! Runs that were recorded under another graph than that of today.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::Arc;

use serde_json::Value as Json;

use super::inner::Engine;
use crate::compile;
use crate::event::{AfterFailure, EventKind};
use crate::field::Unreadable;
use crate::fingerprint::{Change, Fingerprint, Past};
use crate::halt::Halt;
use crate::store::{RunHeader, Stored};
use crate::table::Definition;

impl Engine {
    /// The graph of a workflow as it is stored with its runs.
    pub(super) fn graph_of(&self, definition: &Arc<Definition>) -> Arc<(u64, Json)> {
        Arc::clone(&compile::fingerprint(definition).stored)
    }

    /// Holds what is on record against the graph of today, and gives it the names of today. Whether there was another
    /// graph last.
    pub(super) async fn adapt(
        &self,
        header: &RunHeader,
        definition: &Arc<Definition>,
        history: &mut [Stored],
    ) -> Result<Option<u64>, Halt> {
        let now = compile::fingerprint(definition);
        let change = |stored: &Stored| match stored.record.kind {
            EventKind::GraphChanged { from, to } => Some((from, to)),
            _ => None,
        };
        let mut graph = history.iter().find_map(change).map_or(header.graph, |(first, _)| first);
        let mut graphs: HashMap<u64, Json> = HashMap::new();
        let mut at = 0;
        while at < history.len() {
            let behind = history[at..].iter().position(|stored| change(stored).is_some());
            let end = behind.map_or(history.len(), |behind| at + behind);
            if graph != now.hash {
                let old = match graphs.entry(graph) {
                    Entry::Occupied(known) => known.into_mut(),
                    Entry::Vacant(unknown) => {
                        let body = self.0.store.graph(graph).await.map_err(Halt::Store)?;
                        unknown.insert(body.ok_or_else(|| unreadable(header, GONE))?)
                    }
                };
                translate(header, old, &now, &mut history[at..end])?;
            }
            if let Some((_, to)) = history.get(end).and_then(change) {
                graph = to;
            }
            at = end + 1;
        }
        Ok((graph != now.hash).then_some(graph))
    }
}

const GONE: &str = "the graph that it was recorded under is gone";

fn unreadable(header: &RunHeader, message: &str) -> Halt {
    Halt::Unreadable { path: header.workflow.clone(), field: ".".to_owned(), message: message.to_owned() }
}

fn translate(header: &RunHeader, old: &Json, now: &Fingerprint, records: &mut [Stored]) -> Result<(), Halt> {
    let of_graph = |error: Unreadable| unreadable(header, &format!("the graph that it was recorded under: {error}"));
    let mut past = Past::read(old).map_err(of_graph)?;
    for Stored { record, .. } in &*records {
        match &record.kind {
            EventKind::NodeCompleted { label, .. } => past.completed(&record.path, label.as_deref()),
            EventKind::NodeFailed { then: AfterFailure::Routed { label, .. }, .. } => {
                past.error_routed(&record.path, label);
            }
            EventKind::NodeStarted { .. }
            | EventKind::NodeCollecting { .. }
            | EventKind::NodeFailed { .. }
            | EventKind::QuestionAsked { .. }
            | EventKind::TimerSet { .. } => past.started(&record.path),
            _ => {}
        }
    }
    let names = past.under(now).map_err(|changes| Halt::GraphChanged {
        workflow: header.workflow.clone(),
        changes: changes.iter().map(Change::to_string).collect(),
    })?;
    for Stored { record, .. } in records {
        record.path = names.path(&record.path).into_owned();
        match &mut record.kind {
            EventKind::RunFailed { failure } => failure.path = names.path(&failure.path).into_owned(),
            EventKind::RunRetried { from_nodes, rerun, .. } => {
                for path in from_nodes.iter_mut().chain(rerun) {
                    *path = names.path(path).into_owned();
                }
            }
            _ => {}
        }
    }
    Ok(())
}
