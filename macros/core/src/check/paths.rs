//! Nodes that nothing leads to, and edges that are written twice.

use std::collections::BTreeSet;

use graphweft_graph::{END, NodeIx, Problem, START};

use super::spell::Spell;
use crate::diagnostics::Diagnostics;
use crate::ir::MentionIx;
use crate::names;

pub(super) fn tell(spell: &Spell<'_>, problems: &[Problem], diagnostics: &mut Diagnostics) {
    let mut lost = BTreeSet::new();
    let twice = written_twice(spell, problems);
    let mut told = BTreeSet::new();
    for problem in problems {
        match problem {
            Problem::Unreachable { node } => {
                lost.insert(*node);
            }
            // Two edges from the two names of a doubled edge are only doubled by that one.
            Problem::DuplicateEdge { first, second }
                if spell.sources_of(*first, *second).is_some_and(|pair| twice.contains(&pair)) => {}
            Problem::DuplicateEdge { first, second } if told.insert(spell.targets(*first, *second)) => {
                let edge = spell.edge(*second);
                let (from, to) = (spell.name(edge.from), spell.name(edge.to));
                let (one, other) = (spell.way_of(*first), spell.way_of(*second));
                let message = if one == other {
                    format!("`{one} => {to}` is written twice")
                } else {
                    format!("`{from}` leads to `{to}` twice: in `{one} => {to}` and in `{other} => {to}`")
                };
                diagnostics.error(spell.target_blame(*second), message).help("leave one of them out");
            }
            _ => {}
        }
    }
    unreachable(spell, &lost, diagnostics);
}

/// The places where the targets of doubled edges are written.
fn written_twice(spell: &Spell<'_>, problems: &[Problem]) -> BTreeSet<(MentionIx, MentionIx)> {
    let pairs = problems.iter().filter_map(|problem| match problem {
        Problem::DuplicateEdge { first, second } => spell.targets(*first, *second),
        _ => None,
    });
    pairs.collect()
}

/// A node that is lost only because of another lost node is not reported: it is found again with that one.
fn unreachable(spell: &Spell<'_>, lost: &BTreeSet<NodeIx>, diagnostics: &mut Diagnostics) {
    let mut told_of = BTreeSet::new();
    let is_root = |node: &NodeIx| !spell.graph().edges.iter().any(|edge| edge.to == *node && edge.from != *node);
    let roots = lost.iter().filter(|node| is_root(node)).chain(lost.iter().filter(|node| !is_root(node)));
    for root in roots {
        if told_of.contains(root) {
            continue;
        }
        behind(spell, *root, &mut told_of);
        let name = spell.name(*root);
        let reached = (0..spell.flow.nodes.len()).filter(|node| ![START, END].contains(node) && !lost.contains(node));
        if *root == END {
            diagnostics
                .error(spell.node_blame(END), "END is never reached")
                .help("lead a node that START reaches to END");
            continue;
        }
        let error = diagnostics
            .error(spell.node_blame(*root), format!("`{name}` is never reached: no route from START leads to it"));
        match names::nearest(name, reached.map(|node| spell.name(node))) {
            Some(near) => error.help(format!("a node with a similar name is reached: `{near}`")),
            None => error.help(format!("lead to it: `.. => {name}`")),
        };
    }
}

fn behind(spell: &Spell<'_>, root: NodeIx, seen: &mut BTreeSet<NodeIx>) {
    let mut open = vec![root];
    while let Some(node) = open.pop() {
        if seen.insert(node) {
            open.extend(spell.graph().edges.iter().filter(|edge| edge.from == node).map(|edge| edge.to));
        }
    }
}
