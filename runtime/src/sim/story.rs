//! What the oracle says of a run.

use std::collections::{BTreeMap, BTreeSet};

use graphweft_graph::NodeIx;
use serde_json::Value;

use super::behaviour::Routing;

/// What happens in a run, whatever the order.
#[derive(Debug, Default)]
pub(super) struct Story {
    /// Nodes that complete, by path, with the label by which they go on.
    pub(super) completes: BTreeMap<String, Option<String>>,
    pub(super) skips: BTreeSet<String>,
    /// Nodes that need not come to an end: what they lead to may be over before they are.
    pub(super) may_be_stopped: BTreeSet<String>,
    /// Their names: they may also be skipped, in turns that never come.
    pub(super) may_be_in_vain: BTreeSet<String>,
    /// Nodes whose failure fails the run.
    pub(super) fails: BTreeSet<String>,
    pub(super) output: Option<Value>,
    /// Where chance had a say, in order: the paths, how they may go on, and how they did.
    pub(super) routes: Vec<(String, Routing, usize)>,
    /// For the graph itself, how its ways in were seen to fire: node, way, places.
    pub(super) fired: BTreeSet<(NodeIx, usize, u64)>,
}

impl Story {
    /// Takes over what has happened in a graph that is a part of this one. What fails stops all that is beside it.
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
