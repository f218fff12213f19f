//! A workflow after parsing and lowering: every shape has become nodes, edges and arms. Every token of the user's to
//! which an error or an editor may point is kept with its meaning.

use graphweft_graph::{EdgeIx, Graph, NodeIx, Plan};
use std::cell::OnceCell;
use std::collections::BTreeSet;

use proc_macro2::{Ident, Span, TokenStream};
use syn::{Attribute, Expr, Path, Type, Visibility};

use crate::diagnostics::Blame;
use crate::names;
use crate::options::{NodeOptions, RunLimits};

/// The place of a [`Mention`] in [`Flow::mentions`].
pub type MentionIx = usize;

/// The place of a [`Let`] in [`Workflow::lets`].
pub type LetIx = usize;

/// One invocation of `workflow!`.
pub struct Workflow {
    /// The path of the crate graphweft as the expansion should write it.
    pub krate: Path,
    /// Name, visibility, docs and attributes; `None` in expression position.
    pub item: Option<Item>,
    /// `(Order) -> String`; `None` if it was left out, which is only possible in expression position.
    pub signature: Option<Signature>,
    /// The limits of its runs.
    pub limits: RunLimits,
    /// The keys of the state that are given at the start.
    pub given: Vec<Path>,
    /// The `let`s, in the order in which they were written.
    pub lets: Vec<Let>,
    /// The graph itself.
    pub flow: Flow,
}

/// The part of a workflow in item position before its signature.
pub struct Item {
    /// Doc comments and other attributes.
    pub attributes: Vec<Attribute>,
    /// `pub` and its kin.
    pub visibility: Visibility,
    /// The name by which it is called and used as a node.
    pub name: Ident,
}

/// The input and output types of a workflow.
pub struct Signature {
    /// One type for each input; none is `()`, several are a tuple.
    pub inputs: Vec<Type>,
    /// The type behind `->`; `None` is `()`.
    pub output: Option<Type>,
    /// Whether the inputs could be read and are valid there.
    pub knows_inputs: bool,
    /// The same of the output.
    pub knows_output: bool,
    /// The parentheses of the inputs.
    pub span: Span,
}

impl Signature {
    /// One that could not be read.
    pub fn unknown(span: Span) -> Self {
        let mut signature =
            Signature { inputs: Vec::new(), output: None, knows_inputs: false, knows_output: true, span };
        signature.loses_output();
        signature
    }

    /// Its output could not be read, or is not valid there.
    pub fn loses_output(&mut self) {
        self.knows_output = false;
        // For the graph that is not `()`, which START alone could give.
        self.output = Some(syn::parse_quote!(()));
    }
}

/// `let name = ..;`
pub struct Let {
    /// The name that the node has in this workflow.
    pub name: Ident,
    /// Its value.
    pub value: LetValue,
}

/// The part behind the `=` of a `let`.
#[allow(clippy::large_enum_variant, reason = "a workflow has few of them")]
pub enum LetValue {
    /// `fetch(timeout = "5s")`: a node with options of its own.
    Configured {
        /// The node.
        path: Path,
        /// The options that replace the node's own.
        options: NodeOptions,
    },
    /// `BatchProcessor { size: 10 }`, or any expression if the type is written.
    Value {
        /// The type of the node.
        ty: Type,
        /// How it is made.
        value: Expr,
    },
    /// A part that could not be read. The name is known all the same, so that its uses are no errors.
    Unknown,
}

/// A graph with its tokens: a workflow's, or that of the inside of `[..]`.
pub struct Flow {
    /// The shape. The ids are the nodes' own indices.
    pub graph: Graph<NodeIx>,
    /// The result of the analysis; `None` if the graph was refused or never analysed.
    pub plan: Option<Plan>,
    /// One for each node of `graph`: START, END, and the nodes in the order in which they were first written.
    pub nodes: Vec<FlowNode>,
    /// One for each edge of `graph`.
    pub edges: Vec<FlowEdge>,
    /// Every place at which a node was written.
    pub mentions: Vec<Mention>,
    /// Whether this is a workflow without `->`. It returns `()` and is over when nothing moves any more: START leads to
    /// END by an implied edge whose value is not used, so that END is always reached once, and a written `=> END` makes
    /// no edge (an arm that leads to END alone has no targets).
    pub unit_output: bool,
    /// Nodes of which not all edges are known, because a part there could not be read. Empty in a sound flow.
    pub holes: BTreeSet<NodeIx>,
    /// Nodes whose input and output are unknown, because their declaration could not be read: START and END of a broken
    /// signature, the nodes of a broken `let`, a `[..]` without a beginning or an end. Empty in a sound flow.
    pub unknown: BTreeSet<NodeIx>,
}

/// A node of a [`Flow`].
pub struct FlowNode {
    /// The name of the node in messages and in the graph: its `let` name or the last segment of its path, and for
    /// `[search => summarise]` that text.
    pub name: String,
    /// The kind of node.
    pub kind: NodeKind,
    /// The arms of its route maps, one for each choice in the graph; empty for a node that is not routed.
    pub arms: Vec<Arm>,
}

/// The kind of a node.
pub enum NodeKind {
    /// The workflow's input.
    Start,
    /// The workflow's output.
    End,
    /// A `#[node]`, a nested workflow, or a type that implements `Node`, by its path.
    Path(Path),
    /// One that a `let` names.
    Let(LetIx),
    /// `[..]`: a flow of its own, run for each item.
    Each(Box<Flow>),
}

