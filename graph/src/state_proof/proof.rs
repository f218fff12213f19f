//! The proof of a whole graph: what a macro has the compiler evaluate.

use super::facts::{StateFacts, StateKeyFact, contains};
use super::keys::Keys;
use super::message::{GraphNames, Message};
use super::node_keys::Inside;
use super::overlapping::{Overlap, OverlappingWrite, first_overlapping_write};
use super::pack::unpack;
use super::state_graph::StateGraph;
use super::unwritten::{UnwrittenRead, first_unwritten_read, may_be_unwritten, unwritten_read};
use crate::model::NodeIx;

/// A graph with what its nodes do, as a macro writes it.
#[derive(Clone, Copy, Debug)]
pub struct PackedGraph<'g> {
    /// [`StateGraph::encode`], [packed](super::pack).
    pub numbers: &'g str,
    /// What each node does with the state.
    pub facts: &'g [StateFacts],
    /// What nodes and arms are called.
    pub names: GraphNames<'g>,
    /// The graph and the node that this one is inside of, for the graph of a `[..]`.
    pub around: (usize, NodeIx),
    /// The number of its first node among those of all graphs.
    pub first: usize,
}

/// What was proven of a graph.
#[derive(Clone, Copy, Debug)]
pub struct StateProof {
    /// The node at which the proof failed, counted through all graphs; 0, which is START, if it did not.
    pub place: usize,
    message: Message,
}

/// How many keys that may be unwritten one error names.
const MOST_REPORTED: usize = 3;

const WRITE_IT: &str =
    "\nhelp: write it on every way that leads here, give it at the start by `#[given(..)]`, or read it as an `Option`";
const WRITE_ITEMS: &str = "\nhelp: give the key a reducer: `StateKey<Vec<T>, Append>`";
const WRITE_TURNS: &str =
    "\nhelp: give the key a reducer, or let the loop wait for both nodes before its next turn begins";
const WRITE_BRANCHES: &str = "\nhelp: give the key a reducer, or add an edge between the two";

impl StateProof {
    const SOUND: StateProof = StateProof { place: 0, message: Message::EMPTY };

