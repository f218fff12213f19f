//! The result of the oracle for a run.

use std::collections::{BTreeMap, BTreeSet};

use graphweft_graph::NodeIx;
use serde_json::Value;

use super::behaviour::Routing;

/// The events of a run, in any order.
#[derive(Debug, Default)]
pub(super) struct Story {
    /// Nodes that complete, by path, with the label of their arm.
    pub(super) completes: BTreeMap<String, Option<String>>,
    pub(super) skips: BTreeSet<String>,
    /// Nodes that need not end: the nodes to which they lead may be over before.
    pub(super) may_be_stopped: BTreeSet<String>,
    /// Their names: they may also be skipped, in turns that never come.
    pub(super) may_be_in_vain: BTreeSet<String>,
    /// Nodes whose failure fails the run.
    pub(super) fails: BTreeSet<String>,
    pub(super) output: Option<Value>,
    /// The random choices, in order: the paths, the possible choices, and the one that was taken.
    pub(super) routes: Vec<(String, Routing, usize)>,
    /// For the graph itself, the firings of its ways in: node, way, places.
    pub(super) fired: BTreeSet<(NodeIx, usize, u64)>,
}

impl Story {
    /// Adds the events of a graph that is a part of this one. A failure stops all nodes beside it.
    pub(super) fn takes(&mut self, mut told: Story, has_failed: bool) {
        if has_failed {
            told.may_be_stopped.extend(told.completes.keys().cloned());
            told.may_be_stopped.extend(told.skips.iter().cloned());
        }
        self.completes.extend(told.completes);
        self.skips.extend(told.skips);
        self.may_be_stopped.extend(told.may_be_stopped);
        self.may_be_in_vain.extend(told.may_be_in_vain);
        self.routes.extend(told.routes);
    }
}
