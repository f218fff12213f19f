//! START and END that were not written, and the checks that only they need.

use graphweft_graph::{END, START};
use proc_macro2::Span;

use super::builder::Builder;
use super::value::Origin;
use crate::diagnostics::Diagnostics;
use crate::ir::{Flow, MentionTokens, NodeKind};

/// The output of a flow.
#[derive(Clone, Copy)]
pub(super) enum Output {
    /// A value, at END.
    Value,
    /// Nothing: a signature without `->`, with its span.
    Unit(Span),
    /// A value for each item: the inside of these brackets.
    Item(Span),
}

/// If no END is written, the terminal nodes lead to it.
pub(super) fn lead_to_end(builder: &mut Builder, output: Output) {
    if let Output::Unit(signature) = output {
        let start = builder.mention(START, MentionTokens::Implied(signature));
        let end = builder.mention(END, MentionTokens::Implied(signature));
        builder.plain_edge(Origin { node: START, mention: start, arm: None }, end, signature.into());
        return;
    }
    if builder.mentions().iter().any(|mention| mention.node == END) {
        return;
    }
    for node in builder.terminals() {
        let written = builder.mentions().iter().enumerate().rev().find(|(_, mention)| mention.node == node);
        let Some((from, mention)) = written else { continue };
        let span = mention.blame().last;
        let end = builder.mention(END, MentionTokens::Implied(span));
        builder.plain_edge(Origin { node, mention: from, arm: None }, end, span.into());
    }
}

/// A routed START needs the type that it is routed by.
pub(super) fn refuse_routed_start(flow: &Flow, diagnostics: &mut Diagnostics) {
    let is_routed = flow.nodes.iter().any(|node| matches!(node.kind, NodeKind::Start) && !node.arms.is_empty());
    let mut mentions = flow.mentions.iter().filter(|mention| mention.node == START);
    if let (true, Some(start)) = (is_routed, mentions.next()) {
        diagnostics
            .error(start.blame(), "START is routed, and the type of the input is not written")
            .help("give the workflow a signature: `(Order) -> Receipt { START => <..>; }`");
    }
}
