//! Bounded loops: an arm with `(at most 5)` leads back in a loop, and the arm `spent` is taken after that.

use graphweft_graph::{NodeIx, Plan};

use super::spell::Spell;
use crate::diagnostics::Diagnostics;
use crate::ir::{Arm, Bound, Flow, FlowNode};

/// Refuses bounds without `spent`. This is checked for a graph that is refused, too.
pub(super) fn have_a_way_on(flow: &Flow, diagnostics: &mut Diagnostics) {
    for (node, data) in flow.nodes.iter().enumerate() {
        let bounded = data.arms.iter().find_map(|arm| arm.bound.map(|bound| (arm, bound)));
        let Some((arm, bound)) = bounded else { continue };
        let spent = data.spent().and_then(|spent| data.arms.get(spent));
        match spent {
            // It may be in a part that could not be read.
            None if flow.holes.contains(&node) => {}
            None => no_spent(data, arm, bound, diagnostics),
            Some(spent) => {
                if let Some(bound) = spent.bound {
                    diagnostics
                        .error(bound.span, "`spent` is taken whenever the bound of another arm is, and has none itself")
                        .help("lead it out of the loop: `spent: END`");
                }
            }
        }
    }
}

fn no_spent(node: &FlowNode, arm: &Arm, bound: Bound, diagnostics: &mut Diagnostics) {
    let (name, label, most) = (&node.name, arm.text(), bound.at_most);
    diagnostics
        .error(
            bound.span,
            format!("`{name}` takes `{label}` at most {most} times, and nothing says what follows after that"),
        )
        .help(format!(
            "give `{name}` an arm for that, which takes what `{label}` carries: `spent: node`, or `spent: END`"
        ));
}

/// Refuses bounds of arms that do not lead back in a loop.
pub(super) fn keep_a_loop_going(spell: &Spell<'_>, flow: &Flow, plan: &Plan, diagnostics: &mut Diagnostics) {
    for (node, data) in flow.nodes.iter().enumerate() {
        for (at, arm) in data.arms.iter().enumerate() {
            if let Some(bound) = arm.bound {
                keeps_a_loop_going(spell, plan, (node, at), (arm, bound), diagnostics);
            }
        }
    }
}

fn keeps_a_loop_going(
    spell: &Spell<'_>,
    plan: &Plan,
    (node, at): (NodeIx, usize),
    (arm, bound): (&Arm, Bound),
    diagnostics: &mut Diagnostics,
) {
    let (name, label) = (spell.name(node), arm.text());
    let Some(turned) = plan.turned(spell.graph(), node, at) else {
        diagnostics
            .error(bound.span, format!("`{label}` of `{name}` does not lead back, so there is nothing to count"))
            .help(
                "`(at most ..)` says how often a loop goes round: remove it here, or put it at the arm that leads back",
            );
        return;
    };
    let heads = &plan.loops[turned].heads;
    if heads.len() > 1 {
        diagnostics
            .error(
                bound.span,
                format!(
                    "`{label}` of `{name}` cannot be bounded: its loop is entered at {}, and each step in it is a turn",
                    spell.names(heads)
                ),
            )
            .help("lead all ways into the loop to one node, at which each turn begins");
    }
}
