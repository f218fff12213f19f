//! A graph as a node of another, in constants that are made where the number of keys is not known.
//!
//! A workflow may be inside itself, by others too, and a constant cannot be made of itself. So what a workflow does with the
//! state is computed at several depths: at depth n of the workflows inside it at depth n - 1, and at depth 0 it is
//! [unending](NodeKeys::UNENDING). That is the iteration of Kleene: seen from depth n, a run which nests deeper never completes. What is
//! sure to be written shrinks from depth to depth and what may be written grows, for each key by itself, so that
//! nothing changes any more once the depth is as large as the number of workflows that are in the circle. With more of them
//! than [`MOST_INSIDE`] the graph is refused. Workflows that are not in a circle are complete at the depth of their nesting.

use super::facts::{StateFacts, StateKeyFact};
use super::keys::Keys;
use super::summary::{Summary, some_keys};

/// How many workflows may be inside each other if the innermost could not be looked at.
pub(super) const MOST_INSIDE: usize = 30;

/// In [`StateFacts::inside`]: there are workflows inside that were not looked at.
const UNSEEN: u64 = 0;

/// The workflows inside a node, each once, by hashes of their names.
#[derive(Clone, Copy, Debug)]
pub(super) struct Inside {
    workflows: [u64; MOST_INSIDE + 1],
    len: usize,
}

impl Inside {
    pub(super) const NONE: Inside = Inside { workflows: [UNSEEN; MOST_INSIDE + 1], len: 0 };

    const fn add(&mut self, workflow: u64) {
        let mut at = 0;
        while at < self.len {
            if self.workflows[at] == workflow {
                return;
            }
            at += 1;
        }
        if self.len <= MOST_INSIDE {
            self.workflows[self.len] = workflow;
            self.len += 1;
        } else if workflow == UNSEEN {
            self.workflows[0] = UNSEEN;
        }
    }

    pub(super) const fn add_all(&mut self, workflows: &[u64]) {
        let mut at = 0;
        while at < workflows.len() {
            self.add(workflows[at]);
            at += 1;
        }
    }

    const fn of_nodes(facts: &[StateFacts]) -> Self {
        let mut inside = Inside::NONE;
        let mut node = 0;
        while node < facts.len() {
            if !facts[node].inside.is_empty() {
                inside.add_all(facts[node].inside);
            }
            node += 1;
        }
        inside
    }

    /// Whether there may be some of which nothing is known.
    pub(super) const fn are_too_many(&self) -> bool {
        let mut at = 0;
        while at < self.len && self.workflows[at] != UNSEEN {
            at += 1;
        }
        at < self.len && self.len > MOST_INSIDE
    }
}

/// What a graph does with the state as a node of another.
#[derive(Clone, Copy, Debug)]
pub struct NodeKeys {
    reads: Keys,
    writes: Keys,
    may_write: Keys,
    inside: Inside,
}

impl NodeKeys {
    /// Nothing.
    pub const NONE: NodeKeys =
        NodeKeys { reads: Keys::NONE, writes: Keys::NONE, may_write: Keys::NONE, inside: Inside::NONE };

    /// A workflow that is not looked at, since it is too deep inside.
    pub const UNENDING: NodeKeys = {
        let mut keys = Self::NONE;
        keys.writes.add(StateKeyFact::ANY);
        keys.inside.add(UNSEEN);
        keys
    };

    /// A workflow: it reads what it is given. `name` is the hash of a name that no other workflow has.
    ///
    /// # Panics
    /// If there are more than [`MOST_KEYS`](super::MOST_KEYS), and on a graph of more than 16,384 nodes or edges.
    #[track_caller]
    pub const fn of_workflow<const WORDS: usize>(
        numbers: &str,
        facts: &[StateFacts],
        given: &[StateKeyFact],
        name: u64,
    ) -> Self {
        let mut keys = Self::of_graph(facts);
        keys.inside.add(name);
        let mut at = 0;
        while at < given.len() {
            keys.reads.add(given[at]);
            at += 1;
        }
        if !StateFacts::are_none(facts) {
            let graph = &super::unpack::<WORDS>(numbers);
            keys.writes = some_keys(graph, facts, given, Summary::AlwaysWritten);
            keys.may_write = some_keys(graph, facts, given, Summary::MaybeWritten);
        }
        keys
    }

    /// A workflow whose nodes have nothing to do with the state.
    ///
    /// # Panics
    /// If there are more than [`MOST_KEYS`](super::MOST_KEYS).
    #[track_caller]
    pub const fn of_nothing(given: &[StateKeyFact], name: u64) -> Self {
        Self::of_workflow::<0>("", &[], given, name)
    }

    /// The graph inside `[..]`: it needs what its nodes read and do not write themselves, and it may run for no item.
    ///
    /// # Panics
    /// If there are more than [`MOST_KEYS`](super::MOST_KEYS), and on a graph of more than 16,384 nodes or edges.
    #[track_caller]
    pub const fn of_items<const WORDS: usize>(numbers: &str, facts: &[StateFacts]) -> Self {
        let mut keys = Self::of_graph(facts);
        if !StateFacts::are_none(facts) {
            let graph = &super::unpack::<WORDS>(numbers);
            let there = Keys::there(&[], facts);
            keys.reads = some_keys(graph, facts, there.as_slice(), Summary::Needed);
            keys.may_write = some_keys(graph, facts, &[], Summary::Written);
        }
        keys
    }

    const fn of_graph(facts: &[StateFacts]) -> Self {
        NodeKeys { inside: Inside::of_nodes(facts), ..Self::NONE }
    }

    /// The same as the facts of a node.
    pub const fn facts(&'static self) -> StateFacts {
        StateFacts {
            reads: self.reads.as_slice(),
            writes: self.writes.as_slice(),
            may_write: self.may_write.as_slice(),
            inside: self.inside.workflows.split_at(self.inside.len).0,
        }
    }
}