/// One arm of a route map.
pub struct Arm {
    /// `low | medium`: at least one.
    pub labels: Vec<Label>,
    /// `(at most 5)`: how often it may be taken before `spent` is.
    pub bound: Option<Bound>,
    /// The targets of the arm, each with the place where it was written. Empty if it leads to END alone in a workflow
    /// without output.
    pub targets: Vec<(EdgeIx, MentionIx)>,
    /// The `:` behind the labels, which is the span of this arm's glue.
    pub span: Span,
    /// The `<` of the arm's route map, to which errors about the map as a whole point.
    pub map: Span,
}

/// `(at most 5)`, behind the labels of an arm that leads back to the beginning of a loop.
#[derive(Clone, Copy)]
pub struct Bound {
    /// How often this arm may be taken; at least 1.
    pub at_most: u32,
    /// The parentheses.
    pub span: Span,
}

/// A label as it was written.
#[derive(Clone)]
pub enum Label {
    /// `ok`, `Redo`: a variant.
    Name(Ident),
    /// `true`, `42`, `0..=9`, `"yes"`: a literal or a range, which is a pattern already.
    Literal {
        /// The pattern.
        pattern: TokenStream,
        /// How messages and the graph's picture spell it.
        text: String,
        /// Its span.
        span: Span,
    },
    /// `_`
    Default(Span),
}

/// An edge with its tokens.
pub struct FlowEdge {
    /// Where its source was written.
    pub from: MentionIx,
    /// Where its target was written (for an edge in several arms, the first of them).
    pub to: MentionIx,
    /// The `=>` or the `:` that made it, which is the span of its glue.
    pub arrow: Span,
}

/// A node's name as it was written at one place.
pub struct Mention {
    /// The node.
    pub node: NodeIx,
    /// The user's own tokens.
    pub tokens: MentionTokens,
    /// The empty places before and behind them, once they were asked for.
    pub beside: OnceCell<[Span; 2]>,
}

/// The tokens of a [`Mention`].
pub enum MentionTokens {
    /// `START` or `END`.
    Boundary(Ident),
    /// `charge`, `billing::charge`, or the name of a `let`.
    Path(Path),
    /// `[..]`: the brackets.
    Each(Span),
    /// END that was not written, at the span of the terminal node that leads there; or START, for a `[..]` at its
    /// brackets and for a workflow without output at its signature.
    Implied(Span),
}

impl Label {
    /// How messages and the graph's picture spell it.
    pub fn text(&self) -> String {
        match self {
            Label::Name(name) => name.to_string(),
            Label::Literal { text, .. } => text.clone(),
            Label::Default(_) => "_".into(),
        }
    }

    /// Its span.
    pub fn span(&self) -> Span {
        match self {
            Label::Name(name) => name.span(),
            Label::Literal { span, .. } | Label::Default(span) => *span,
        }
    }

    /// Whether it is called `spent`.
    pub fn is_spent(&self) -> bool {
        matches!(self, Label::Name(_)) && self.key() == "spent"
    }

    /// The key of a label, which is equal for two spellings of the same label: a variant's name in snake_case.
    pub fn key(&self) -> String {
        match self {
            Label::Name(name) => names::snake_case(&name.to_string()),
            label => label.text(),
        }
    }
}

impl FlowNode {
    /// Whether its labels are texts, and none takes the others.
    pub fn leaves_texts_out(&self) -> bool {
        let is_text = |label: &Label| matches!(label, Label::Literal { text, .. } if text.starts_with('"'));
        let mut labels = self.labels().map(|(_, label)| label).peekable();
        labels.peek().is_some()
            && labels.all(|label| is_text(label) || label.key() == "err")
            && self.labels().any(|(_, label)| is_text(label))
    }

    /// The arm that is taken in place of a bounded one: that of the label `spent`, which is a label like any other if
    /// no arm is bounded.
    pub fn spent(&self) -> Option<usize> {
        let is_bounded = self.arms.iter().any(|arm| arm.bound.is_some());
        let is_spent = |arm: &Arm| arm.labels.iter().any(Label::is_spent);
        self.arms.iter().position(is_spent).filter(|_| is_bounded)
    }

    /// Every label of the node's output, with the place of its arm.
    pub fn labels(&self) -> impl Iterator<Item = (usize, &Label)> {
        let spent = self.spent();
        let arms = self.arms.iter().enumerate();
        arms.flat_map(|(at, arm)| arm.labels.iter().map(move |label| (at, label)))
            .filter(move |(at, label)| Some(*at) != spent || !label.is_spent())
    }
}

impl Arm {
    /// The labels as they were written: `low | medium`.
    pub fn text(&self) -> String {
        self.labels.iter().map(Label::text).collect::<Vec<_>>().join(" | ")
    }
}

impl Mention {
    /// The user's tokens, for an error to point at.
    pub fn blame(&self) -> Blame {
        match &self.tokens {
            MentionTokens::Boundary(name) => Blame::from(name),
            MentionTokens::Path(path) => Blame::from(path),
            MentionTokens::Each(span) | MentionTokens::Implied(span) => Blame::from(*span),
        }
    }
}
