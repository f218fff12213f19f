//! What a shape is worth: the tokens that leave it, before it is known where they go.

use graphweft_graph::NodeIx;

use crate::diagnostics::Blame;
use crate::ir::MentionIx;

/// Where an edge comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Origin {
    pub(super) node: NodeIx,
    pub(super) mention: MentionIx,
    /// The arm of the node's route map; `None` where the whole output flows, whatever is chosen.
    pub(super) arm: Option<usize>,
}

/// One way into whatever comes next.
#[derive(Clone, Debug)]
pub(super) enum Source {
    /// `a => d`
    One(Origin),
    /// `(a, b) => d`, each place with what it is worth.
    Group(Vec<Value>),
    /// `a | b => d`
    Any(Vec<Origin>),
}

/// What a shape is worth: each of its sources is a way into what comes next.
#[derive(Clone, Debug)]
pub(super) struct Value {
    pub(super) sources: Vec<Source>,
    /// Whether something in it could not be read, so that nobody knows what else it is worth.
    pub(super) broken: bool,
    /// Why there may be no sources.
    pub(super) last: Last,
    /// The tokens of the shape.
    pub(super) blame: Blame,
}

/// What a chain comes to in the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Last {
    Node,
    End,
    Routes,
}

/// What leads into a shape.
#[derive(Clone)]
pub(super) enum Feed {
    /// Nothing: a statement begins here.
    Nothing,
    /// Something that could not be read; the error is told.
    Broken,
    /// This, over an arrow.
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
