//! The beginning and the end: START leads somewhere, END is reached, and once.

use std::collections::BTreeSet;

use graphweft_graph::{END, EdgeIx, NodeIx, Problem, Route, START, Way, analyse};
use proc_macro2::Span;

use super::spell::Spell;
use crate::diagnostics::Diagnostics;
use crate::ir::MentionTokens;

/// The kind of a flow, on which the help of its errors depends: `[..]` has no END to lead to.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Inside {
    Workflow,
    Each,
}

pub(super) fn tell(spell: &Spell<'_>, inside: Inside, problems: &[Problem], diagnostics: &mut Diagnostics) {
    let mut outputs: Vec<(EdgeIx, EdgeIx, &Route)> = Vec::new();
    for problem in problems {
        match problem {
            Problem::SeveralOutputs { first, second, when } => outputs.push((*first, *second, when)),
            Problem::NoOutput { when } => no_output(spell, inside, when, diagnostics),
            _ => {}
        }
    }
    several_outputs(spell, inside, &outputs, diagnostics);
}

/// Whether the workflow has a beginning; reports an error if it has none, at `nowhere` if nothing is written at all.
pub(super) fn begins(spell: &Spell<'_>, nowhere: Span, diagnostics: &mut Diagnostics) -> bool {
    let flow = spell.flow;
    let mut written = flow.mentions.iter().filter(|mention| !matches!(mention.tokens, MentionTokens::Implied(_)));
    let leads = flow.graph.edges.iter().zip(&flow.edges).any(|(ends, edge)| {
        let implied = flow.mentions.get(edge.from).is_some_and(|from| matches!(from.tokens, MentionTokens::Implied(_)));
        ends.from == START && !implied
    });
    let mentions_start = written.clone().any(|mention| mention.node == START);
    // In a workflow without output, `START => END` makes no edge.
    if leads || mentions_start && (flow.unit_output || !flow.holes.is_empty()) {
        return true;
    }
    if flow.holes.contains(&START) {
        return false;
    }
    match written.find(|mention| mention.node != END) {
        Some(first) if first.node == START => {
            diagnostics.error(first.blame(), "START leads nowhere").help("`START => node`");
        }
        Some(first) => {
            let name = spell.name(first.node);
            let help = format!("begin with `START => {name}`");
            diagnostics.error(first.blame(), "the workflow does not say where it begins").help(help);
        }
        None => {
            diagnostics.error(nowhere, "the workflow does not say where it begins").help("begin with `START => node`");
        }
    }
    false
}

/// One error for any number of outputs, since one change mends them together.
fn several_outputs(
    spell: &Spell<'_>,
    inside: Inside,
    outputs: &[(EdgeIx, EdgeIx, &Route)],
    diagnostics: &mut Diagnostics,
) {
    let Some((first, second, when)) = outputs.first() else { return };
    let implied = |edge: &EdgeIx| {
        let written = spell.flow.edges.get(*edge).and_then(|edge| spell.flow.mentions.get(edge.to));
        matches!(written.map(|mention| &mention.tokens), Some(MentionTokens::Implied(_)))
    };
    let ways = if implied(second) { meeting(spell, *second) } else { spell.ways_under(END, when, &[*first, *second]) };
    let members: BTreeSet<NodeIx> = ways.iter().flat_map(|way| way.edges()).map(|edge| spell.edge(edge).from).collect();
    let members: Vec<&str> = members.into_iter().map(|node| spell.name(node)).collect();
    let (one, other) = (spell.way_of(*first), spell.way_of(*second));
    let end = match inside {
        Inside::Workflow if implied(second) => "end it",
        Inside::Workflow => "lead to END",
        Inside::Each => "end its run",
    };
    let subject = match inside {
        Inside::Workflow => "the workflow would have two outputs",
        Inside::Each => "an item would have two outputs",
    };
    let route = spell.route(when).map(|route| format!("{route}, ")).unwrap_or_default();
    let message = format!("{subject}: {route}both `{one}` and `{other}` {end}");
    let blame = if implied(second) { spell.source_blame(*second) } else { spell.target_blame(*second) };
    let error = diagnostics.error(blame, message);
    let group = members.join(", ");
    match inside {
        Inside::Workflow => {
            error.help(format!("`({group}) => END` waits for both and gives them together"));
            if implied(second) {
                error.help(format!("`{one} => END` makes `{one}` the output, and drops that of `{other}`"));
            }
        }
        Inside::Each => {
            error.help(format!("join them: `({group}) => join`"));
        }
    }
}

