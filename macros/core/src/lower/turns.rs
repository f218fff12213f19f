//! Which arms begin the next turn of a loop.

use std::collections::BTreeSet;

use graphweft_graph::{NodeIx, START};

use super::builder::Builder;

/// A router with the target of one of its arms.
pub(super) type ArmEnds = (NodeIx, NodeIx);

/// The arms that lead back to a node which every path to their router has passed.
pub(super) fn that_go_back(builder: &Builder, arms: &BTreeSet<ArmEnds>) -> BTreeSet<ArmEnds> {
    let count = builder.node_count();
    let (mut successors, mut predecessors) = (vec![Vec::new(); count], vec![Vec::new(); count]);
    for edge in builder.edges() {
        if let (Some(next), Some(before)) = (successors.get_mut(edge.from), predecessors.get_mut(edge.to)) {
            next.push(edge.to);
            before.push(edge.from);
        }
    }
    let mut ahead_of: Option<(NodeIx, BTreeSet<NodeIx>)> = None;
    let mut going_back = BTreeSet::new();
    for &(router, target) in arms {
        // The arms come router by router, and most lead to nodes that the router is not reached from.
        let known = ahead_of.take().filter(|(of, _)| *of == router);
        let (_, ahead) = known.unwrap_or_else(|| (router, reached(&predecessors, router, None)));
        let may_go_back = ahead.contains(&target) && ahead.contains(&START);
        ahead_of = Some((router, ahead));
        if may_go_back && !reached(&successors, START, Some(target)).contains(&router) {
            going_back.insert((router, target));
        }
    }
    going_back
}

/// Every node that is reached from one, itself among them, without coming through another.
fn reached(next: &[Vec<NodeIx>], from: NodeIx, without: Option<NodeIx>) -> BTreeSet<NodeIx> {
    let mut seen = BTreeSet::from([from]);
    let mut open = vec![from];
    while let Some(node) = open.pop() {
        let on = next.get(node).into_iter().flatten().copied();
        open.extend(on.filter(|next| Some(*next) != without && seen.insert(*next)));
    }
    seen
}
