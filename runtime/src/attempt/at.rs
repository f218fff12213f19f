//! The place of an attempt, and the bodies and state keys of its graph.

use std::any::Any;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use graphweft_graph::state_proof::Zero;

use crate::core::Place;

/// The bodies of the nodes of a graph.
pub(crate) trait Bodies: Send + Sync {
    /// The body of a node, by its number.
    fn body(&self, node: u32) -> Option<&dyn Any>;

    /// Whether a node declares that it writes a key of the state.
    fn declares(&self, node: u32, key: &str) -> bool;

    /// The value of a state key before it is written.
    fn zero(&self, key: &str) -> Option<Zero>;

    /// The time limit of an attempt at a node.
    fn time_limit(&self, node: u32) -> Option<Duration>;
}

/// The place of an attempt.
#[derive(Clone)]
pub(crate) enum At {
    /// A node of a graph.
    Node(Place),
    /// A child.
    Child(Arc<str>),
}

impl At {
    /// The number of its node; 0 for a child.
    pub(super) fn node(&self) -> u32 {
        match self {
            At::Node(place) => place.node,
            At::Child(_) => 0,
        }
    }
}

impl fmt::Display for At {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            At::Node(place) => place.fmt(f),
            At::Child(path) => f.write_str(path),
        }
    }
}