    /// Proves the first of these graphs. The others are those of the `[..]` in it, where the reader or the writer may
    /// stand that is to blame. `WORDS` are the most numbers that one of them has; `given` are the keys that a run begins
    /// with.
    ///
    /// # Panics
    /// On a graph of more than 8,190 edges or 16,384 nodes, and with more than [`MOST_KEYS`](super::MOST_KEYS) keys.
    #[track_caller]
    pub const fn of<const WORDS: usize>(graphs: &[PackedGraph<'_>], given: &[StateKeyFact]) -> Self {
        let PackedGraph { numbers, facts, names, .. } = graphs[0];
        if let Some(node) = with_too_many_inside(facts) {
            let text = Message::EMPTY.add("node ").add_name(names.node(node));
            let message = text.add(" has more than 30 workflows inside each other, too many to prove what they write");
            return StateProof { place: node, message };
        }
        if StateFacts::are_none(facts) {
            return Self::SOUND;
        }
        let mut there = Keys::there(given, facts);
        let words = &unpack::<WORDS>(numbers);
        let mut proof = Self::SOUND;
        let mut reported = Keys::NONE;
        while reported.len() < MOST_REPORTED
            && let Some((node, found)) = first_unwritten_read(words, facts, there.as_slice())
        {
            let (place, message) = unwritten::<WORDS>(graphs, there.as_slice(), node, &found);
            proof = proof.with(place, message, WRITE_IT);
            let key = facts[node].reads[found.key];
            reported.add(key);
            there.add_if_room(key);
        }
        if let Some((node, found)) = first_overlapping_write(words, facts)
            && !contains(reported.as_slice(), found.key.hash)
        {
            let (place, message, help) = overlapping(graphs, node, &found);
            proof = proof.with(place, message, help);
        }
        proof
    }

    /// With what was found of one key. The error of a proof has one place, which is that of the first; the others are lines
    /// of its text, so that a graph without mistakes costs no more.
    const fn with(self, place: usize, message: Message, help: &str) -> Self {
        match self.place {
            0 => StateProof { place, message: message.add(help) },
            place => StateProof { place, message: self.message.add("\nalso: ").add(message.as_str()) },
        }
    }

    /// Fails to compile.
    #[track_caller]
    pub const fn refuse(&self) -> ! {
        panic!("{}", self.message.as_str())
    }
}

const fn with_too_many_inside(facts: &[StateFacts]) -> Option<NodeIx> {
    let mut inside = Inside::NONE;
    let mut node = 0;
    while node < facts.len() {
        if !facts[node].inside.is_empty() {
            inside.add_all(facts[node].inside);
            if inside.are_too_many() {
                return Some(node);
            }
        }
        node += 1;
    }
    None
}

/// The graph inside a node.
const fn inside_of(graphs: &[PackedGraph<'_>], graph: usize, node: NodeIx) -> Option<usize> {
    let mut at = 1;
    while at < graphs.len() {
        if graphs[at].around.0 == graph && graphs[at].around.1 == node {
            return Some(at);
        }
        at += 1;
    }
    None
}

/// Finds the reader, which may be inside of `[..]`. The outermost graph that has a writer says why.
const fn unwritten<const WORDS: usize>(
    graphs: &[PackedGraph<'_>],
    there: &[StateKeyFact],
    outermost: NodeIx,
    found: &UnwrittenRead,
) -> (usize, Message) {
    let key = graphs[0].facts[outermost].reads[found.key];
    let (mut graph, mut node) = (0, outermost);
    let (mut why_in, mut why_at, mut why) = (0, outermost, *found);
    while let Some(inside) = inside_of(graphs, graph, node) {
        let words = &unpack::<WORDS>(graphs[inside].numbers);
        let Some(reader) = reader_of(words, graphs[inside].facts, key) else { break };
        (graph, node) = (inside, reader);
        if why.writer.is_none()
            && let Some(found) = unwritten_read(words, graphs[graph].facts, there, node)
        {
            (why_in, why_at, why) = (graph, node, found);
        }
    }
    let PackedGraph { numbers, facts, names, .. } = graphs[why_in];
    let message = Message::of_read(graphs[graph].names.node(node), key);
    let message = message.add_why(&unpack::<WORDS>(numbers), facts, names, why_at, key, &why);
    (graphs[graph].first + node, message)
}

/// A node that reads the key before it is sure to be written.
const fn reader_of(words: &[u32], facts: &[StateFacts], key: StateKeyFact) -> Option<NodeIx> {
    let mut node = 0;
    while node < facts.len() {
        if contains(facts[node].reads, key.hash) && may_be_unwritten(StateGraph::read(words), facts, key, Some(node)) {
            return Some(node);
        }
        node += 1;
    }
    None
}

/// Finds the writer, which is inside of `[..]` if its items overlap. The last text is the help.
const fn overlapping(
    graphs: &[PackedGraph<'_>],
    outermost: NodeIx,
    found: &OverlappingWrite,
) -> (usize, Message, &'static str) {
    let names = graphs[0].names;
    let help = match found.how {
        Overlap::Items => WRITE_ITEMS,
        Overlap::Turns => WRITE_TURNS,
        Overlap::Branches => WRITE_BRANCHES,
    };
    if !matches!(found.how, Overlap::Items) {
        return (outermost, Message::of_overlapping_write(names, outermost, found), help);
    }
    let (mut graph, mut node) = (0, outermost);
    while let Some(inside) = inside_of(graphs, graph, node) {
        let Some(writer) = writer_of(graphs[inside].facts, found.key) else { break };
        (graph, node) = (inside, writer);
    }
    let message = Message::EMPTY.add("node ").add_name(graphs[graph].names.node(node)).add(" overwrites ");
    let message = message.add_name(found.key.name).add(" for several items of ").add_name(names.node(outermost));
    (graphs[graph].first + node, message.add(" at the same time"), help)
}

const fn writer_of(facts: &[StateFacts], key: StateKeyFact) -> Option<NodeIx> {
    let mut node = 0;
    while node < facts.len() {
        if contains(facts[node].writes, key.hash) || contains(facts[node].may_write, key.hash) {
            return Some(node);
        }
        node += 1;
    }
    None
}