/// How many ways into END are compared in pairs for the help.
const COMPARED: usize = 12;

/// The ways into END that one of them meets on some route, and those that they meet: the places of a group at END.
fn meeting<'f>(spell: &Spell<'f>, edge: EdgeIx) -> Vec<&'f Way> {
    let all: Vec<&Way> = spell.graph().nodes.get(END).into_iter().flat_map(|end| &end.ways).take(COMPARED).collect();
    let mut group: Vec<&Way> = spell.find_way(edge).into_iter().collect();
    let mut compared = 0;
    while let Some(one) = group.get(compared).copied() {
        compared += 1;
        let met = all.iter().filter(|other| !group.contains(other) && meet(spell, one, other));
        let met: Vec<&Way> = met.copied().collect();
        group.extend(met);
    }
    all.into_iter().filter(|way| group.contains(way)).collect()
}

/// Whether two ways into END alone would be two outputs: the others lead to nodes of their own instead.
fn meet(spell: &Spell<'_>, one: &Way, other: &Way) -> bool {
    let mut graph = spell.graph().clone();
    let Some(end) = graph.nodes.get_mut(END) else { return false };
    for way in std::mem::take(&mut end.ways) {
        let to = if way == *one || way == *other { END } else { graph.add_node(graph.nodes.len()) };
        for edge in way.edges() {
            if let Some(edge) = graph.edges.get_mut(edge) {
                edge.to = to;
            }
        }
        if let Some(node) = graph.nodes.get_mut(to) {
            node.ways.push(way);
        }
    }
    let problems = analyse(&graph).err().unwrap_or_default();
    problems.iter().any(|problem| matches!(problem, Problem::SeveralOutputs { .. }))
}

fn no_output(spell: &Spell<'_>, inside: Inside, when: &Route, diagnostics: &mut Diagnostics) {
    let last =
        when.iter().rev().find(|(node, _)| spell.flow.nodes.get(*node).is_some_and(|node| !node.arms.is_empty()));
    let stops = stops_under(spell, when);
    let blame = match (last, stops.first()) {
        (Some((node, choice)), _) => spell.label_blame(*node, *choice),
        (None, Some(stop)) => spell.node_blame(*stop),
        (None, None) => spell.node_blame(START),
    };
    let subject = if inside == Inside::Each { "nothing comes out of `[..]`" } else { "END is never reached" };
    let message = match spell.route(when) {
        Some(route) => format!("{subject} {route}"),
        None => subject.into(),
    };
    let error = diagnostics.error(blame, message);
    match stops.as_slice() {
        [] => error.help("lead this route to END as well"),
        [stop] => {
            let stop = spell.name(*stop);
            error.help(format!("this route ends at `{stop}`: write `{stop} => END`"))
        }
        stops => {
            let names: Vec<&str> = stops.iter().map(|stop| spell.name(*stop)).collect();
            error.help(format!("this route ends at {}: write `({}) => END`", spell.names(stops), names.join(", ")))
        }
    };
}

/// The nodes without a way on that run under a route.
fn stops_under(spell: &Spell<'_>, when: &Route) -> Vec<NodeIx> {
    let (nodes, edges) = spell.live_under(when);
    let leads_on = |node: &NodeIx| edges.iter().any(|edge| spell.edge(*edge).from == *node);
    nodes.into_iter().filter(|node| ![START, END].contains(node) && !leads_on(node)).collect()
}
