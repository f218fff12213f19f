//! Whether two edges can be live together in one turn.
//!
//! The question that [`pairs`](crate::analysis) answers for all edges of a graph, for two of them and in a constant: back
//! from both, always from the one that comes from the later vertex, until one vertex is seen to send both.
//!
//! ```text
//!         ┌─> b ─ first ─>        (first, second) <- (a => b, second) <- (a => b, a => c): one choice of a
//!  ─> a ──┤
//!         └─> c ─ second ─>
//! ```

use super::state_graph::StateGraph;
use crate::model::EdgeIx;

/// Whether some play has both edges live in the same turn.
///
/// # Panics
/// On a graph of more than 8,190 edges.
pub(super) const fn are_together(graph: StateGraph<'_>, first: EdgeIx, second: EdgeIx) -> bool {
    let words = graph.edges.div_ceil(64) * graph.edges;
    match words {
        0..=64 => search::<64>(graph, first, second),
        65..=1024 => search::<1024>(graph, first, second),
        1025..=16384 => search::<16384>(graph, first, second),
        _ => search::<1_048_576>(graph, first, second),
    }
}

#[inline(never)] // So that only the size that is needed takes its place on the stack.
const fn search<const N: usize>(graph: StateGraph<'_>, first: EdgeIx, second: EdgeIx) -> bool {
    Together { graph, pairs: [0; N], left: 0 }.meet(first, second)
}

struct Together<'g, const N: usize> {
    graph: StateGraph<'g>,
    /// The pairs to look at: for each edge a row of bits for those that are not behind it.
    pairs: [u64; N],
    /// How many of them are still to be examined.
    left: usize,
}

impl<const N: usize> Together<'_, N> {
    const fn meet(mut self, first: EdgeIx, second: EdgeIx) -> bool {
        let width = self.graph.edges.div_ceil(64);
        self.add(first, second);
        let mut later = if first > second { first } else { second };
        loop {
            let mut word = 0;
            while word <= later / 64 {
                let mut rest = self.pairs[later * width + word];
                while rest != 0 {
                    let earlier = word * 64 + rest.trailing_zeros() as usize;
                    rest &= rest - 1;
                    if self.is_met(later, earlier) {
                        return true;
                    }
                    self.left -= 1;
                }
                word += 1;
            }
            if self.left == 0 || later == 0 {
                return false;
            }
            later -= 1;
        }
    }

    const fn add(&mut self, one: EdgeIx, other: EdgeIx) {
        let (later, earlier) = if one > other { (one, other) } else { (other, one) };
        let (word, bit) = (later * self.graph.edges.div_ceil(64) + earlier / 64, 1 << (earlier % 64));
        self.left += (self.pairs[word] & bit == 0) as usize;
        self.pairs[word] |= bit;
    }

    /// Whether one choice sends both edges; where it takes more than one vertex, the pairs before them are added.
    const fn is_met(&mut self, later: EdgeIx, earlier: EdgeIx) -> bool {
        let graph = self.graph;
        if later == earlier {
            return true;
        }
        let (from, other) = (graph.from(later), graph.from(earlier));
        let (first, end) = graph.vertex(from);
        let place = graph.place(other);
        if first <= place && place < end {
            return from == other && sends_both(graph, later, earlier);
        }
        let mut at = first;
        while at < end {
            let node = graph.at(at);
            let mut into = graph.first_into(node);
            while into < graph.first_into(node + 1) {
                let edge = graph.edge_into(into);
                if edge == earlier {
                    return true;
                }
                if graph.back(edge) == 0 {
                    self.add(edge, earlier);
                }
                into += 1;
            }
            at += 1;
        }
        false
    }
}

const fn sends_both(graph: StateGraph<'_>, one: EdgeIx, other: EdgeIx) -> bool {
    let node = graph.from(one);
    let mut choice = graph.first_choice(node);
    while choice < graph.first_choice(node + 1) {
        if graph.takes(choice, one) && graph.takes(choice, other) {
            return true;
        }
        choice += 1;
    }
    false
}
