//! Which arms begin the next turn of a loop.

use std::collections::BTreeSet;

use graphweft_graph::{NodeIx, START, component_of_each};

use super::builder::Builder;

/// A router with the target of one of its arms.
pub(super) type ArmEnds = (NodeIx, NodeIx);

/// The arms that lead back to a node which every path to their router has passed.
pub(super) fn that_go_back(builder: &Builder, arms: &BTreeSet<ArmEnds>) -> BTreeSet<ArmEnds> {
    let count = builder.node_count();
    let mut successors = vec![Vec::new(); count];
    for edge in builder.edges() {
        if let Some(next) = successors.get_mut(edge.from) {
            next.push(edge.to);
        }
    }
    // Few arms lead to where their router is reached from.
    let (turns, begun) = (component_of_each(&successors), reached(&successors, START, None));
    let may_go_back = |router, target| {
        begun.contains(&router) && turns.get(router).is_some_and(|turn| turns.get(target) == Some(turn))
    };
    let goes_back = |&(router, target): &ArmEnds| {
        may_go_back(router, target) && !reached(&successors, START, Some(target)).contains(&router)
    };
    arms.iter().copied().filter(goes_back).collect()
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
