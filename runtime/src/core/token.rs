//! Values on their way along edges.

use serde::{Deserialize, Serialize};

/// One token for each edge of a choice, in the order of that choice.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Tokens<V> {
    /// A terminal node.
    None,
    /// The usual case, without an allocation.
    One(V),
    /// A fan-out.
    Many(Vec<V>),
}

/// The tokens that a finished node emits on its edges.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Emitted<V> {
    /// The choice that it took: a place in `NodeData::choices`.
    pub choice: usize,
    /// A token for each edge of that choice.
    pub tokens: Tokens<V>,
}

/// The tokens that fire a node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Arrived<V> {
    /// One token: a plain edge, a collecting node's arrival, or a group that delivers one value.
    One(V),
    /// A join, by the place of the group in `NodeData::ways`, with a token for each of its places that is live.
    Join {
        /// The way in.
        way: usize,
        /// One entry for each place.
        places: Vec<Option<V>>,
    },
}
