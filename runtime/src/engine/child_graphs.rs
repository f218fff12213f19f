//! The graphs of the child workflows of a run, folded beside its own graph: for the events that are derived from their
//! records. The code of a child is known only to the node that calls it, so each is folded by the graph in the store.

use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use super::folded_graph::FoldedGraph;
use super::inner::Engine;
use super::replay::begin_child;
use crate::driver::StoredProgram;
use crate::event::EventKind;
use crate::shared::below;
use crate::store::{Record, Stored};

/// The child workflows of a run.
#[derive(Default)]
pub(super) struct ChildGraphs {
    /// By the hash of the graph; `None` for one that the store does not have, or that cannot be read.
    programs: HashMap<u64, Option<Arc<StoredProgram>>>,
    /// Those that are under way, by path.
    under_way: BTreeMap<String, FoldedGraph>,
}

impl ChildGraphs {
    /// Reads the graphs of the child workflows that begin with these records.
    pub(super) async fn read_graphs(&mut self, engine: &Engine, records: &[Stored]) {
        for hash in records.iter().filter_map(|stored| graph_of_child(&stored.record.kind)) {
            if let Entry::Vacant(missing) = self.programs.entry(hash) {
                // What cannot be read is not derived.
                let graphs = engine.stored_graph(hash).await.ok().flatten();
                missing.insert(graphs.and_then(|graphs| StoredProgram::of(&graphs)).map(Arc::new));
            }
        }
    }

    /// Folds a record of a node in the graph of a child. Returns what is derived from it, or `None` for a record of anything else.
    pub(super) fn take(&mut self, stored: &Stored) -> Option<Vec<Record>> {
        let path = self.around(&stored.record)?.to_owned();
        let child = self.under_way.get_mut(&path)?;
        if child.take(stored).is_err() {
            self.under_way.remove(&path);
            return Some(Vec::new());
        }
        Some(child.derived())
    }

    /// Follows the children that begin and end with a record and with what is derived from it. Returns what is derived from the
    /// begin of one.
    pub(super) fn follow(&mut self, stored: &Stored, derived: &[Record]) -> Vec<Record> {
        for record in std::iter::once(&stored.record).chain(derived) {
            if self.ends(record) {
                self.close(&record.path);
            }
        }
        let Record { path, kind } = &stored.record;
        let program = graph_of_child(kind).and_then(|hash| self.programs.get(&hash).cloned().flatten());
        let Some(program) = program else { return Vec::new() };
        match FoldedGraph::new(&program.program, || begin_child(&program, path)) {
            Ok(mut child) if !child.is_unknown() => {
                let derived = child.derived();
                self.under_way.insert(path.clone(), child);
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
        self.under_way.values_mut().for_each(FoldedGraph::forget_derived);
    }

    /// The innermost child in whose graph the node of a record is.
    fn around<'p>(&self, Record { path, kind }: &'p Record) -> Option<&'p str> {
        if self.under_way.is_empty() {
            return None;
        }
        // The graph of the child itself is about to end.
        if *kind == EventKind::RunCancelling && self.under_way.contains_key(path) {
            return Some(path);
        }
        let mut above = path.as_str();
        while let Some((parent, _)) = above.rsplit_once('/') {
            above = parent;
            if self.under_way.contains_key(above) {
                return Some(above);
            }
        }
        None
    }

    /// Whether what is at the path of a record, and what was called from there, does not continue.
    fn ends(&self, Record { path, kind }: &Record) -> bool {
        match kind {
            // A node that was interrupted starts again, and the children that it has called continue.
            EventKind::NodeStarted { inside: None, .. } => self.under_way.contains_key(path),
            EventKind::NodeStarted { .. }
            | EventKind::NodeCompleted { .. }
            | EventKind::NodeFailed { .. }
            | EventKind::NodeCollecting { .. }
            | EventKind::NodeCancelled
            | EventKind::RequestWithdrawn
            | EventKind::RunStartingOver { .. } => true,
            _ => false,
        }
    }

    fn close(&mut self, path: &str) {
        if self.under_way.is_empty() {
            return;
        }
        self.under_way.remove(path);
        let inside = self.under_way.range(format!("{path}/")..).map(|(child, _)| child);
        let inside: Vec<String> = inside.take_while(|child| below(child, path)).cloned().collect();
        for child in inside {
            self.under_way.remove(&child);
        }
    }
}

/// The hash of the graph of a child that begins.
fn graph_of_child(kind: &EventKind) -> Option<u64> {
    let EventKind::NodeStarted { inside: Some(entered), .. } = kind else { return None };
    entered.graph
}
