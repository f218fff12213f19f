//! The part of a graph that the proof is about: the nodes that can be reached, and the edges between them.

use crate::model::{Choice, Edge, EdgeIx, NodeIx, START, Way};

/// A graph without its names, and without the edges that can never carry anything.
pub(super) struct Net<'g> {
    pub(super) edges: &'g [Edge],
    pub(super) choices: Vec<&'g [Choice]>,
    pub(super) ways: Vec<&'g [Way]>,
    pub(super) reachable: Vec<bool>,
    /// Whether an edge counts: some choice of a reachable node takes it, and it does not repeat another.
    pub(super) counts: Vec<bool>,
    /// Each repeated edge with the edge that it repeats.
    pub(super) repeated: Vec<(EdgeIx, EdgeIx)>,
    /// The edges out of each node that count.
    pub(super) out: Vec<Vec<EdgeIx>>,
    /// The edges into each node that count.
    pub(super) into: Vec<Vec<EdgeIx>>,
}

impl<'g> Net<'g> {
    pub(super) fn new(edges: &'g [Edge], choices: Vec<&'g [Choice]>, ways: Vec<&'g [Way]>) -> Self {
        let mut taken = vec![false; edges.len()];
        for edge in choices.iter().copied().flatten().flat_map(|choice| &choice.edges) {
            taken[*edge] = true;
        }
        let mut out: Vec<Vec<EdgeIx>> = vec![Vec::new(); choices.len()];
        for (edge, ends) in edges.iter().enumerate().filter(|(edge, _)| taken[*edge]) {
            out[ends.from].push(edge);
        }
        let repeated = repeated_edges(edges, &choices, &out);
        for (_, second) in &repeated {
            taken[*second] = false;
        }
        if !repeated.is_empty() {
            out.iter_mut().for_each(|edges| edges.retain(|edge| taken[*edge]));
        }

        let mut reachable = vec![false; choices.len()];
        reachable[START] = true;
        let mut open = vec![START];
        while let Some(node) = open.pop() {
            for edge in &out[node] {
                let to = edges[*edge].to;
                if !std::mem::replace(&mut reachable[to], true) {
                    open.push(to);
                }
            }
        }

        let mut into: Vec<Vec<EdgeIx>> = vec![Vec::new(); choices.len()];
        for (edge, ends) in edges.iter().enumerate() {
            taken[edge] &= reachable[ends.from];
            if taken[edge] {
                into[ends.to].push(edge);
            }
        }
        out.iter_mut().zip(&reachable).filter(|(_, reachable)| !**reachable).for_each(|(edges, _)| edges.clear());
        Net { edges, choices, ways, reachable, counts: taken, repeated, out, into }
    }

    pub(super) fn nodes(&self) -> std::ops::Range<NodeIx> {
        0..self.choices.len()
    }

    /// The edges of a choice that count.
    pub(super) fn live<'a>(&'a self, choice: &'a Choice) -> impl Iterator<Item = EdgeIx> + 'a {
        choice.edges.iter().copied().filter(|edge| self.counts[*edge])
    }
}

/// Edges with the same ends of which every choice takes both or neither: (the first, its repetition).
fn repeated_edges(edges: &[Edge], choices: &[&[Choice]], out: &[Vec<EdgeIx>]) -> Vec<(EdgeIx, EdgeIx)> {
    let mut repeated = Vec::new();
    let mut last_to: Vec<Option<EdgeIx>> = vec![None; choices.len()];
    for (node, leaving) in out.iter().enumerate() {
        for (place, second) in leaving.iter().enumerate() {
            let to = edges[*second].to;
            let seen_here = last_to[to].replace(*second).is_some_and(|edge| edges[edge].from == node);
            if !seen_here {
                continue;
            }
            let same = |first: &&EdgeIx| {
                edges[**first].to == to
                    && choices[node].iter().all(|choice| choice.edges.contains(first) == choice.edges.contains(second))
            };
            if let Some(first) = leaving[..place].iter().find(same) {
                repeated.push((*first, *second));
            }
        }
    }
    repeated
}
