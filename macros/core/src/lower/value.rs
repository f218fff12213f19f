//! The value of a shape: the tokens that leave it, before it is known where they go.

use graphweft_graph::NodeIx;

use crate::diagnostics::Blame;
use crate::ir::MentionIx;

/// Where an edge comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Origin {
    pub(super) node: NodeIx,
    pub(super) mention: MentionIx,
    /// The arm of the node's route map; `None` if the edge carries the whole output under every choice.
    pub(super) arm: Option<usize>,
}

/// One way into the next shape.
#[derive(Clone, Debug)]
pub(super) enum Source {
    /// `a => d`
    One(Origin),
    /// `(a, b) => d`, each place with its value.
    Group(Vec<Value>),
    /// `a | b => d`
    Any(Vec<Origin>),
}

/// The value of a shape: each of its sources is a way into the next shape.
#[derive(Clone, Debug)]
pub(super) struct Value {
    pub(super) sources: Vec<Source>,
    /// Whether a part of it could not be read, so that it may have other sources.
    pub(super) broken: bool,
    /// Why there may be no sources.
    pub(super) last: Last,
    /// The tokens of the shape.
    pub(super) blame: Blame,
}

/// How a chain ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Last {
    Node,
    End,
    Routes,
}

/// The way into a shape.
#[derive(Clone)]
pub(super) enum Feed {
    /// Nothing: a statement begins here.
    Nothing,
    /// A part that could not be read; the error is reported.
    Broken,
    /// This value, over an arrow.
    From(Value, Blame),
}

impl Value {
    pub(super) fn of(source: Source, blame: Blame) -> Self {
        Value { sources: vec![source], broken: false, last: Last::Node, blame }
    }

    pub(super) fn broken(blame: Blame) -> Self {
        Value { sources: Vec::new(), broken: true, last: Last::Node, blame }
    }

    pub(super) fn end(blame: Blame) -> Self {
        Value { sources: Vec::new(), broken: false, last: Last::End, blame }
    }

    /// All nodes that it comes from.
    pub(super) fn nodes(&self) -> Vec<NodeIx> {
        let mut nodes = Vec::new();
        for source in &self.sources {
            match source {
                Source::One(origin) => nodes.push(origin.node),
                Source::Group(places) => nodes.extend(places.iter().flat_map(Value::nodes)),
                Source::Any(origins) => nodes.extend(origins.iter().map(|origin| origin.node)),
            }
        }
        nodes
    }
}
