//! The progress that running nodes have sent, for watchers that come later.

use std::collections::VecDeque;
use std::sync::Arc;

use foldhash::HashMap;

use crate::event::Event;

/// How much of each node is kept.
const KEPT: usize = 1024;

/// By path: the last progress of each attempt that is under way.
#[derive(Default)]
pub(super) struct RecentProgress {
    by_path: HashMap<String, VecDeque<Arc<Event>>>,
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
        let of_node = self.by_path.entry(event.path.clone()).or_default();
        if of_node.len() == KEPT {
            of_node.pop_front();
        }
        of_node.push_back(Arc::clone(event));
    }

    pub(super) fn is_empty(&self) -> bool {
        self.by_path.is_empty()
    }

    /// An attempt is over, and with it those at its requests.
    pub(super) fn forget(&mut self, path: &str) {
        if !self.is_empty() {
            let is_at = |of: &str| of.strip_prefix(path).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
            self.by_path.retain(|of, _| !is_at(of));
        }
    }

    pub(super) fn clear(&mut self) {
        self.by_path.clear();
    }

    /// All that is kept, in the order in which it was sent.
    pub(super) fn all(&self) -> Vec<Arc<Event>> {
        let mut all: Vec<Arc<Event>> = self.by_path.values().flatten().map(Arc::clone).collect();
        all.sort_unstable_by_key(|event| event.position());
        all
    }
}
