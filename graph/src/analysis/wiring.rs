//! Problems that are visible without following any route: an empty START, repeated edges, nodes without a way to them.

use super::net::Net;
use crate::model::{END, NodeIx, START};
use crate::problem::Problem;

pub(super) fn check(net: &Net<'_>, problems: &mut Vec<Problem>) {
    problems.extend(net.repeated.iter().map(|&(first, second)| Problem::DuplicateEdge { first, second }));
    if net.out[START].is_empty() {
        problems.push(Problem::NoStart);
    } else {
        problems.extend(first_unreachable(net).into_iter().map(|node| Problem::Unreachable { node }));
    }
}

/// Of the nodes that cannot be reached, those that are not merely behind another: leading to each of them, in the
/// order in which they were named, would reach them all.
fn first_unreachable(net: &Net<'_>) -> Vec<NodeIx> {
    let mut behind: Vec<Vec<NodeIx>> = vec![Vec::new(); net.choices.len()];
    let mut has_way_in = vec![false; net.choices.len()];
    for ends in net.edges {
        behind[ends.from].push(ends.to);
        has_way_in[ends.to] |= ends.from != ends.to;
    }
    let mut reached = net.reachable.clone();
    // An END that nothing leads to is a missing output, which is its own problem.
    reached[END] |= !has_way_in[END];
    let mut first = Vec::new();
    let without_way_in = net.nodes().filter(|node| !has_way_in[*node]);
    let in_circles = net.nodes().filter(|node| has_way_in[*node] && *node != END);
    for node in without_way_in.chain(in_circles) {
        if reached[node] {
            continue;
        }
        first.push(node);
        let mut open = vec![node];
        while let Some(node) = open.pop() {
            if !std::mem::replace(&mut reached[node], true) {
                open.extend(&behind[node]);
            }
        }
    }
    if first.is_empty() && !reached[END] {
        first.push(END);
    }
    first
}
