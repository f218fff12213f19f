//! Sets of keys, in constants that are made where their number is not known.

use super::facts::{StateFacts, StateKeyFact};

/// How many keys a graph may have that is a node of another.
pub const MOST_KEYS: usize = 128;

/// Keys, and how many of them there are.
#[derive(Clone, Copy, Debug)]
pub(super) struct Keys {
    keys: [StateKeyFact; MOST_KEYS],
    len: usize,
}

impl Keys {
    pub(super) const NONE: Keys = Keys { keys: [StateKeyFact::ANY; MOST_KEYS], len: 0 };

    pub(super) const fn as_slice(&self) -> &[StateKeyFact] {
        self.keys.split_at(self.len).0
    }

    pub(super) const fn len(&self) -> usize {
        self.len
    }

    /// Adds a key, unless there are too many.
    pub(super) const fn add_if_room(&mut self, key: StateKeyFact) {
        if self.len < MOST_KEYS {
            self.add(key);
        }
    }

    #[track_caller]
    pub(super) const fn add(&mut self, key: StateKeyFact) {
        let mut at = 0;
        while at < self.len {
            if self.keys[at].hash == key.hash {
                return;
            }
            at += 1;
        }
        assert!(self.len < MOST_KEYS, "a workflow may have at most 128 keys of the state");
        self.keys[self.len] = key;
        self.len += 1;
    }

    /// The keys that need not be written: those that are given, and those that have a value before. A reader that
    /// knows only the name of its key does not know that value; a writer does.
    #[track_caller]
    pub(super) const fn there(given: &[StateKeyFact], facts: &[StateFacts]) -> Keys {
        let mut keys = Keys::NONE;
        let mut at = 0;
        while at < given.len() {
            keys.add(given[at]);
            at += 1;
        }
        let mut node = 0;
        while node < facts.len() {
            keys.add_with_zero(facts[node].reads);
            keys.add_with_zero(facts[node].writes);
            keys.add_with_zero(facts[node].may_write);
            node += 1;
        }
        keys
    }

    #[track_caller]
    const fn add_with_zero(&mut self, more: &[StateKeyFact]) {
        let mut at = 0;
        while at < more.len() {
            if more[at].has_zero {
                self.add(more[at]);
            }
            at += 1;
        }
    }
}
