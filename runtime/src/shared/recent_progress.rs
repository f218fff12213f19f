//! The progress that running nodes have sent, for watchers that come later.

use std::collections::VecDeque;
use std::ops::Bound;
use std::sync::Arc;

use super::tree::below;
use crate::event::Event;
use crate::sorted::SortedMap;

/// How much of each node is kept.
const OF_NODE: usize = 1024;

/// How much is kept of all nodes that are under way at once, such as the items of a `[..]`.
const OF_RUN: usize = 65_536;

/// By path: the last progress of each attempt that is under way.
#[derive(Default)]
pub(super) struct RecentProgress {
    by_path: SortedMap<String, VecDeque<Arc<Event>>>,
    kept: usize,
    /// How much was sent in this process.
    sent: u64,
}

impl RecentProgress {
    /// The number of the next one, from 1.
    pub(super) fn next(&mut self) -> u64 {
        self.sent += 1;
        self.sent
    }

    pub(super) fn keep(&mut self, event: &Arc<Event>) {
        let of_node = self.by_path.get_or_insert_with(event.path.clone(), VecDeque::new);
        if of_node.len() == OF_NODE || self.kept >= OF_RUN {
            self.kept -= usize::from(of_node.pop_front().is_some());
        }
        // Where all places of the run are taken by other nodes, the last of this one is kept all the same.
        of_node.push_back(Arc::clone(event));
        self.kept += 1;
    }

    pub(super) fn is_empty(&self) -> bool {
        self.by_path.is_empty()
    }

    /// An attempt is over, and with it those at its requests.
    pub(super) fn forget(&mut self, path: &str) {
        let behind = self
            .by_path
            .range::<str>((Bound::Included(path), Bound::Unbounded))
            .take_while(|(of, _)| of.starts_with(path));
        let over: Vec<String> = behind.map(|(of, _)| of).filter(|of| *of == path || below(of, path)).cloned().collect();
        for of in over {
            self.kept -= self.by_path.remove(&of).map_or(0, |events| events.len());
        }
    }

    pub(super) fn clear(&mut self) {
        // For a node that follows another in place, and in most cases nothing is kept.
        if self.kept > 0 {
            self.by_path.clear();
            self.kept = 0;
        }
    }

    /// All that is kept, in the order in which it was sent.
    pub(super) fn all(&self) -> Vec<Arc<Event>> {
        let mut all: Vec<Arc<Event>> = self.by_path.values().flatten().map(Arc::clone).collect();
        all.sort_unstable_by_key(|event| event.position());
        all
    }
}
