//! Every node can stop: some choice of it leads only to nodes that can stop, as END and terminal nodes do.

use std::collections::VecDeque;

use super::components::{Marks, components};
use super::net::Net;
use crate::model::NodeIx;
use crate::problem::Problem;

/// Reports each loop that cannot be left. A node that only leads into one is not reported: the innermost loops are
/// reported first, then they count as mended, and the check is repeated. Returns the nodes of the reported loops.
pub(super) fn check(net: &Net<'_>, problems: &mut Vec<Problem>) -> Vec<bool> {
    let mut blamed = vec![false; net.choices.len()];
    let mut stops: Vec<bool> = net.reachable.iter().map(|reachable| !reachable).collect();
    loop {
        spread(net, &mut stops);
        let stuck: Vec<NodeIx> = net.nodes().filter(|node| !stops[*node]).collect();
        if stuck.is_empty() {
            return blamed;
        }
        for circle in circles_at_the_bottom(net, &stuck, &stops) {
            for node in &circle {
                stops[*node] = true;
                blamed[*node] = true;
            }
            problems.push(match unconditional_cycle(net, &circle) {
                Some(path) => Problem::UnconditionalCycle { path },
                None => Problem::NoWayOut { nodes: circle },
            });
        }
    }
}

/// The least fixpoint: marks every node that has a choice all of whose edges lead to marked nodes.
fn spread(net: &Net<'_>, stops: &mut [bool]) {
    let mut open: Vec<NodeIx> = net.nodes().collect();
    while let Some(node) = open.pop() {
        let all_stop = |stops: &[bool]| {
            net.choices[node].iter().any(|choice| net.live(choice).all(|edge| stops[net.edges[edge].to]))
        };
        if !stops[node] && all_stop(stops) {
            stops[node] = true;
            open.extend(net.into[node].iter().map(|edge| net.edges[*edge].from));
        }
    }
}

/// The circles of stuck nodes that lead to no other stuck node, each in running order from where it is entered.
fn circles_at_the_bottom(net: &Net<'_>, stuck: &[NodeIx], stops: &[bool]) -> Vec<Vec<NodeIx>> {
    let next = |node: NodeIx, at: usize| net.out[node].get(at).map(|edge| net.edges[*edge].to);
    let found = components(stuck, |node| !stops[node], next, &mut Marks::new(net.choices.len()));
    let mut component = vec![usize::MAX; net.choices.len()];
    for (at, members) in found.iter().enumerate() {
        for member in members {
            component[*member] = at;
        }
    }
    let mut circles: Vec<_> = (0..found.len())
        .filter(|at| {
            let mut next = found[*at].iter().flat_map(|node| &net.out[*node]).map(|edge| net.edges[*edge].to);
            next.all(|to| stops[to] || component[to] == *at)
        })
        .map(|at| {
            let inside = |node: NodeIx| component[node] == at;
            let entered =
                found[at].iter().filter(|node| net.into[**node].iter().any(|edge| !inside(net.edges[*edge].from)));
            let entry = entered.min().or(found[at].iter().min()).copied();
            entry.map_or_else(Vec::new, |entry| in_running_order(net, entry, inside))
        })
        .collect();
    circles.sort();
    circles
}

/// All that can be reached from a node inside a component, the nearest first.
fn in_running_order(net: &Net<'_>, from: NodeIx, inside: impl Fn(NodeIx) -> bool) -> Vec<NodeIx> {
    let mut seen = vec![false; net.choices.len()];
    seen[from] = true;
    let mut found = vec![from];
    let mut at = 0;
    while let Some(node) = found.get(at).copied() {
        for to in net.out[node].iter().map(|edge| net.edges[*edge].to).filter(|to| inside(*to)) {
            if !std::mem::replace(&mut seen[to], true) {
                found.push(to);
            }
        }
        at += 1;
    }
    found
}

/// The shortest way round that passes no router, from the first node that has one.
fn unconditional_cycle(net: &Net<'_>, circle: &[NodeIx]) -> Option<Vec<NodeIx>> {
    let mut plain = vec![false; net.choices.len()];
    for node in circle {
        plain[*node] = net.choices[*node].len() == 1;
    }
    circle.iter().copied().filter(|node| plain[*node]).find_map(|start| {
        let mut before: Vec<Option<NodeIx>> = vec![None; net.choices.len()];
        let mut open = VecDeque::from([start]);
        while let Some(node) = open.pop_front() {
            for to in net.out[node].iter().map(|edge| net.edges[*edge].to).filter(|to| plain[*to]) {
                if to == start {
                    let back = |at: &NodeIx| if *at == start { None } else { before[*at] };
                    let mut path: Vec<NodeIx> = std::iter::successors(Some(node), back).collect();
                    path.reverse();
                    return Some(path);
                }
                if before[to].is_none() {
                    before[to] = Some(node);
                    open.push_back(to);
                }
            }
        }
        None
    })
}
