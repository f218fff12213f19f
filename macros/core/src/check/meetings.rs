//! Branches that meet: no node runs twice, and the turns of a loop meet nothing else.

use std::collections::BTreeMap;

use graphweft_graph::{EdgeIx, NodeIx, Problem, Route, Way};

use super::spell::Spell;
use crate::diagnostics::Diagnostics;

/// Two edges that both come, and when.
type Pair<'p> = (EdgeIx, EdgeIx, &'p Route);

pub(super) fn tell(spell: &Spell<'_>, problems: &[Problem], diagnostics: &mut Diagnostics) {
    let mut twice: BTreeMap<NodeIx, Vec<Pair<'_>>> = BTreeMap::new();
    for problem in problems {
        match problem {
            Problem::RunsTwice { node, .. } if collects(spell, *node) => {}
            Problem::RunsTwice { first, second, .. } if told_otherwise(spell, problems, *first, *second) => {}
            Problem::RunsTwice { node, first, second, when } => {
                twice.entry(*node).or_default().push((*first, *second, when));
            }
            Problem::LoopsMeet { node, each_turn, other, heads } => {
                loops_meet(spell, *node, (*each_turn, *other), heads, diagnostics);
            }
            Problem::EndInSide { edge, side, back, when } => {
                let (from, side_from, side_to) =
                    (spell.source(*edge), spell.source(*side), spell.name(spell.edge(*side).to));
                let head = spell.name(spell.edge(*back).to);
                let when = spell.route(when).map(|route| format!(" {route}")).unwrap_or_default();
                diagnostics
                    .error(
                        spell.target_blame(*edge),
                        format!("`{from} => END` would come once for each turn: `{side_from} => {side_to}` leaves the loop while it continues at `{head}`{when}"),
                    )
                    .help("END is reached once: lead to it from a route that ends the loop")
                    .help(format!("without `=> END`, what `{side_to}` begins runs on the side once for each turn"));
            }
            _ => {}
        }
    }
    for (node, pairs) in twice {
        runs_twice(spell, node, &pairs, diagnostics);
    }
}

/// Whether one of two ways in has an error of its own, which is reported, and has to be mended first.
fn told_otherwise(spell: &Spell<'_>, problems: &[Problem], first: EdgeIx, second: EdgeIx) -> bool {
    let wrong = |edge: EdgeIx| {
        let way = spell.find_way(edge);
        way.is_some_and(|way| way.edges().any(|edge| edge == first || edge == second))
    };
    problems.iter().any(|problem| match problem {
        Problem::LoopsMeet { each_turn, .. } => wrong(*each_turn),
        Problem::JoinInHandOver { edge, .. } => wrong(*edge),
        Problem::MixedJoin { back, .. } => wrong(*back),
        _ => false,
    })
}

/// All ways in that clash are one error, and mended together.
fn runs_twice(spell: &Spell<'_>, node: NodeIx, pairs: &[Pair<'_>], diagnostics: &mut Diagnostics) {
    let Some((first, second, when)) = pairs.first() else { return };
    let name = spell.name(node);
    let one_place = spell.find_way(*first).is_some_and(|way| match way {
        Way::All(places) => places.iter().any(|place| place.contains(first) && place.contains(second)),
        _ => false,
    });
    let route = spell.route(when).map(|route| format!("{route}, ")).unwrap_or_default();
    if one_place {
        let (one, other) = (spell.source(*first), spell.source(*second));
        diagnostics
            .error(
                spell.source_blame(*second),
                format!(
                    "a place of `{} => {name}` would be filled twice: {route}both `{one}` and `{other}` lead there",
                    spell.way_of(*first)
                ),
            )
            .help(format!("give each a place of its own: `({one}, {other}, ..) => {name}`"));
        return;
    }
    let (one, other) = (spell.way_of(*first), spell.way_of(*second));
    let blame = spell.target_blame(*second);
    let ways = spell.ways_under(node, when, &[*first, *second]);
    let all_plain = ways.iter().all(|way| matches!(way, Way::Plain(_)));
    let ways: Vec<String> = ways.into_iter().map(|way| spell.way(way)).collect();
    let error = if one == other {
        let from = spell.source(*first);
        diagnostics.error(blame, format!("`{name}` would run twice: {route}`{from}` leads here twice"))
    } else {
        diagnostics.error(blame, format!("`{name}` would run twice: {route}both `{one}` and `{other}` lead here"))
    };
    if all_plain && ways.len() > 1 {
        let all = if ways.len() > 2 { "all" } else { "both" };
        error.help(format!("`({}) => {name}` runs it once, when {all} have come", ways.join(", ")));
        error.help(format!("`{} => {name}` runs it for each as it comes, until it yields an output", ways.join(" | ")));
    } else {
        error.help("let only one of these ways lead there, or put a node with another name at the end of one");
    }
}

fn loops_meet(
    spell: &Spell<'_>,
    node: NodeIx,
    edges: (EdgeIx, EdgeIx),
    heads: &[NodeIx],
    diagnostics: &mut Diagnostics,
) {
    let (each_turn, other) = edges;
    let (name, from, other) = (spell.name(node), spell.source(each_turn), spell.source(other));
    let heads = spell.names(heads);
    diagnostics
        .error(
            spell.target_blame(each_turn),
            format!("`{from}` and `{other}` cannot meet at `{name}`: `{from}` comes once for each turn of the loop at {heads}, and `{other}` does not"),
        )
        .help("join them inside the loop, before the route that decides whether it continues")
        .help(format!("or put what `{name}` takes from `{from}` on a route that ends the loop"));
}

/// Whether a node collects; another way into such a node is reported by itself.
fn collects(spell: &Spell<'_>, node: NodeIx) -> bool {
    spell.graph().nodes.get(node).is_some_and(|node| node.ways.iter().any(|way| matches!(way, Way::Any(_))))
}

/// A collecting node has no other way in than its `a | b`.
pub(super) fn collecting(spell: &Spell<'_>, diagnostics: &mut Diagnostics) {
    for (node, data) in spell.graph().nodes.iter().enumerate() {
        let any = data.ways.iter().find(|way| matches!(way, Way::Any(_)));
        let (Some(any), true) = (any, data.ways.len() > 1) else { continue };
        let name = spell.name(node);
        let Some(extra) = data.ways.iter().find(|way| *way != any).and_then(|way| way.edges().next()) else { continue };
        let members = spell.way(any);
        let error = diagnostics.error(
            spell.target_blame(extra),
            format!(
                "`{name}` collects what comes from `{members}`, and `{}` leads there on its own",
                spell.way_of(extra)
            ),
        );
        match spell.find_way(extra) {
            Some(Way::Plain(_)) => error.help(format!("`{members} | {} => {name}`", spell.source(extra))),
            Some(Way::Any(_)) => error.help(format!("`{members} | {} => {name}`", spell.way_of(extra))),
            _ => error.help(format!(
                "put a node between: `{} => join`, and `{members} | join => {name}`",
                spell.way_of(extra)
            )),
        };
    }
}
