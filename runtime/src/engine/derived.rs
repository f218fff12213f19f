//! The events of a run: its records, and the events derived from them.

use std::sync::Arc;

use super::child_graphs::ChildGraphs;
use super::folded_graph::FoldedGraph;
use super::inner::Engine;
use super::replay::ReplayedGraph;
use super::voided::effective;
use crate::compile::executable_in;
use crate::driver::StoredProgram;
use crate::event::{Event, EventKind};
use crate::store::{Record, RunHeader, Stored};

/// Makes the events of a run from its records, with derived events, which are not recorded.
pub(super) struct Deriver {
    /// `None` if nothing can be derived: the store has no graph of the run, or its records do not fit it.
    graph: Option<ReplayedGraph>,
    /// The run by that graph, once it has begun.
    whole: Option<FoldedGraph>,
    children: ChildGraphs,
    /// The records so far, for a retry, which voids some of them.
    before: Vec<Stored>,
    seen: u64,
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
        Deriver { graph, whole: None, children: ChildGraphs::default(), before: Vec::new(), seen: 0 }
    }

    /// How many records it has processed.
    pub(super) fn seen(&self) -> u64 {
        self.seen
    }

    /// The events of the next records.
    pub(super) async fn events(&mut self, engine: &Engine, run_id: &str, stored: Vec<Stored>) -> Vec<Event> {
        self.children.read_graphs(engine, &stored).await;
        let mut events = Vec::with_capacity(stored.len());
        for stored in stored {
            self.seen = stored.seq + 1;
            let follows = self.take(&stored);
            let Stored { seq, time, record } = stored;
            let (version, run_id) = (Event::VERSION, run_id.to_owned());
            let event = |path, derived, kind| Event { version, run_id: run_id.clone(), seq, time, path, derived, kind };
            events.push(event(record.path, false, record.kind));
            events.extend(follows.into_iter().map(|record| event(record.path, true, record.kind)));
        }
        events
    }

    /// The events derived from a record.
    fn take(&mut self, stored: &Stored) -> Vec<Record> {
        self.before.push(stored.clone());
        let EventKind::RunRetried { .. } = stored.record.kind else { return self.fold(stored) };
        self.whole = None;
        self.children.begin_anew();
        for stored in effective(self.before.clone()) {
            self.fold(&stored);
        }
        self.whole.iter_mut().for_each(FoldedGraph::forget_derived);
        self.children.forget_derived();
        Vec::new()
    }

    fn fold(&mut self, stored: &Stored) -> Vec<Record> {
        let mut derived = self.children.take(stored).unwrap_or_else(|| self.fold_whole(stored));
        derived.extend(self.children.follow(stored, &derived));
        derived
    }

    /// A record of the graph of the run. After one that does not fit it, none are derived any more.
    fn fold_whole(&mut self, stored: &Stored) -> Vec<Record> {
        let Some(graph) = &self.graph else { return Vec::new() };
        let folded = match &mut self.whole {
            Some(whole) => whole.take(stored),
            None => FoldedGraph::new(graph.program(), || graph.begin(stored)).map(|begun| self.whole = Some(begun)),
        };
        match &mut self.whole {
            Some(whole) if folded.is_ok() && !whole.is_unknown() => whole.derived(),
            _ => {
                (self.graph, self.whole) = (None, None);
                Vec::new()
            }
        }
    }
}
