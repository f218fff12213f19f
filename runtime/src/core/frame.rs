//! The tokens that have arrived in one turn.

use std::collections::VecDeque;
use std::sync::Arc;

use graphweft_graph::EdgeIx;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::freeze;
use super::path::Turns;
use super::program::FrameLayout;

/// The tokens of one turn of a loop, or of the part outside loops.
#[derive(Serialize, Deserialize)]
pub(super) struct Frame<V> {
    /// Its place in `Layout::frames`.
    pub(super) kind: usize,
    pub(super) depth: usize,
    /// The frame in which the loop is a vertex; of no meaning outside loops.
    pub(super) parent: usize,
    pub(super) turn: u64,
    /// Nodes and loops that are not settled yet.
    pub(super) open: u32,
    pub(super) nodes: Vec<NodeSlot>,
    pub(super) loops: Vec<LoopSlot>,
    pub(super) groups: Vec<GroupSlot<V>>,
    pub(super) collectors: Vec<CollectorSlot<V>>,
    /// Edges to the next turn that have not had their token.
    pub(super) back_open: u32,
    pub(super) next_begun: bool,
    /// Whether no turn follows: all edges to the next turn are dead.
    pub(super) last: bool,
    /// Edges out of the loop that this turn did not take. They are dead only if no later turn takes them.
    pub(super) not_taken: Vec<EdgeIx>,
    /// Collecting nodes that have their output.
    pub(super) collected: Vec<usize>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Stage {
    Waiting,
    Fired,
    Settled,
}

#[derive(Clone, Copy, Serialize, Deserialize)]
pub(super) struct NodeSlot {
    /// Edges without a token yet.
    pub(super) open: u32,
    pub(super) stage: Stage,
}

#[derive(Clone, Copy, Serialize, Deserialize)]
pub(super) struct LoopSlot {
    pub(super) open: u32,
    pub(super) stage: Stage,
    /// Turns that are not settled yet.
    pub(super) turns: u32,
}

#[derive(Serialize, Deserialize)]
pub(super) struct GroupSlot<V> {
    pub(super) open: u32,
    pub(super) live: u32,
    /// Empty until something arrives.
    pub(super) places: Vec<Option<V>>,
}

/// The arrivals at a collecting node.
#[derive(Serialize, Deserialize)]
pub(super) struct CollectorSlot<V> {
    pub(super) waiting: VecDeque<V>,
    pub(super) arrivals: u64,
    pub(super) busy: bool,
    /// The state that the node has kept for its next arrival.
    #[serde(with = "freeze::shared")]
    pub(super) local: Arc<Map<String, Value>>,
}

impl<V> Frame<V> {
    pub(super) fn new() -> Self {
        Frame {
            kind: 0,
            depth: 0,
            parent: 0,
            turn: 0,
            open: 0,
            nodes: Vec::new(),
            loops: Vec::new(),
            groups: Vec::new(),
            collectors: Vec::new(),
            back_open: 0,
            next_begun: false,
            last: false,
            not_taken: Vec::new(),
            collected: Vec::new(),
        }
    }

    /// Drops all tokens that have arrived.
    pub(super) fn clear(&mut self) {
        self.groups.clear();
        self.collectors.clear();
    }

    /// Makes it the frame of a new turn; its allocations are reused.
    #[inline]
    pub(super) fn reset(&mut self, kind: usize, layout: &FrameLayout, parent: usize, turn: u64) {
        self.kind = kind;
        self.depth = layout.depth;
        self.parent = parent;
        self.turn = turn;
        self.open = layout.vertices;
        refill(&mut self.nodes, &layout.node_edges, |open| NodeSlot { open: *open, stage: Stage::Waiting });
        refill(&mut self.loops, &layout.loop_edges, |open| LoopSlot { open: *open, stage: Stage::Waiting, turns: 0 });
        if !self.groups.is_empty() || !layout.groups.is_empty() {
            self.groups.clear();
            self.groups.extend(layout.groups.iter().map(|group| GroupSlot {
                open: group.edges,
                live: 0,
                places: Vec::new(),
            }));
        }
        if !self.collectors.is_empty() || layout.collectors > 0 {
            self.collectors.clear();
            self.collectors.resize_with(layout.collectors, || CollectorSlot {
                waiting: VecDeque::new(),
                arrivals: 0,
                busy: false,
                local: Arc::default(),
            });
        }
        self.back_open = layout.back_edges;
        self.next_begun = false;
        self.last = false;
        self.not_taken.clear();
        self.collected.clear();
    }
}

/// Makes slots anew. Those of a frame of the same kind, in most cases the turn before, are overwritten.
#[inline]
fn refill<S, E>(slots: &mut Vec<S>, edges: &[E], slot: impl Fn(&E) -> S) {
    if slots.len() == edges.len() {
        for (old, edges) in slots.iter_mut().zip(edges) {
            *old = slot(edges);
        }
    } else {
        slots.clear();
        slots.extend(edges.iter().map(slot));
    }
}

/// The number of the turn in each loop around a frame, the outermost first.
pub(super) fn turns_of<V>(frames: &[Frame<V>], frame: usize) -> Turns {
    let at = &frames[frame];
    match at.depth {
        0 => Turns::Outside,
        1 => Turns::One(at.turn),
        2 => Turns::Two(frames[at.parent].turn, at.turn),
        depth => {
            let mut turns = vec![0; depth];
            let mut at = at;
            for turn in turns.iter_mut().rev() {
                *turn = at.turn;
                at = &frames[at.parent];
            }
            Turns::More(turns.into())
        }
    }
}
