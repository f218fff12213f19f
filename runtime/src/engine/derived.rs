//! The events of a run: its records, and the events derived from them.

use std::sync::Arc;

use super::inner::Engine;
use super::replay::ReplayedGraph;
use super::voided::effective;
use crate::catch::caught;
use crate::compile::executable_in;
use crate::core::{Derived, Place};
use crate::driver::{Replay, StoredProgram, derived_record};
use crate::event::{Event, EventKind};
use crate::halt::Halt;
use crate::store::{Record, RunHeader, Stored};

/// Makes the events of a run from its records, with derived events, which are not recorded.
pub(super) struct Deriver {
    /// `None` if nothing can be derived: the store has no graph of the run, or its records do not fit it.
    graph: Option<ReplayedGraph>,
    /// What the run may be; several only until its records show which arm of START it has taken.
    possible: Vec<Possible>,
    /// The records so far, for a retry, which voids some of them.
    before: Vec<Stored>,
    seen: u64,
}

/// What a run may be, and what was derived by that and is not an event yet.
struct Possible {
    replay: Replay<()>,
    derived: Vec<(Place, Derived)>,
}

impl Deriver {
    /// By the code of the workflow, if that is registered with the graph of the run, and else by the graph in the store.
    pub(super) async fn of(engine: &Engine, header: &RunHeader) -> Deriver {
        let graph = match engine.definition_of_graph(header) {
            Some(definition) => Some(ReplayedGraph::Code(executable_in(&engine.0.env, &definition), definition)),
            // What cannot be read is not derived.
            None => match engine.stored_graph(header.graph).await {
                Ok(graphs) => {
                    graphs.and_then(|graphs| StoredProgram::of(&graphs)).map(Arc::new).map(ReplayedGraph::Stored)
                }
                Err(_) => None,
            },
        };
        Deriver { graph, possible: Vec::new(), before: Vec::new(), seen: 0 }
    }

    /// How many records it has processed.
    pub(super) fn seen(&self) -> u64 {
        self.seen
    }

    /// The events of the next records.
    pub(super) fn events(&mut self, run_id: &str, stored: Vec<Stored>) -> Vec<Event> {
        let mut events = Vec::with_capacity(stored.len());
        for stored in stored {
            self.seen = stored.seq + 1;
            let follows = if self.graph.is_some() { self.take(&stored) } else { Vec::new() };
            let Stored { seq, time, record } = stored;
            let (version, run_id) = (Event::VERSION, run_id.to_owned());
            let event = |path, derived, kind| Event { version, run_id: run_id.clone(), seq, time, path, derived, kind };
            events.push(event(record.path, false, record.kind));
            events.extend(follows.into_iter().map(|record| event(record.path, true, record.kind)));
        }
        events
    }

    /// The events derived from a record. After a record that does not fit the graph, none are derived any more.
    fn take(&mut self, stored: &Stored) -> Vec<Record> {
        let taken =
            caught(|| self.fold(stored)).map_err(|fault| Halt::broken("history", &fault)).and_then(|taken| taken);
        match taken {
            Ok(()) if !self.possible.is_empty() => {}
            _ => (self.graph, self.possible, self.before) = (None, Vec::new(), Vec::new()),
        }
        match &mut self.possible[..] {
            [only] => {
                std::mem::take(&mut only.derived).iter().map(|(place, what)| derived_record(place, *what)).collect()
            }
            _ => Vec::new(),
        }
    }

    fn fold(&mut self, stored: &Stored) -> Result<(), Halt> {
        let Some(graph) = &self.graph else { return Ok(()) };
        self.before.push(stored.clone());
        if let EventKind::RunRetried { .. } = stored.record.kind {
            let mut history = effective(self.before.clone()).into_iter();
            self.possible = match history.next() {
                Some(first) => begin(graph, &first)?,
                None => Vec::new(),
            };
            for stored in history {
                advance(graph, &mut self.possible, &stored)?;
            }
            self.possible.iter_mut().for_each(|possible| possible.derived.clear());
            return Ok(());
        }
        if self.possible.is_empty() {
            self.possible = begin(graph, stored)?;
            return Ok(());
        }
        advance(graph, &mut self.possible, stored)
    }
}

fn begin(graph: &ReplayedGraph, first: &Stored) -> Result<Vec<Possible>, Halt> {
    let possible = |mut replay: Replay<()>| Possible { derived: replay.run.take_derived(), replay };
    Ok(graph.begin(first)?.into_iter().map(possible).collect())
}

/// Folds a record, and drops what the run cannot be by it.
///
/// # Errors
/// If it can be nothing.
fn advance(graph: &ReplayedGraph, all: &mut Vec<Possible>, stored: &Stored) -> Result<(), Halt> {
    let mut misfit = None;
    all.retain_mut(|Possible { replay, derived }| match replay.take(stored.clone(), &mut graph.values()) {
        Ok(_) => {
            replay.run.take_end();
            derived.append(&mut replay.run.take_derived());
            true
        }
        Err(halt) => {
            misfit = Some(halt);
            false
        }
    });
    match misfit {
        Some(halt) if all.is_empty() => Err(halt),
        _ => Ok(()),
    }
}
