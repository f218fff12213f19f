//! Holds the analysis against the judge.

use std::collections::BTreeSet;

use graphweft_graph::{Arrival, END, Graph, NodeIx, Plan, Presence, START, Way, analyse};

use crate::judge::{Verdict, judge};

/// What both agree on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Agreed {
    Refused,
    Accepted { loops: usize, nested: bool, on_side: bool, many_heads: bool, optional: bool },
}

/// Compares acceptance, and for a sound graph all of the plan.
///
/// # Errors
/// Where the two disagree, and on what.
pub(crate) fn compare<Id>(graph: &Graph<Id>) -> Result<Agreed, String> {
    match (analyse(graph), judge(graph)) {
        (Err(problems), _) if problems.is_empty() => Err("the analysis refuses without a reason".into()),
        (Err(_), Err(_)) => Ok(Agreed::Refused),
        (Ok(_), Err(why)) => Err(format!("the analysis accepts, but {why}")),
        (Err(problems), Ok(_)) => Err(format!("the analysis refuses what is sound: {problems:?}")),
        (Ok(plan), Ok(verdict)) => {
            compare_arrivals(graph, &plan, &verdict)?;
            compare_loops(graph, &plan, &verdict)?;
            check_plan(graph, &plan)?;
            let optional = |arrival: &Arrival| matches!(arrival, Arrival::Places(places) if places.contains(&Presence::MayBeSkipped));
            Ok(Agreed::Accepted {
                loops: plan.loops.len(),
                nested: plan.loops.iter().any(|at| at.parent.is_some()),
                on_side: verdict
                    .chain
                    .iter()
                    .enumerate()
                    .any(|(node, chain)| chain.last().is_some_and(|at| !verdict.loops[*at].nodes.contains(&node))),
                many_heads: plan.loops.iter().any(|at| at.heads.len() > 1),
                optional: plan.arrivals.iter().flatten().any(optional),
            })
        }
    }
}

fn compare_arrivals<Id>(graph: &Graph<Id>, plan: &Plan, verdict: &Verdict) -> Result<(), String> {
    for (node, data) in graph.nodes.iter().enumerate() {
        if plan.arrivals[node].len() != data.ways.len() {
            return Err(format!("{} arrivals for the {} ways into {node}", plan.arrivals[node].len(), data.ways.len()));
        }
        for (at, way) in data.ways.iter().enumerate() {
            let seen = &verdict.fired[node][at];
            let expected = match way {
                Way::All(places) if seen.iter().any(|places| places.count_ones() > 1) => {
                    let always = |place: usize| seen.iter().all(|places| *places & (1 << place) != 0);
                    let presence = |place| if always(place) { Presence::Always } else { Presence::MayBeSkipped };
                    Arrival::Places((0..places.len()).map(presence).collect())
                }
                _ => Arrival::One,
            };
            if plan.arrivals[node][at] != expected {
                return Err(format!("way {at} into {node} is {:?}, seen {expected:?}", plan.arrivals[node][at]));
            }
        }
    }
    Ok(())
}

/// The tags and the edges that lead back; a loop is told by its heads.
fn compare_loops<Id>(graph: &Graph<Id>, plan: &Plan, verdict: &Verdict) -> Result<(), String> {
    let heads = |at: usize| plan.loops[at].heads.iter().copied().collect::<BTreeSet<NodeIx>>();
    for node in 0..graph.nodes.len() {
        let planned: Vec<BTreeSet<NodeIx>> = plan.loops_around(node).map(heads).collect();
        let seen: Vec<BTreeSet<NodeIx>> =
            verdict.chain[node].iter().rev().map(|at| verdict.loops[*at].heads.clone()).collect();
        if planned != seen {
            return Err(format!("the loops around {node} begin at {planned:?}, seen {seen:?}"));
        }
    }
    for edge in 0..graph.edges.len() {
        let planned = plan.back[edge].map(heads);
        let seen = verdict.back[edge].map(|at| verdict.loops[at].heads.clone());
        if planned != seen {
            return Err(format!("edge {edge} leads back to {planned:?}, seen {seen:?}"));
        }
    }
    Ok(())
}

/// What the plan promises by itself.
fn check_plan<Id>(graph: &Graph<Id>, plan: &Plan) -> Result<(), String> {
    let require = |holds: bool, what: &str| if holds { Ok(()) } else { Err(format!("in the plan, not: {what}")) };
    require(plan.node_loop[START].is_none() && plan.node_loop[END].is_none(), "START and END stand in no loop")?;
    for (at, knot) in plan.loops.iter().enumerate() {
        require(knot.parent.is_none_or(|parent| parent < at), "an outer loop stands before those inside it")?;
        require(knot.heads.iter().all(|head| plan.node_loop[*head] == Some(at)), "heads stand in their loop")?;
        let members: BTreeSet<NodeIx> = knot.members.iter().copied().collect();
        let expected = (0..graph.nodes.len()).filter(|node| plan.node_loop[*node] == Some(at)).collect();
        require(members == expected && members.len() == knot.members.len(), "members are the nodes of the loop")?;
        let place = |node: NodeIx| knot.members.iter().position(|member| *member == node);
        for (edge, ends) in graph.edges.iter().enumerate().filter(|(edge, _)| !plan.leads_back(*edge)) {
            let in_order = place(ends.from).zip(place(ends.to)).is_none_or(|(from, to)| from < to);
            require(in_order, &format!("edge {edge} goes forward in a turn"))?;
        }
    }
    Ok(())
}
