//! Proves the graph, and reports its problems.

mod bounds;
mod ends;
mod holes;
mod loops;
mod meetings;
mod paths;
mod spell;
mod texts;

use graphweft_graph::{Problem, analyse};
use proc_macro2::Span;

use crate::diagnostics::Diagnostics;
use crate::ir::{Flow, FlowNode, NodeKind, Workflow};
use ends::Inside;
use spell::Spell;

/// Proves a workflow's graph and those of its `[..]`s, and keeps the plans of those that are sound.
pub(crate) fn check(workflow: &mut Workflow, diagnostics: &mut Diagnostics) {
    let nowhere = match (&workflow.item, &workflow.signature) {
        (Some(item), _) => item.name.span(),
        (None, Some(signature)) => signature.span,
        (None, None) => Span::call_site(),
    };
    prove(workflow, nowhere, diagnostics);
    // A new reason for refusing a graph may lack a message. A graph is never refused without one.
    if !is_proven(&workflow.flow) && !diagnostics.has_errors() {
        diagnostics
            .error(nowhere, "internal error: the graph was rejected without a diagnostic")
            .help("please report it at https://github.com/graphweft/graphweft/issues");
    }
}

fn is_proven(flow: &Flow) -> bool {
    let inner = |node: &FlowNode| !matches!(&node.kind, NodeKind::Each(inner) if !is_proven(inner));
    flow.plan.is_some() && flow.nodes.iter().all(inner)
}

fn prove(workflow: &mut Workflow, nowhere: Span, diagnostics: &mut Diagnostics) {
    let begins = ends::begins(&Spell::new(&workflow.flow), nowhere, diagnostics);
    flow(&mut workflow.flow, Inside::Workflow, begins, diagnostics);
}

fn flow(flow: &mut Flow, inside: Inside, begins: bool, diagnostics: &mut Diagnostics) {
    for node in &mut flow.nodes {
        if let NodeKind::Each(each) = &mut node.kind {
            self::flow(each, Inside::Each, true, diagnostics);
        }
    }
    // Without a beginning every node is unreachable, so more errors would not help.
    if !begins {
        return;
    }
    bounds::have_a_way_on(flow, diagnostics);
    texts::have_a_default(flow, diagnostics);
    match analyse(&flow.graph) {
        Ok(plan) => {
            bounds::keep_a_loop_going(&Spell::new(flow), flow, &plan, diagnostics);
            flow.plan = flow.holes.is_empty().then_some(plan);
        }
        Err(problems) => tell(flow, inside, &holes::that_stand(flow, problems), diagnostics),
    }
    meetings::collecting(&Spell::new(flow), diagnostics);
}

fn tell(flow: &Flow, inside: Inside, problems: &[Problem], diagnostics: &mut Diagnostics) {
    let spell = Spell::new(flow);
    ends::tell(&spell, inside, problems, diagnostics);
    paths::tell(&spell, problems, diagnostics);
    loops::tell(&spell, problems, diagnostics);
    meetings::tell(&spell, problems, diagnostics);
}
