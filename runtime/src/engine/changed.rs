//! Runs that were recorded under another graph than the current one.

use std::cell::OnceCell;
use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use serde_json::{Map, Value as Json};

use super::inner::Engine;
use super::voided::voided;
use crate::catch::caught;
use crate::compile;
use crate::event::{AfterFailure, EventKind};
use crate::field::Unreadable;
use crate::fingerprint::{Change, Fingerprint, FormerNames, Past, Retyped, Translation};
use crate::halt::Halt;
use crate::sorted::SortedSet;
use crate::store::{RunHeader, Stored};
use crate::table::{Definition, Misread, Reread};
use crate::value::Against;

/// Which parts of a history are checked against the current program.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Adapt {
    /// The nodes, by their names. It is not known yet which of the values count.
    Names,
    /// Also the values of the records that count.
    NamesAndValues,
}

/// Records that have the names of the current graph.
pub(super) struct Adapted {
    /// The hash of the last graph under which they were made, if that was another one.
    pub(super) before: Option<u64>,
    /// The names that they had, if there were others.
    pub(super) former: Option<FormerNames>,
}

impl Engine {
    /// The graph of a workflow as it is stored with its runs.
    pub(super) fn graph_of(&self, definition: &Arc<Definition>) -> Arc<(u64, Json)> {
        Arc::clone(&compile::fingerprint(definition).stored)
    }

    /// Checks records against the current graph and those of the workflows that its nodes call, and translates them to their
    /// names.
    pub(super) async fn adapt(
        &self,
        header: &RunHeader,
        definition: &Arc<Definition>,
        history: &mut [Stored],
        what: Adapt,
    ) -> Result<Adapted, Halt> {
        let now = compile::fingerprint(definition);
        let change = |stored: &Stored| match stored.record.kind {
            EventKind::GraphChanged { from, to } => Some((from, to)),
            _ => None,
        };
        let mut graph = history.iter().find_map(change).map_or(header.graph, |(first, _)| first);
        let mut graphs: HashMap<u64, Json> = HashMap::new();
        let unread = match what {
            Adapt::Names => history.iter().map(|stored| stored.seq).collect(),
            Adapt::NamesAndValues => voided(history),
        };
        let (mut at, mut former) = (0, Vec::new());
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
                former.push(translate(header, old, &now, definition, &unread, &mut history[at..end])?);
            }
            if let Some((_, to)) = history.get(end).and_then(change) {
                graph = to;
            }
            at = end + 1;
        }
        let called = self.adapt_called(definition, history).await?;
        let renames = !called.is_empty() || former.iter().any(Translation::renames);
        let former = renames.then(|| FormerNames::Graphs { now: Arc::clone(&now), from: former, called });
        Ok(Adapted { before: (graph != now.hash).then_some(graph), former })
    }
}

const GONE: &str = "the graph that it was recorded under is gone";

fn unreadable(header: &RunHeader, message: &str) -> Halt {
    Halt::Unreadable { path: header.workflow.clone(), field: ".".to_owned(), message: message.to_owned() }
}

fn translate(
    header: &RunHeader,
    old: &Json,
    now: &Fingerprint,
    definition: &Arc<Definition>,
    unread: &SortedSet<u64>,
    records: &mut [Stored],
) -> Result<Translation, Halt> {
    let of_graph = |error: Unreadable| unreadable(header, &format!("the graph that it was recorded under: {error}"));
    let mut past = Past::read(old).map_err(of_graph)?;
    for Stored { record, .. } in &*records {
        note_seen(&mut past, &record.path, &record.kind);
    }
    let (names, mut changes) = past.under(now);
    let values = records.iter().filter(|stored| !unread.contains(&stored.seq));
    changes.extend(changed_values(&names, definition, values));
    if !changes.is_empty() {
        return Err(Halt::GraphChanged {
            workflow: header.workflow.clone(),
            changes: changes.iter().map(Change::to_string).collect(),
        });
    }
    for Stored { record, .. } in records {
        each_path(&mut record.path, &mut record.kind, |path| *path = names.path(path).into_owned());
    }
    Ok(names)
}

/// Notes what a record says of the nodes of a graph.
pub(super) fn note_seen(past: &mut Past, path: &str, kind: &EventKind) {
    match kind {
        EventKind::NodeCompleted { label, .. } => past.completed(path, label.as_deref()),
        EventKind::NodeFailed { then: AfterFailure::Routed { label, .. }, .. } => past.error_routed(path, label),
        EventKind::NodeStarted { .. }
        | EventKind::NodeCollecting { .. }
        | EventKind::NodeFailed { .. }
        | EventKind::QuestionAsked { .. }
        | EventKind::SignalAwaited { .. }
        | EventKind::TimerSet { .. } => past.started(path),
        _ => {}
    }
}

