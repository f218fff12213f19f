//! The items of a node with a graph inside: one for a nested workflow, one for each of `[..]`.

use std::collections::{HashMap, VecDeque};
use std::time::{Duration, SystemTime};

use serde::{Deserialize, Serialize};

use super::freeze;
use super::state_map::{Snapshot, StateMap};
use super::token::{Arrived, Emitted};
use crate::core::ScopeKind;
use crate::fault::Failure;
use crate::sorted::SortedSet;

/// How the items of `[..]` begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum ItemPace {
    /// All with the node.
    AtOnce,
    /// As many at once as the node's `max_parallel` allows; each beginning is an event.
    Bounded,
    /// One after the other, and all see the state that the first one sees: nodes cannot tell that from `AtOnce`, and
    /// what items need is not allocated for all of them before the first is done.
    InTurn,
}

/// How long a run, or the graphs inside a node, may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct TimeLimit {
    pub(crate) after: Duration,
    pub(crate) until: SystemTime,
}

/// The items of a node with a graph inside; a nested workflow has one.
#[derive(Serialize, Deserialize)]
pub(super) struct Items<V> {
    pub(super) kind: ScopeKind,
    pub(super) layout: usize,
    pub(super) pace: ItemPace,
    pub(super) limit: Option<TimeLimit>,
    /// The items that have not begun, lowest index first.
    pub(super) pending: VecDeque<(usize, Emitted<V>)>,
    /// The scope of each item that is under way.
    pub(super) children: Vec<Option<usize>>,
    pub(super) ends: Vec<Option<Arrived<V>>>,
    /// How many are under way, with those that are idle.
    pub(super) open: usize,
    /// How many the driver has taken that are neither pending nor under way: it executes them before their events are
    /// applied.
    pub(super) lent: usize,
    /// The state that the nodes inside share: the state around them as it was when they began, with their own writes
    /// since.
    pub(super) state: StateMap,
    /// The snapshot of that state for items that begin in turn.
    pub(super) entry_state: Option<Snapshot>,
    /// Whether an attempt inside that may be made at most once was cut short: no other attempt may follow this one.
    pub(super) has_cut: bool,
    /// The failed item of the lowest index.
    pub(super) failed: Option<(usize, Failure)>,
    /// How many items are in a node with `max_parallel`, by graph and node.
    #[serde(with = "freeze::pairs")]
    pub(super) places: HashMap<(usize, usize), usize>,
    /// Those of the items under way that a retry has reopened and in which nothing has begun since, if their number is
    /// limited: they wait for one of the node's places.
    pub(super) idle: SortedSet<usize>,
}

impl<V> Items<V> {
    /// The item that may begin next, as far as the others are concerned.
    pub(super) fn next_item(&self) -> Option<usize> {
        self.pending.front().map(|(item, _)| *item)
    }

    /// Whether an item is under way, and one behind it has failed.
    pub(super) fn is_before_failed(&self, item: usize) -> bool {
        let is_under_way = self.children.get(item).is_some_and(Option::is_some);
        is_under_way && self.failed.as_ref().is_some_and(|(failed, _)| item < *failed)
    }

    /// Whether nothing of them is under way, and none begins any more.
    pub(super) fn is_over(&self) -> bool {
        self.open == 0 && self.lent == 0 && self.pending.is_empty()
    }
}
