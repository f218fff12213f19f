//! A workflow as it was written: shapes within shapes, not yet a graph.

use proc_macro2::Span;
use syn::Path;

use crate::diagnostics::Blame;
use crate::ir::{Bound, Item, Label, Let, Signature};
use crate::options::RunLimits;

/// One invocation of `workflow!`.
pub struct Program {
    /// The path of the crate graphweft.
    pub krate: Path,
    /// Name, visibility, docs and attributes, in item position.
    pub item: Option<Item>,
    /// The types, where they were written.
    pub signature: Option<Signature>,
    /// The limits of its runs.
    pub limits: RunLimits,
    /// The keys of the state that are given at the start.
    pub given: Vec<Path>,
    /// The `let`s, from anywhere in the body.
    pub lets: Vec<Let>,
    /// The other statements.
    pub statements: Vec<Chain>,
    /// Whether a statement was so broken that a part of the graph is missing without any other mark.
    pub incomplete: bool,
}

/// `a => (b, c) => d`
pub struct Chain {
    /// What it begins with.
    pub first: Shape,
    /// What follows.
    pub links: Vec<Link>,
}

/// `=> b`
pub struct Link {
    /// The arrow.
    pub arrow: Blame,
    /// Where it leads.
    pub shape: Shape,
}

/// The part between two arrows.
pub enum Shape {
    /// A node, START or END.
    Node(Path),
    /// `(b, c)`: at least two places.
    All(All),
    /// `<ok: b, err: c>`
    OneOf(OneOf),
    /// `[b]`
    Each(Each),
    /// `a | b`: only where a statement begins.
    Any(Vec<Path>),
    /// A part that could not be read; the error is reported already.
    Missing,
}

/// `(b, c)`
pub struct All {
    /// The joined places, each with its tokens.
    pub places: Vec<Chain>,
    /// The parentheses.
    pub span: Span,
}

/// `<ok: b, err: c>`
pub struct OneOf {
    /// The arms.
    pub arms: Vec<ArmShape>,
    /// The brackets.
    pub blame: Blame,
    /// Whether an arm was lost.
    pub incomplete: bool,
}

/// `low | medium: auto`
pub struct ArmShape {
    /// The labels: at least one.
    pub labels: Vec<Label>,
    /// `(at most 5)`
    pub bound: Option<Bound>,
    /// The `:`.
    pub colon: Span,
    /// Where it leads.
    pub chain: Chain,
}

/// `[b => c]`
pub struct Each {
    /// The statements inside.
    pub statements: Vec<Chain>,
    /// The brackets.
    pub span: Span,
    /// Whether a statement inside was so broken that a part of the graph is missing without any other mark.
    pub incomplete: bool,
}

/// A path as people write it: `billing::charge`.
pub fn path_text(path: &Path) -> String {
    let mut text = String::from(if path.leading_colon.is_some() { "::" } else { "" });
    for (nth, segment) in path.segments.iter().enumerate() {
        if nth > 0 {
            text.push_str("::");
        }
        text.push_str(&segment.ident.to_string());
    }
    text
}

impl Chain {
    /// Whether this is a node alone.
    pub fn is_single(&self) -> bool {
        self.links.is_empty()
    }

    /// The chain as people write it.
    pub fn text(&self) -> String {
        let mut text = self.first.text();
        for link in &self.links {
            text.push_str(" => ");
            text.push_str(&link.shape.text());
        }
        text
    }
}

impl Shape {
    /// The shape as people write it.
    pub fn text(&self) -> String {
        match self {
            Shape::Node(path) => path_text(path),
            Shape::All(all) => format!("({})", listed(&all.places, ", ")),
            Shape::OneOf(map) => {
                let arms: Vec<String> = map.arms.iter().map(ArmShape::text).collect();
                format!("<{}>", arms.join(", "))
            }
            Shape::Each(each) => format!("[{}]", listed(&each.statements, "; ")),
            Shape::Any(members) => members.iter().map(path_text).collect::<Vec<_>>().join(" | "),
            Shape::Missing => String::from(".."),
        }
    }
}

impl ArmShape {
    fn text(&self) -> String {
        let labels: Vec<String> = self.labels.iter().map(Label::text).collect();
        let bound = self.bound.map(|bound| format!(" (at most {})", bound.at_most)).unwrap_or_default();
        format!("{}{bound}: {}", labels.join(" | "), self.chain.text())
    }
}

fn listed(chains: &[Chain], between: &str) -> String {
    chains.iter().map(Chain::text).collect::<Vec<_>>().join(between)
}