/// The paths of nodes in a record or an event.
pub(super) fn each_path(path: &mut String, kind: &mut EventKind, mut change: impl FnMut(&mut String)) {
    change(path);
    match kind {
        EventKind::RunFailed { failure } => change(&mut failure.path),
        EventKind::SignalAwaited { inside, .. } => inside.iter_mut().for_each(change),
        EventKind::RunRetried { from_nodes, rerun, .. } => from_nodes.iter_mut().chain(rerun).for_each(change),
        _ => {}
    }
}

/// The recorded values whose types have changed, and which the current types cannot read without loss. Only the first
/// of each node.
fn changed_values<'r>(
    names: &Translation,
    definition: &Arc<Definition>,
    records: impl Iterator<Item = &'r Stored>,
) -> Vec<Change> {
    // Made only if needed: in many workflows no type has changed.
    let definitions = OnceCell::new();
    let mut changes: BTreeMap<String, String> = BTreeMap::new();
    for Stored { record, .. } in records {
        let (node, what, value, reread) = match &record.kind {
            EventKind::RunStarted { input, .. } if names.has_other_input => {
                (definition.name.clone(), "input", input, definition.door.input)
            }
            EventKind::NodeCompleted { output: Some(output), .. } => {
                let Some(Retyped { node, graph, at }) = names.retyped(&record.path) else { continue };
                let definitions = definitions.get_or_init(|| compile::definitions(definition));
                let Some(entry) = definitions.get(graph).and_then(|of| of.entries.get(at)) else { continue };
                (node, "output", output, entry.output)
            }
            _ => continue,
        };
        if changes.contains_key(&node) {
            continue;
        }
        if let Err(misread) = checked(reread, value, Against::Values) {
            changes.insert(node, not_compatible(what, (reread.type_name)(), &misread));
        }
    }
    changes.into_iter().map(|(node, what)| Change { node, what }).collect()
}

/// Checks a recorded value against its type. That runs code of the user.
fn checked(reread: Reread, value: &Json, against: Against) -> Result<(), Misread> {
    caught(|| reread.check(value, against)).unwrap_or_else(|fault| {
        Err(Misread::Unreadable(Unreadable { field: ".".to_owned(), message: fault.to_string() }))
    })
}

fn not_compatible(what: &str, type_name: &str, misread: &Misread) -> String {
    let help = match misread {
        Misread::Unreadable(_) => {
            "a field that was added needs `#[serde(default)]`, or to be an `Option`; what was recorded must still be valid"
        }
        Misread::Loses(_) => {
            "a field or variant that was renamed needs `#[serde(alias = \"..\")]` with its former name, and one that was \
             recorded must still be read, as the same value"
        }
    };
    format!("its recorded {what} does not fit `{type_name}`, {misread} ({help})")
}

/// Checks that an input, recorded under any graph of a workflow, can be the input of a new run of it.
pub(super) fn check_input(definition: &Definition, input: &Json) -> Result<(), Halt> {
    let door = &definition.door;
    checked(door.input, input, Against::Fields).map_err(|misread| Halt::GraphChanged {
        workflow: definition.name.clone(),
        changes: vec![
            Change { node: definition.name.clone(), what: not_compatible("input", (door.input.type_name)(), &misread) }
                .to_string(),
        ],
    })
}

/// Whether a new run can begin with this recorded input and state.
pub(super) fn check_beginning(definition: &Definition, input: &Json, state: &Map<String, Json>) -> Result<(), Halt> {
    check_input(definition, input)?;
    let missing = definition.missing_keys(state);
    if missing.is_empty() {
        return Ok(());
    }
    let what = format!("it has to be given `{}` at its start", missing.join("`, `"));
    let change = Change { node: definition.name.clone(), what };
    Err(Halt::GraphChanged { workflow: definition.name.clone(), changes: vec![change.to_string()] })
}

/// Whether an input equals the recorded one, after the current type has rewritten the recorded one.
pub(super) fn is_same_input(definition: &Definition, recorded: &Json, input: &Json) -> bool {
    let reread = definition.door.input;
    recorded == input
        || caught(|| {
            let now = (reread.rewrite)(recorded).ok().filter(|now| now == input);
            now.is_some() && reread.check(recorded, Against::Values).is_ok()
        })
        .unwrap_or(false)
}
