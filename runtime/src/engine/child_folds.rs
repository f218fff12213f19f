//! Folds of the graphs of child workflows, beside that of the run which they are in.

use crate::event::EventKind;
use crate::shared::below;
use crate::sorted::SortedMap;
use crate::store::Record;

/// One fold for each child workflow that is under way, by the path of the child.
pub(super) struct ChildFolds<F>(SortedMap<String, F>);

impl<F> Default for ChildFolds<F> {
    fn default() -> Self {
        ChildFolds(SortedMap::new())
    }
}

impl<F> ChildFolds<F> {
    /// The innermost child in whose graph the node of a record is.
    pub(super) fn around(&mut self, Record { path, kind }: &Record) -> Option<(String, &mut F)> {
        if self.0.is_empty() {
            return None;
        }
        // The graph of the child itself is about to end.
        let mut above = path.as_str();
        if *kind != EventKind::RunCancelling || !self.0.contains_key(above) {
            loop {
                above = above.rsplit_once('/')?.0;
                if self.0.contains_key(above) {
                    break;
                }
            }
        }
        let above = above.to_owned();
        let fold = self.0.get_mut(&above)?;
        Some((above, fold))
    }

    /// A child begins.
    pub(super) fn insert(&mut self, path: &str, fold: F) {
        self.0.insert(path.to_owned(), fold);
    }

    /// Drops the fold of a child that the others do not depend on.
    pub(super) fn remove(&mut self, path: &str) {
        self.0.remove(path);
    }

    /// Drops those that end with a record, or with an event derived from one.
    pub(super) fn end(&mut self, Record { path, kind }: &Record) {
        if self.0.is_empty() {
            return;
        }
        let ends = match kind {
            // A node that was interrupted starts again, and the children that it has called continue.
            EventKind::NodeStarted { inside: None, .. } => self.0.contains_key(path),
            EventKind::NodeStarted { .. }
            | EventKind::NodeCompleted { .. }
            | EventKind::NodeFailed { .. }
            | EventKind::NodeCollecting { .. }
            | EventKind::NodeCancelled
            | EventKind::RequestWithdrawn
            | EventKind::RunStartingOver { .. } => true,
            _ => false,
        };
        if ends {
            self.0.remove(path);
            let inside = self.0.range(format!("{path}/")..).map(|(child, _)| child);
            let inside: Vec<String> = inside.take_while(|child| below(child, path)).cloned().collect();
            for child in inside {
                self.0.remove(&child);
            }
        }
    }

    pub(super) fn clear(&mut self) {
        self.0.clear();
    }

    pub(super) fn all(&mut self) -> impl Iterator<Item = &mut F> {
        self.0.values_mut()
    }
}

/// The hash of the graph of a child that begins with an event.
pub(super) fn graph_of_child(kind: &EventKind) -> Option<u64> {
    let EventKind::NodeStarted { inside: Some(entered), .. } = kind else { return None };
    entered.graph
}
