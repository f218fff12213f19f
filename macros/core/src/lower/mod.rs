//! Shapes become nodes, edges and arms.

mod builder;
mod ends;
mod flow;
mod labels;
mod names;
mod routes;
mod turns;
mod unknown;
mod value;

use graphweft_graph::{END, START};

use crate::ast::Program;
use crate::diagnostics::Diagnostics;
use crate::ir::{Flow, NodeKind, Workflow};
use ends::Output;
use flow::lower_flow;
use names::Names;

/// Makes the graph of a program, from everything in it that can be read.
pub(crate) fn lower(program: Program, diagnostics: &mut Diagnostics) -> Workflow {
    let Program { krate, item, signature, limits, given, mut lets, statements, incomplete } = program;
    let output = match &signature {
        Some(signature) if signature.output.is_none() => Output::Unit(signature.span),
        _ => Output::Value,
    };
    let mut names = Names::new(&mut lets, diagnostics);
    let mut flow = lower_flow(&statements, output, &mut names, diagnostics);
    names.unused(&lets, incomplete || has_holes(&flow), diagnostics);
    if incomplete {
        flow.holes.insert(START);
    }
    if signature.is_none() {
        ends::refuse_routed_start(&flow, diagnostics);
    }
    unknown::mark(&mut flow, &lets);
    if let Some(signature) = &signature {
        let ends = [(START, signature.knows_inputs), (END, signature.knows_output)];
        flow.unknown.extend(ends.into_iter().filter(|(_, is_known)| !is_known).map(|(node, _)| node));
    }
    Workflow { krate, item, signature, limits, given, lets, flow }
}

/// Whether something in a flow or its `[..]`s could not be read.
fn has_holes(flow: &Flow) -> bool {
    let inner = flow.nodes.iter().any(|node| matches!(&node.kind, NodeKind::Each(inner) if has_holes(inner)));
    inner || !flow.holes.is_empty()
}
