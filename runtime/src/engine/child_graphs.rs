//! The graphs of the child workflows of a run, folded beside its own graph: for the events that are derived from their
//! records. The code of a child is known only to the node that calls it, so each is folded by the graph in the store.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::Arc;

use super::child_folds::{ChildFolds, graph_of_child};
use super::folded_graph::FoldedGraph;
use super::inner::Engine;
use super::replay::begin_child;
use crate::driver::StoredProgram;
use crate::store::{Record, Stored};

/// The child workflows of a run.
#[derive(Default)]
pub(super) struct ChildGraphs {
    /// By the hash of the graph; `None` for one that the store does not have, or that is none that this version knows.
    programs: HashMap<u64, Option<Arc<StoredProgram>>>,
    under_way: ChildFolds<FoldedGraph>,
}

impl ChildGraphs {
    /// Reads the graphs of the child workflows that begin with these records.
    pub(super) async fn read_graphs(&mut self, engine: &Engine, records: &[Stored]) {
        for hash in records.iter().filter_map(|stored| graph_of_child(&stored.record.kind)) {
            if let Entry::Vacant(missing) = self.programs.entry(hash) {
                // What cannot be read now is not derived now.
                if let Ok(graphs) = engine.stored_graph(hash).await {
                    missing.insert(graphs.and_then(|graphs| StoredProgram::of(&graphs)).map(Arc::new));
                }
            }
        }
    }

    /// Folds a record of a node in the graph of a child. Returns what is derived from it, or `None` for a record of anything else.
    pub(super) fn take(&mut self, stored: &Stored) -> Option<Vec<Record>> {
        let (path, child) = self.under_way.around(&stored.record)?;
        if child.take(stored).is_ok() {
            return Some(child.derived());
        }
        self.under_way.remove(&path);
        Some(Vec::new())
    }

    /// Follows the children that begin and end with a record and with what is derived from it. Returns what is derived from the
    /// begin of one.
    pub(super) fn follow(&mut self, stored: &Stored, derived: &[Record]) -> Vec<Record> {
        for record in std::iter::once(&stored.record).chain(derived) {
            self.under_way.end(record);
        }
        let Record { path, kind } = &stored.record;
        let program = graph_of_child(kind).and_then(|hash| self.programs.get(&hash)?.clone());
        let Some(program) = program else { return Vec::new() };
        match FoldedGraph::new(&program.program, || begin_child(&program, path)) {
            Ok(mut child) if !child.is_unknown() => {
                let derived = child.derived();
                self.under_way.insert(path, child);
                derived
            }
            _ => Vec::new(),
        }
    }

    /// Before all records are folded anew.
    pub(super) fn begin_anew(&mut self) {
        self.under_way.clear();
    }

    pub(super) fn forget_derived(&mut self) {
        self.under_way.all().for_each(FoldedGraph::forget_derived);
    }
}
