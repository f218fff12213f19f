//! A loop as a part of the loop around it: its last turn, in which no edge leads back.
//!
//! The branches on its side belong to its own turns and are not visible from outside. The rest is one router: its last
//! turn is left by edges of one vertex alone. For take two edges that leave the loop from two vertices, live together,
//! and call the later vertex v. As v is in the loop, some choices of v and of vertices after it lead back to the head.
//! None of these vertices is on the way to the earlier edge, so that edge can be live together with one that leads
//! back: it leads to the side, and belongs to no last turn. If v is in an inner loop, that is one router already.

use super::nest::{Arm, Nest};
use super::net::Net;
use super::pairs::Pairs;
use crate::model::{EdgeIx, NodeIx};
use crate::plan::LoopIx;

/// How much of its last turn a loop shows.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Detail {
    /// Only its ends: it is one router. So deep nests take no longer to prove than flat ones.
    Ends,
    /// All of it. That proves the same, and the routes of a problem name every choice on the way.
    Routes,
}

pub(super) fn close(
    net: &Net<'_>,
    nest: &mut Nest,
    pairs: &Pairs,
    head: NodeIx,
    knot: LoopIx,
    side_nodes: &[NodeIx],
    detail: Detail,
) {
    let mut on_side = vec![false; net.choices.len()];
    side_nodes.iter().for_each(|node| on_side[*node] = true);
    let live: Vec<NodeIx> = pairs.live().filter(|vertex| !on_side[*vertex]).collect();
    keep_last_turn(net, nest, knot, &live, &on_side);
    if detail == Detail::Ends && live.len() > 1 {
        let arms = as_router(net, nest, head, knot, &live);
        for vertex in live {
            nest.arms[vertex].clear();
        }
        for node in &nest.knots[knot].nodes {
            nest.vertex[*node] = head;
        }
        nest.arms[head] = arms;
    }
}

/// Keeps the choices that can avoid every edge that leads back, without their edges to the side.
fn keep_last_turn(net: &Net<'_>, nest: &mut Nest, knot: LoopIx, live: &[NodeIx], on_side: &[bool]) {
    let mut ends = vec![true; net.choices.len()];
    for vertex in live.iter().copied().rev() {
        nest.arms[vertex].retain_mut(|arm| {
            let last = arm.edges.iter().all(|edge| match nest.back[*edge] {
                Some(back) => back != knot,
                None => ends[nest.vertex[net.edges[*edge].to]],
            });
            arm.edges.retain(|edge| !on_side[net.edges[*edge].to]);
            last
        });
        ends[vertex] = !nest.arms[vertex].is_empty();
    }
}

/// The last turn as one router: it ends in one choice of one vertex, or, if leaving can be avoided, in none.
fn as_router(net: &Net<'_>, nest: &Nest, head: NodeIx, knot: LoopIx, live: &[NodeIx]) -> Vec<Arm> {
    let mut inside = vec![false; net.choices.len()];
    nest.knots[knot].nodes.iter().for_each(|node| inside[*node] = true);
    let leaves = |edge: &EdgeIx| !inside[net.edges[*edge].to];

    let mut reached = vec![false; net.choices.len()];
    reached[head] = true;
    let mut arms = Vec::new();
    for vertex in live.iter().copied() {
        if !reached[vertex] {
            continue;
        }
        for arm in &nest.arms[vertex] {
            let (edges, inner): (Vec<EdgeIx>, Vec<EdgeIx>) = arm.edges.iter().copied().partition(leaves);
            for edge in inner {
                reached[nest.vertex[net.edges[edge].to]] = true;
            }
            if !edges.is_empty() {
                arms.push(Arm { edges, ..*arm });
            }
        }
    }

    let mut leaves_nowhere = vec![false; net.choices.len()];
    for vertex in live.iter().copied().rev() {
        let nowhere = |edge: &EdgeIx| !leaves(edge) && leaves_nowhere[nest.vertex[net.edges[*edge].to]];
        leaves_nowhere[vertex] = nest.arms[vertex].iter().any(|arm| arm.edges.iter().all(nowhere));
    }
    if leaves_nowhere[head] {
        arms.push(Arm { node: head, choice: 0, edges: Vec::new() });
    }
    arms
}
