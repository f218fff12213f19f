//! Reads workflows from text, and prints what became of them.
#![allow(
    dead_code,
    clippy::unwrap_used,
    clippy::panic,
    reason = "each test file uses a part of it, and a test may panic"
)]

use std::str::FromStr;

use graphweft_graph::{END, EdgeIx, START, Way};
use graphweft_macros_core::diagnostics::Diagnostics;
use graphweft_macros_core::ir::{Flow, MentionTokens, NodeKind, Workflow};
use graphweft_macros_core::workflow;
use proc_macro2::TokenStream;

/// Reads a workflow from text.
pub fn read(text: &str) -> (Option<Workflow>, Diagnostics) {
    workflow(TokenStream::from_str(text).unwrap())
}

/// The graph of a workflow in which nothing is wrong.
pub fn graph(text: &str) -> String {
    let (workflow, diagnostics) = read(text);
    let told = told(&diagnostics);
    assert!(told.is_empty(), "{text}\n{}", told.join("\n"));
    let flow = workflow.unwrap().flow;
    assert!(flow.plan.is_some(), "{text}: no plan");
    print(&flow)
}

/// Asserts that nothing is wrong with a workflow, and what its graph is.
#[track_caller]
pub fn means(text: &str, expected: &[&str]) {
    assert_eq!(graph(text).lines().collect::<Vec<_>>(), expected, "{text}");
}

/// The number of problems.
pub fn problems(text: &str) -> usize {
    read(text).1.iter().count()
}

/// Asserts what is told: `blamed tokens: message` for each problem, and its mends as `  help: ..`.
#[track_caller]
pub fn tells(text: &str, expected: &[&str]) {
    assert_eq!(told(&read(text).1), expected, "{text}");
}

/// What is told, as [`tells`] spells it.
pub fn told(diagnostics: &Diagnostics) -> Vec<String> {
    let mut lines = Vec::new();
    for one in diagnostics.iter() {
        let blame = one.blame();
        let joined = blame.first.join(blame.last).unwrap_or(blame.first);
        let blamed = joined.source_text().unwrap_or_else(|| "(everything)".into());
        lines.push(format!("{blamed}: {}", one.message()));
        lines.extend(one.helps().iter().map(|help| format!("  help: {help}")));
    }
    lines
}

/// One line for each node: its ways in, its name, and where its choices lead.
///
/// `(a, b) > d > e` is a node `d` that joins `a` and `b` and leads to `e`; `[ok: b, err: c]` are choices.
pub fn print(flow: &Flow) -> String {
    let name = |node: usize| flow.nodes[node].name.as_str();
    let from = |edge: EdgeIx| name(flow.graph.edges[edge].from);
    let all = |edges: &[EdgeIx], between: &str| edges.iter().map(|edge| from(*edge)).collect::<Vec<_>>().join(between);
    let mut lines = Vec::new();
    for (at, node) in flow.graph.nodes.iter().enumerate() {
        let mut line = String::new();
        if at != START {
            let ways: Vec<String> = node
                .ways
                .iter()
                .map(|way| match way {
                    Way::Plain(edge) => from(*edge).to_string(),
                    Way::All(places) => {
                        format!("({})", places.iter().map(|place| all(place, "/")).collect::<Vec<_>>().join(", "))
                    }
                    Way::Any(edges) => all(edges, "|"),
                })
                .collect();
            line = format!("{} > ", ways.join("; "));
        }
        line.push_str(name(at));
        if at != END {
            let choices: Vec<String> = node
                .choices
                .iter()
                .enumerate()
                .map(|(nth, choice)| {
                    let to: Vec<&str> = choice.edges.iter().map(|edge| name(flow.graph.edges[*edge].to)).collect();
                    match flow.nodes[at].arms.get(nth) {
                        Some(arm) => format!("{}: {}", arm.text(), to.join("+")),
                        None => to.join("+"),
                    }
                })
                .collect();
            line.push_str(&format!(" > {}", choices.join(", ")));
        }
        if let NodeKind::Each(inner) = &flow.nodes[at].kind {
            line.push_str(&format!(" {{ {} }}", print(inner).replace('\n', " ~ ")));
        }
        lines.push(line.trim_end().to_string());
    }
    lines.join("\n")
}

/// The names that are written in a flow and in its `[..]`s, in order.
pub fn mentioned(flow: &Flow) -> Vec<String> {
    let mut names = Vec::new();
    for mention in &flow.mentions {
        match &mention.tokens {
            MentionTokens::Boundary(name) => names.push(name.to_string()),
            MentionTokens::Path(path) => {
                names
                    .push(path.segments.iter().map(|segment| segment.ident.to_string()).collect::<Vec<_>>().join("::"));
            }
            MentionTokens::Each(_) | MentionTokens::Implied(_) => {}
        }
    }
    for node in &flow.nodes {
        if let NodeKind::Each(inner) = &node.kind {
            names.extend(mentioned(inner));
        }
    }
    names
}
