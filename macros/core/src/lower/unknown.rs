//! Nodes whose input and output are unknown: the edges that lead there are not checked.

use graphweft_graph::{END, NodeIx, START};

use crate::ir::{Flow, Let, LetValue, NodeKind};

/// Marks the nodes of a flow, and of the `[..]`s in it, whose types cannot be known.
pub(super) fn mark(flow: &mut Flow, lets: &[Let]) {
    for node in 0..flow.nodes.len() {
        let is_known = match flow.nodes.get_mut(node).map(|node| &mut node.kind) {
            Some(NodeKind::Let(at)) => !matches!(lets.get(*at).map(|one| &one.value), Some(LetValue::Unknown)),
            Some(NodeKind::Each(inside)) => {
                mark(inside, lets);
                begins_and_ends(inside)
            }
            _ => true,
        };
        if !is_known {
            flow.unknown.insert(node);
        }
    }
}

/// Whether the first and the last node of a `[..]` are there, and known.
fn begins_and_ends(inside: &Flow) -> bool {
    let known = |node: NodeIx| !inside.unknown.contains(&node);
    let edges = &inside.graph.edges;
    edges.iter().any(|edge| edge.from == START && edge.to != END && known(edge.to))
        && edges.iter().any(|edge| edge.to == END && edge.from != START && known(edge.from))
}
