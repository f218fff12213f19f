//! The problems that remain when a part of the graph could not be read.

use graphweft_graph::{END, EdgeIx, NodeIx, Problem, START};

use crate::ir::Flow;

/// The problems that do not depend on the unreadable parts.
pub(super) fn that_stand(flow: &Flow, problems: Vec<Problem>) -> Vec<Problem> {
    let stands = |problem: &Problem| flow.holes.is_empty() || !may_be_mended(flow, problem);
    let mut problems: Vec<Problem> = problems.into_iter().filter(stands).collect();
    // A graph that goes round for ever reaches no END either: one problem, one error.
    let endless = |problem: &Problem| {
        matches!(problem, Problem::UnconditionalCycle { .. } | Problem::NoWayOut { .. } | Problem::NoStart)
    };
    if problems.iter().any(endless) {
        problems.retain(|problem| !matches!(problem, Problem::NoOutput { .. }));
    }
    // A cycle reaches its first node twice.
    let cycles: Vec<Vec<NodeIx>> = problems
        .iter()
        .filter_map(|problem| match problem {
            Problem::UnconditionalCycle { path } => Some(path.clone()),
            _ => None,
        })
        .collect();
    problems.retain(|problem| match problem {
        Problem::RunsTwice { first, second, .. } => {
            ![first, second].iter().any(|edge| on_a_cycle(flow, **edge, &cycles))
        }
        _ => true,
    });
    problems
}

fn on_a_cycle(flow: &Flow, edge: EdgeIx, cycles: &[Vec<NodeIx>]) -> bool {
    let Some(edge) = flow.graph.edges.get(edge) else { return false };
    let leads_on = |path: &Vec<NodeIx>| {
        let next = path.iter().cycle().skip(1);
        path.iter().zip(next).any(|step| step == (&edge.from, &edge.to))
    };
    cycles.iter().any(leads_on)
}

/// Whether the part that could not be read may be the part that is missing.
fn may_be_mended(flow: &Flow, problem: &Problem) -> bool {
    let unknown = |node: &NodeIx| flow.holes.contains(node);
    let ends = |edge: usize| flow.graph.edges.get(edge).map_or([START, END], |edge| [edge.from, edge.to]);
    match problem {
        Problem::DuplicateEdge { first, second } => ends(*first).iter().chain(&ends(*second)).any(unknown),
        Problem::UnconditionalCycle { path } => path.iter().any(unknown),
        Problem::RunsTwice { node, first, second, when } => {
            unknown(node)
                || [first, second].iter().any(|edge| unknown(&ends(**edge)[0]))
                || when.iter().any(|(at, _)| unknown(at))
        }
        Problem::MixedJoin { node, .. } => unknown(node),
        _ => true,
    }
}
