//! What a loop is to the loop around it: its last turn, in which no edge leads back.
//!
//! What runs on its side belongs to its own turns and is not seen from outside.

use super::nest::{Arm, Nest};
use super::net::Net;
use super::pairs::{EdgeSet, Pairs};
use crate::model::{EdgeIx, NodeIx};
use crate::plan::LoopIx;

/// How much of its last turn a loop shows.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Detail {
    /// Where a router with the same ends can stand for it, it is that router. The proof is the same, and deep nests
    /// take no longer than flat ones.
    Ends,
    /// All of it, so that the routes of a problem name every choice on the way.
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
    if detail == Detail::Ends
        && live.len() > 1
        && let Some(arms) = as_router(net, nest, pairs, head, knot, &live)
    {
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

/// The last turn as one router, which it is where edges that leave from different vertices are never live together:
/// then it ends in one choice of one vertex, or, if all of them can be avoided, in none.
fn as_router(
    net: &Net<'_>,
    nest: &Nest,
    pairs: &Pairs,
    head: NodeIx,
    knot: LoopIx,
    live: &[NodeIx],
) -> Option<Vec<Arm>> {
    let mut inside = vec![false; net.choices.len()];
    nest.knots[knot].nodes.iter().for_each(|node| inside[*node] = true);
    let leaves = |edge: &EdgeIx| !inside[net.edges[*edge].to];

    let mut reached = vec![false; net.choices.len()];
    reached[head] = true;
    let mut arms = Vec::new();
    let mut others = EdgeSet::default();
    for vertex in live.iter().copied() {
        if !reached[vertex] {
            continue;
        }
        let first = arms.len();
        for arm in &nest.arms[vertex] {
            let edges: Vec<EdgeIx> = arm.edges.iter().copied().filter(leaves).collect();
            if edges.iter().any(|edge| pairs.partner(*edge, &others).is_some()) {
                return None;
            }
            for edge in arm.edges.iter().filter(|edge| !leaves(edge)) {
                reached[nest.vertex[net.edges[*edge].to]] = true;
            }
            if !edges.is_empty() {
                arms.push(Arm { edges, ..*arm });
            }
        }
        for arm in &arms[first..] {
            arm.edges.iter().for_each(|edge| others.add(pairs, *edge));
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
    Some(arms)
}
