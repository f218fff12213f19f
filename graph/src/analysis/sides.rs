//! The branches on the side of a loop: what lies behind an edge that leaves the loop in a turn that another follows.
//!
//! They run once for each turn, so all that leads to them must do so too, and the output cannot be among them.

use super::nest::Nest;
use super::net::Net;
use super::pairs::{EdgeSet, Pairs};
use crate::model::{END, EdgeIx, NodeIx};
use crate::plan::LoopIx;
use crate::problem::Problem;

/// The nodes on the side of a loop, whose pairs within one turn are given.
pub(super) fn find(
    net: &Net<'_>,
    nest: &Nest,
    pairs: &Pairs,
    knot: LoopIx,
    problems: &mut Vec<Problem>,
) -> Vec<NodeIx> {
    let mut back = EdgeSet::default();
    for edge in pairs.edges().iter().copied().filter(|edge| nest.back[*edge] == Some(knot)) {
        back.add(pairs, edge);
    }
    let mut inside = vec![false; net.choices.len()];
    nest.knots[knot].nodes.iter().for_each(|node| inside[*node] = true);
    let leaves = |edge: &EdgeIx| !inside[net.edges[*edge].to];
    let sides: Vec<(EdgeIx, EdgeIx)> = (pairs.edges().iter().copied().filter(leaves))
        .filter_map(|side| Some((side, pairs.partner(side, &back)?)))
        .collect();
    if sides.is_empty() {
        return Vec::new();
    }
    let behind = all_behind(net, sides.iter().map(|(side, _)| net.edges[*side].to));
    let mut on_side = vec![false; net.choices.len()];
    let mut found = Vec::new();
    let mut end_found = false;
    for (side, back) in sides {
        let mut open = vec![side];
        while let Some(edge) = open.pop() {
            let node = net.edges[edge].to;
            if inside[node] || on_side[node] {
                continue;
            }
            if node == END {
                if !std::mem::replace(&mut end_found, true) {
                    let when = pairs.route(net, nest, side, back);
                    problems.push(Problem::EndInSide { edge, side, back, when });
                }
                continue;
            }
            on_side[node] = true;
            let foreign = |edge: &&EdgeIx| !inside[net.edges[**edge].from] && !behind[net.edges[**edge].from];
            if let Some(other) = net.into[node].iter().find(foreign) {
                let heads = nest.knots[knot].heads.clone();
                problems.push(Problem::LoopsMeet { node, each_turn: edge, other: *other, heads });
            } else {
                found.push(node);
                open.extend(net.out[node].iter().rev());
            }
        }
    }
    found
}

fn all_behind(net: &Net<'_>, nodes: impl Iterator<Item = NodeIx>) -> Vec<bool> {
    let mut behind = vec![false; net.choices.len()];
    let mut open: Vec<NodeIx> = nodes.collect();
    while let Some(node) = open.pop() {
        if !std::mem::replace(&mut behind[node], true) {
            open.extend(net.out[node].iter().map(|edge| net.edges[*edge].to));
        }
    }
    behind
}

/// Makes nodes, and the loops that they stand in, part of a loop. What stands in a loop on the side already stays there.
pub(super) fn adopt(nest: &mut Nest, knot: LoopIx, nodes: &[NodeIx]) {
    for node in nodes {
        let Some(innermost) = nest.innermost[*node] else {
            nest.innermost[*node] = Some(knot);
            continue;
        };
        let outermost = nest.outermost(innermost);
        if outermost != nest.outermost(knot) {
            nest.knots[outermost].parent = Some(knot);
        }
    }
}
