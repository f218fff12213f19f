//! Loops: each is left by a route, begun at one place, and its turns are kept apart.

use graphweft_graph::{NodeIx, Problem};

use super::spell::Spell;
use crate::diagnostics::{Blame, Diagnostics};

pub(super) fn tell(spell: &Spell<'_>, problems: &[Problem], diagnostics: &mut Diagnostics) {
    for problem in problems {
        match problem {
            Problem::UnconditionalCycle { path } => unconditional(spell, path, diagnostics),
            Problem::NoWayOut { nodes } => no_way_out(spell, nodes, diagnostics),
            Problem::MixedJoin { node, back, outside } => {
                let (name, join) = (spell.name(*node), spell.way_of(*back));
                let (back_from, from) = (spell.source(*back), spell.source(*outside));
                let again =
                    spell.route(&spell.way_round(*node, *back)).unwrap_or_else(|| format!("when `{back_from}` comes"));
                diagnostics
                    .error(
                        spell.target_blame(*back),
                        format!("`{name}` would wait for ever: {again}, `{from}` never runs again: `{join} => {name}` joins what comes before the loop with what comes from inside it"),
                    )
                    .help(format!("`{from} => {name}; {back_from} => {name}` begins a turn with whichever comes"))
                    .help(format!("what every turn needs is joined inside the loop, behind `{name}`"));
            }
            Problem::TwoTokens { node, first, second, heads } => {
                let name = spell.name(*node);
                let (one, other) = (spell.name(spell.edge(*first).to), spell.name(spell.edge(*second).to));
                diagnostics
                    .error(
                        spell.target_blame(*second),
                        format!(
                            "`{name}` hands over to both `{one}` and `{other}`, in a loop that is entered at {}",
                            spell.names(heads)
                        ),
                    )
                    .help("a loop with several ways in holds one token: hand over to one of them")
                    .help("a loop that begins each turn at one node can run nodes at once");
            }
            Problem::JoinInHandOver { node, edge, heads } => {
                let (name, join) = (spell.name(*node), spell.way_of(*edge));
                let from = spell.source(*edge);
                diagnostics
                    .error(
                        spell.target_blame(*edge),
                        format!(
                            "`{name}` would wait for ever: `{join} => {name}` joins `{from}`, which is in a loop that is entered at {}",
                            spell.names(heads)
                        ),
                    )
                    .help("a loop with several ways in holds one token, so no two branches of it run at once: join them behind the loop, or begin each turn at one node");
            }
            _ => {}
        }
    }
}

fn unconditional(spell: &Spell<'_>, path: &[NodeIx], diagnostics: &mut Diagnostics) {
    let (Some(first), Some(last)) = (path.first(), path.last()) else { return };
    let circle = spell.path(&[path, &[*first]].concat());
    diagnostics
        .error(closing(spell, *first, *last), format!("`{circle}` goes round for ever: no route leads out of it"))
        .help(format!(
            "let a label of `{}` decide when it is done: `{} => <again: {}, done: END>`",
            spell.name(*last),
            spell.name(*last),
            spell.name(*first)
        ));
}

fn no_way_out(spell: &Spell<'_>, nodes: &[NodeIx], diagnostics: &mut Diagnostics) {
    let (Some(first), Some(last)) = (nodes.first(), nodes.last()) else { return };
    let closing_node = nodes.iter().rev().find(|node| leads(spell, **node, *first)).unwrap_or(last);
    let message = match nodes {
        [only] => format!("`{0} => {0}` has no way out: every route of it leads back", spell.name(*only)),
        nodes => format!("the loop of {} has no way out: every route in it stays inside", spell.names(nodes)),
    };
    diagnostics
        .error(closing(spell, *first, *closing_node), message)
        .help("give a node of it an arm that leads out, for example `done: END`");
}

/// The token that closes a cycle: the first node, at the place where the last one leads back to it.
fn closing(spell: &Spell<'_>, first: NodeIx, last: NodeIx) -> Blame {
    let edges = &spell.graph().edges;
    let edge = edges.iter().position(|edge| edge.from == last && edge.to == first);
    edge.map_or_else(|| spell.node_blame(first), |edge| spell.target_blame(edge))
}

fn leads(spell: &Spell<'_>, from: NodeIx, to: NodeIx) -> bool {
    spell.graph().edges.iter().any(|edge| edge.from == from && edge.to == to)
}
