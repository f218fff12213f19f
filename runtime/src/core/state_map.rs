//! The state that the nodes of a run share: writes arrive with the completion of the node that made them, and are
//! folded in the order of completions.
//!
//! A node with a graph inside is no exception. The nodes inside have a state of their own: a copy of the state around
//! it, made when the node begins ([`StateMap::inside`]). When the node completes, the state around it takes over the
//! writes ([`StateMap::take_over`]). If the node fails, they are dropped.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::fold_writes::{Totals, fold_into, fold_within};
use super::freeze;
use super::write_log::WriteLog;
use crate::fault::Fault;
use crate::sorted::SortedMap;
use crate::state_write::{StateOp, StateWrite};

/// The writes of a node in one attempt. Most nodes write nothing, which costs nothing.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Writes(pub(crate) Option<Box<WriteSet>>);

#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct WriteSet {
    /// To the run's state.
    pub(crate) shared: Vec<StateWrite>,
    /// To the private state that the node keeps between arrivals.
    pub(crate) local: Vec<StateWrite>,
}

/// The state as an attempt sees it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Snapshot {
    pub(crate) version: u64,
    #[serde(with = "freeze::shared")]
    pub(crate) values: Arc<Map<String, Value>>,
}

/// The state as its readers see it, and the last writer of each key.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct StateMap {
    #[serde(with = "freeze::shared")]
    pub(crate) values: Arc<Map<String, Value>>,
    written: SortedMap<String, (u64, String)>,
    /// How many writes there were.
    pub(super) version: u64,
    /// For a state inside a node: the writes for the state around it.
    inside: Option<Box<Inside>>,
}

/// The part of a state that only a graph inside a node has.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Inside {
    /// How many writes there had been around it when it began.
    began_at: u64,
    log: WriteLog,
}

impl StateMap {
    pub(crate) fn new(values: Map<String, Value>) -> Self {
        StateMap { values: Arc::new(values), written: SortedMap::new(), version: 0, inside: None }
    }

    /// The state of a child's graph, whose writes become those of the attempt that has called it.
    pub(super) fn of_child(values: Map<String, Value>) -> Self {
        StateMap::new(values).inside()
    }

    /// The state of the graphs inside a node which begins now.
    pub(super) fn inside(&self) -> Self {
        StateMap {
            values: Arc::clone(&self.values),
            written: SortedMap::new(),
            version: 0,
            inside: Some(Box::new(Inside { began_at: self.version, log: WriteLog::default() })),
        }
    }

    /// The writes since it began, for a state that is [`inside`](Self::inside) a node.
    pub(super) fn writes(&self) -> Vec<StateWrite> {
        self.inside.as_ref().map_or_else(Vec::new, |inside| inside.log.writes())
    }

    /// Checks that the writes of a node can be folded, whose attempt saw the state in the version `seen`.
    ///
    /// # Errors
    /// If another node has replaced a key since that this node replaces as well, and if a write does not fit the value
    /// of its key, or makes a sum of it that its type does not hold.
    pub(super) fn check(
        &self,
        writes: &[StateWrite],
        seen: u64,
        totals: &Totals,
        writer: impl Fn(&str) -> String,
    ) -> Result<(), Fault> {
        for write in writes.iter().filter(|write| matches!(write.op, StateOp::Set(_))) {
            if let Some((version, first)) = self.written.get(&write.key)
                && *version > seen
            {
                let (key, first) = (write.key.as_str().into(), first.as_str().into());
                return Err(Fault::StateConflict { key, first, second: writer(&write.key).into() });
            }
        }
        let touched = writes.iter().filter_map(|write| Some((write.key.clone(), self.values.get(&write.key)?.clone())));
        fold_within(&mut touched.collect(), writes, totals).map_err(|(_, fault)| fault)
    }

    /// Folds the writes of a node that is done.
    pub(super) fn fold(&mut self, writes: &[StateWrite], writer: impl Fn() -> String) -> Result<(), Fault> {
        if writes.is_empty() {
            return Ok(());
        }
        let writer = writer();
        fold_into(Arc::make_mut(&mut self.values), writes)?;
        for write in writes {
            self.version += 1;
            self.written.insert(write.key.clone(), (self.version, writer.clone()));
        }
        match &mut self.inside {
            Some(inside) => inside.log.extend(writes),
            None => Ok(()),
        }
    }

    /// Checks that it can take over the writes inside a node.
    ///
    /// # Errors
    /// As [`check`](Self::check).
    pub(super) fn check_inside(&self, state: &StateMap, totals: &Totals) -> Result<(), Fault> {
        let Some(inside) = state.inside.as_ref().filter(|_| state.version > 0) else { return Ok(()) };
        let writer = |key: &str| state.written.get(key).map_or_else(String::new, |(_, writer)| writer.clone());
        self.check(&inside.log.writes(), inside.began_at, totals, writer)
    }

    /// Takes over the writes inside a node that is done.
    pub(super) fn take_over(&mut self, state: StateMap) -> Result<(), Fault> {
        let Some(inside) = state.inside.filter(|_| state.version > 0) else { return Ok(()) };
        let is_alone = self.version == inside.began_at;
        if is_alone {
            self.values = Arc::clone(&state.values);
        }
        for (key, (_, writer)) in state.written.into_pairs() {
            let writes = inside.log.writes_to(&key);
            let is_touched = self.written.get(&key).is_some_and(|(version, _)| *version > inside.began_at);
            match state.values.get(&key) {
                _ if is_alone => {}
                // The value that the nodes inside have seen is taken exactly, to the last digit.
                Some(value) if !is_touched => _ = Arc::make_mut(&mut self.values).insert(key.clone(), value.clone()),
                _ => fold_into(Arc::make_mut(&mut self.values), &writes)?,
            }
            self.version += 1;
            self.written.insert(key, (self.version, writer));
            if let Some(inside) = &mut self.inside {
                inside.log.extend(&writes)?;
            }
        }
        Ok(())
    }

    pub(super) fn snapshot(&self) -> Snapshot {
        Snapshot { version: self.version, values: Arc::clone(&self.values) }
    }
}
