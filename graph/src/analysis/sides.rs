//! The branches on the side of a loop: what lies behind an edge that leaves the loop in a turn that another follows.
//!
//! They run once for each turn, so all that leads to them must do so too, and the output cannot be among them.

use super::nest::Nest;
use super::net::Net;
use super::pairs::{EdgeSet, Pairs};
use crate::model::{END, EdgeIx, NodeIx, START};
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
    let behind = reached(net, sides.iter().map(|(side, _)| net.edges[*side].to), |_| true);
    let leads_back = net.nodes().any(|node| inside[node] && behind[node]);
    let foreign = if leads_back {
        // All of the loop around is behind the sides; only the nodes before it do not belong to this loop's turns.
        let before = reached(net, [START].into_iter(), |edge| !inside[net.edges[edge].from]);
        net.nodes().map(|node| before[node] && !inside[node]).collect()
    } else {
        net.nodes().map(|node| !inside[node] && !behind[node]).collect::<Vec<bool>>()
    };
    let comes_from_elsewhere = |node: NodeIx| {
        let entered = if inside[node] { nest.knots[knot].heads.as_slice() } else { std::slice::from_ref(&node) };
        let mut into = entered.iter().flat_map(|node| &net.into[*node]);
        into.find(|edge| foreign[net.edges[**edge].from]).copied()
    };

    let mut seen = vec![false; net.choices.len()];
    let mut found = Vec::new();
    let mut end_found = false;
    for (side, back) in sides {
        let mut open = vec![side];
        while let Some(edge) = open.pop() {
            let node = net.edges[edge].to;
            if node == END {
                if !std::mem::replace(&mut end_found, true) {
                    let when = pairs.route(net, nest, side, back);
                    problems.push(Problem::EndInSide { edge, side, back, when });
                }
            } else if !std::mem::replace(&mut seen[node], true) {
                if let Some(other) = comes_from_elsewhere(node) {
                    let heads = nest.knots[knot].heads.clone();
                    problems.push(Problem::LoopsMeet { node, each_turn: edge, other, heads });
                } else if !inside[node] {
                    found.push(node);
                    open.extend(net.out[node].iter().rev());
                }
            }
        }
    }
    found
}

/// All that can be reached from some nodes over edges that pass, these nodes included.
fn reached(net: &Net<'_>, from: impl Iterator<Item = NodeIx>, passes: impl Fn(EdgeIx) -> bool) -> Vec<bool> {
    let mut reached = vec![false; net.choices.len()];
    let mut open: Vec<NodeIx> = from.collect();
    while let Some(node) = open.pop() {
        if !std::mem::replace(&mut reached[node], true) {
            open.extend(net.out[node].iter().filter(|edge| passes(**edge)).map(|edge| net.edges[*edge].to));
        }
    }
    reached
}

/// Makes nodes, and the loops around them, part of a loop. Nodes that are already in a loop on the side stay there.
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
