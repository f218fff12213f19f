//! The texts of findings, for `panic!("{}", ..)` in a constant.

use super::facts::{StateFacts, StateKeyFact, contains};
use super::overlapping::{Overlap, OverlappingWrite};
use super::pack::name_at;
use super::state_graph::StateGraph;
use super::unwritten::UnwrittenRead;
use crate::model::NodeIx;

const CAPACITY: usize = 1024;

/// A text that a constant can make.
#[derive(Clone, Copy, Debug)]
pub struct Message {
    bytes: [u8; CAPACITY],
    len: usize,
}

/// The names of the nodes and the arms of a graph, [packed](super::pack_names).
#[derive(Clone, Copy, Debug)]
pub struct GraphNames<'g> {
    /// A name for each node, START and END included.
    pub nodes: &'g str,
    /// A text for each choice of each node, in the order of the nodes: the labels of the arm, or nothing for a node that
    /// is not routed.
    pub choices: &'g str,
}

impl<'g> GraphNames<'g> {
    pub(super) const fn node(&self, node: NodeIx) -> &'g str {
        name_at(self.nodes, node)
    }

    const fn choice(&self, choice: usize) -> &'g str {
        name_at(self.choices, choice)
    }
}

impl Message {
    pub(super) const EMPTY: Message = Message { bytes: [0; CAPACITY], len: 0 };

    /// The text.
    pub const fn as_str(&self) -> &str {
        let (text, _) = self.bytes.split_at(self.len);
        match std::str::from_utf8(text) {
            Ok(text) => text,
            Err(_) => "a name in this message is too long",
        }
    }

    /// Adds as much of a text as there is room for.
    pub(super) const fn add(mut self, text: &str) -> Self {
        let bytes = text.as_bytes();
        let mut end = if bytes.len() < CAPACITY - self.len { bytes.len() } else { CAPACITY - self.len };
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        let mut at = 0;
        while at < end {
            self.bytes[self.len] = bytes[at];
            self.len += 1;
            at += 1;
        }
        self
    }

    pub(super) const fn add_name(self, name: &str) -> Self {
        self.add("`").add(name).add("`")
    }

    /// Such as "node `report` reads `owner`, which `assign` may leave unwritten when `route` takes `no`".
    pub const fn of_unwritten_read(
        graph: &[u32],
        facts: &[StateFacts],
        names: GraphNames<'_>,
        reader: NodeIx,
        found: &UnwrittenRead,
    ) -> Message {
        let key = facts[reader].reads[found.key];
        Self::of_read(names.node(reader), key).add_why(graph, facts, names, reader, key, found)
    }

    /// "node `report` reads `owner`"
    pub(super) const fn of_read(reader: &str, key: StateKeyFact) -> Message {
        Message::EMPTY.add("node ").add_name(reader).add(" reads ").add_name(key.name)
    }

    /// ", which `assign` may leave unwritten when `route` takes `no`"
    pub(super) const fn add_why(
        self,
        graph: &[u32],
        facts: &[StateFacts],
        names: GraphNames<'_>,
        reader: NodeIx,
        key: StateKeyFact,
        found: &UnwrittenRead,
    ) -> Message {
        let Some(writer) = found.writer else {
            return self.add(", which nothing writes before it");
        };
        let name = names.node(writer);
        let is_sure = contains(facts[writer].writes, key.hash);
        match found.passed {
            _ if writer == reader => self.add(", which only it writes itself"),
            None if is_sure => self.add(", but does not wait for ").add_name(name).add(", which writes it"),
            None => self.add(", which ").add_name(name).add(" may leave unwritten"),
            Some((router, choice)) => {
                let label = names.choice(StateGraph::read(graph).first_choice(router) + choice);
                let text = self.add(", which ").add_name(name).add(" may leave unwritten");
                match () {
                    _ if label.is_empty() => text,
                    _ if router == writer => text.add(" when it takes ").add_name(label),
                    _ => text.add(" when ").add_name(names.node(router)).add(" takes ").add_name(label),
                }
            }
        }
    }

    /// Such as "nodes `left` and `right` may overwrite `owner` at the same time".
    pub const fn of_overlapping_write(names: GraphNames<'_>, node: NodeIx, found: &OverlappingWrite) -> Message {
        let key = found.key.name;
        let (name, other) = (names.node(node), names.node(found.other));
        match found.how {
            Overlap::Items => Message::EMPTY
                .add("the items of ")
                .add_name(name)
                .add(" overwrite ")
                .add_name(key)
                .add(" at the same time"),
            Overlap::Turns if node == found.other => (Message::EMPTY.add("node ").add_name(name))
                .add(" may overwrite ")
                .add_name(key)
                .add(" while it still runs in an earlier turn of its loop"),
            Overlap::Turns | Overlap::Branches => {
                let text = Message::EMPTY.add("nodes ").add_name(other).add(" and ").add_name(name);
                let text = text.add(" may overwrite ").add_name(key).add(" at the same time");
                if let Overlap::Turns = found.how { text.add(", in two turns of their loop") } else { text }
            }
        }
    }
}
