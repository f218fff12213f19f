//! Checks that END is reached by all choices.

use super::nest::Nest;
use super::net::Net;
use crate::model::{END, NodeIx, START};
use crate::problem::{Problem, Route};

/// Reports the routes that lead past END. Not checked if another problem may be the reason.
pub(super) fn check(net: &Net<'_>, nest: &Nest, problems: &mut Vec<Problem>) {
    let explained = |problem: &Problem| {
        !matches!(problem, Problem::DuplicateEdge { .. } | Problem::RunsTwice { .. } | Problem::SeveralOutputs { .. })
    };
    if problems.iter().any(explained) {
        return;
    }
    let ways_past = ways_past_end(net, nest);
    if let Some(arm) = ways_past[START] {
        problems.push(Problem::NoOutput { when: route(net, nest, arm, &ways_past) });
    }
}

/// For each vertex that can avoid END, the first of its arms that does.
fn ways_past_end(net: &Net<'_>, nest: &Nest) -> Vec<Option<usize>> {
    let mut past: Vec<Option<usize>> = vec![None; net.choices.len()];
    for vertex in nest.order.iter().copied().filter(|vertex| *vertex != END).rev() {
        let avoids = |to: NodeIx| past[nest.vertex[to]].is_some();
        past[vertex] =
            nest.arms[vertex].iter().position(|arm| arm.edges.iter().all(|edge| avoids(net.edges[*edge].to)));
    }
    past
}

/// The choices by which END is avoided; a node that cannot lead there by any choice is left out.
fn route(net: &Net<'_>, nest: &Nest, arm: usize, ways_past: &[Option<usize>]) -> Route {
    let mut leads_to_end = vec![false; net.choices.len()];
    leads_to_end[END] = true;
    for vertex in nest.order.iter().rev() {
        let mut targets = nest.arms[*vertex].iter().flat_map(|arm| &arm.edges).map(|edge| net.edges[*edge].to);
        leads_to_end[*vertex] |= targets.any(|to| leads_to_end[nest.vertex[to]]);
    }
    let mut route = Route::new();
    let mut seen = vec![false; net.choices.len()];
    let mut open = std::collections::VecDeque::from([(START, arm)]);
    while let Some((vertex, arm)) = open.pop_front() {
        let arm = &nest.arms[vertex][arm];
        if !leads_to_end[vertex] || std::mem::replace(&mut seen[vertex], true) {
            continue;
        }
        if nest.arms[vertex].len() > 1 && net.choices[arm.node].len() > 1 {
            route.push((arm.node, arm.choice));
        }
        let next = arm.edges.iter().map(|edge| nest.vertex[net.edges[*edge].to]);
        open.extend(next.filter_map(|to| Some((to, ways_past[to]?))));
    }
    route
}
