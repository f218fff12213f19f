//! The events of a run: its records, and the events derived from them.

use std::sync::Arc;

use super::changed::Adapt;
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
    /// That of the run, with the graph by which its records are folded.
    header: RunHeader,
    /// `None` if nothing can be derived: the store has no graph of the run, or its records do not fit it.
    graph: Option<ReplayedGraph>,
    /// The run by that graph, once it has begun.
    whole: Option<FoldedGraph>,
    children: ChildGraphs,
    /// The records so far: a retry voids some of them, and under another graph they may have other names.
    before: Vec<Stored>,
    seen: u64,
}

impl Deriver {
    /// By the code of the workflow, if that is registered with the graph of the run, and else by the graph in the store.
    pub(super) async fn of(engine: &Engine, header: &RunHeader) -> Deriver {
        let (graph, header) = (graph_of(engine, header).await, header.clone());
        Deriver { header, graph, whole: None, children: ChildGraphs::default(), before: Vec::new(), seen: 0 }
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
            let follows = self.take(engine, &stored).await;
            let Stored { seq, time, record } = stored;
            let (version, run_id) = (Event::VERSION, run_id.to_owned());
            let event = |path, derived, kind| Event { version, run_id: run_id.clone(), seq, time, path, derived, kind };
            events.push(event(record.path, false, record.kind));
            events.extend(follows.into_iter().map(|record| event(record.path, true, record.kind)));
        }
        events
    }

    /// The events derived from a record.
    async fn take(&mut self, engine: &Engine, stored: &Stored) -> Vec<Record> {
        self.before.push(stored.clone());
        match stored.record.kind {
            EventKind::RunRetried { .. } => self.fold_anew(engine, self.before.len()).await,
            EventKind::GraphChanged { to, .. } if to != self.header.graph => {
                self.change_graph(engine, to).await;
                self.fold_anew(engine, self.before.len()).await;
            }
            _ => {
                let had_graph = self.graph.is_some();
                let derived = self.fold(stored);
                if !had_graph || self.graph.is_some() {
                    return derived;
                }
                // It does not fit the graph any more. It may have been made under an earlier one.
                let Some(first) = self.first_graph(engine).await else { return derived };
                self.change_graph(engine, first).await;
                self.fold_anew(engine, self.before.len() - 1).await;
                return self.fold(stored);
            }
        }
        Vec::new()
    }

    async fn change_graph(&mut self, engine: &Engine, graph: u64) {
        self.header.graph = graph;
        self.graph = graph_of(engine, &self.header).await;
    }

    /// The graph under which these records were made, if it changes behind them.
    async fn first_graph(&self, engine: &Engine) -> Option<u64> {
        if self.before.iter().any(|stored| graph_before(stored).is_some()) {
            return None;
        }
        let behind = engine.0.store.read(self.header.key, self.seen, usize::MAX).await.ok()?;
        behind.iter().find_map(graph_before).filter(|first| *first != self.header.graph)
    }

    /// Folds so many of the records anew, of which nothing is derived again.
    async fn fold_anew(&mut self, engine: &Engine, count: usize) {
        self.whole = None;
        self.children.begin_anew();
        let mut history = self.before[..count].to_vec();
        if let Some(ReplayedGraph::Code(_, definition)) = &self.graph
            && history.iter().any(|stored| graph_before(stored).is_some())
            && engine.adapt(&self.header, definition, &mut history, Adapt::Names).await.is_err()
        {
            self.graph = None;
        }
        for stored in effective(history) {
            self.fold(&stored);
        }
        self.whole.iter_mut().for_each(FoldedGraph::forget_derived);
        self.children.forget_derived();
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

/// By which records under this graph are folded; `None` if it cannot be read.
async fn graph_of(engine: &Engine, header: &RunHeader) -> Option<ReplayedGraph> {
    if let Some(definition) = engine.definition_of_graph(header) {
        return Some(ReplayedGraph::Code(executable_in(&engine.0.env, &definition), definition));
    }
    let graphs = engine.stored_graph(header.graph).await.ok()??;
    StoredProgram::of(&graphs).map(Arc::new).map(ReplayedGraph::Stored)
}

/// The graph before a record with which it changes.
fn graph_before(stored: &Stored) -> Option<u64> {
    match stored.record.kind {
        EventKind::GraphChanged { from, .. } => Some(from),
        _ => None,
    }
}
