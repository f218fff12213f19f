//! A flow's statements, shape by shape.

use std::collections::BTreeSet;

use graphweft_graph::{END, NodeIx, START};
use proc_macro2::Span;
use syn::Path;

use super::builder::Builder;
use super::ends::Output;
use super::names::{FlowIx, Names};
use super::turns::ArmEnds;
use super::value::{Feed, Last, Origin, Source, Value};
use super::{ends, turns};
use crate::ast::{All, Chain, Each, Shape};
use crate::diagnostics::{Blame, Diagnostics};
use crate::ir::{Flow, MentionIx, MentionTokens, NodeKind};

/// Lowers the statements of one flow, and of the `[..]`s in it.
///
/// It is done twice. The first time is a sketch: with all edges at hand, [`turns::that_go_back`] finds the arms that
/// begin a loop's next turn, and those are no way into the shape behind the route map.
pub(super) fn lower_flow(
    statements: &[Chain],
    output: Output,
    names: &mut Names,
    diagnostics: &mut Diagnostics,
) -> Flow {
    let mut untold = Diagnostics::default();
    let sketch = Lowering {
        builder: Builder::new(matches!(output, Output::Unit(_))),
        flow: 0,
        names: &mut names.clone(),
        diagnostics: &mut untold,
        output,
        pass: Pass::Sketch(BTreeSet::new()),
    };
    let sketch = sketch.run(statements);
    let going_back = match &sketch.pass {
        Pass::Sketch(arms) => turns::that_go_back(&sketch.builder, arms),
        Pass::Final(_) => BTreeSet::new(),
    };
    let flow = names.new_flow();
    let mut lowering = Lowering {
        builder: Builder::new(matches!(output, Output::Unit(_))),
        flow,
        names,
        diagnostics,
        output,
        pass: Pass::Final(going_back),
    }
    .run(statements);
    ends::lead_to_end(&mut lowering.builder, output);
    lowering.builder.finish()
}

pub(super) enum Pass {
    /// Collects the arms whose target leads on.
    Sketch(BTreeSet<ArmEnds>),
    /// Knows which of them go back.
    Final(BTreeSet<ArmEnds>),
}

pub(super) struct Lowering<'c> {
    pub(super) builder: Builder,
    flow: FlowIx,
    names: &'c mut Names,
    pub(super) diagnostics: &'c mut Diagnostics,
    pub(super) output: Output,
    pub(super) pass: Pass,
}

impl Lowering<'_> {
    fn run(mut self, statements: &[Chain]) -> Self {
        for (nth, statement) in statements.iter().enumerate() {
            let feed = match self.output {
                Output::Item(brackets) if nth == 0 => self.item(&statement.first, brackets),
                _ => Feed::Nothing,
            };
            let is_entry = matches!(feed, Feed::From(..));
            let value = self.chain(statement, feed);
            if statement.is_single() && !is_entry {
                self.alone(&statement.first, &value);
            }
        }
        self
    }

    /// The feed of the first node of a `[..]`.
    fn item(&mut self, first: &Shape, brackets: Span) -> Feed {
        let one_way_in = match first {
            Shape::Node(path) => !path.is_ident("START") && !path.is_ident("END"),
            Shape::Each(_) => true,
            _ => false,
        };
        if one_way_in {
            let mention = self.builder.mention(START, MentionTokens::Implied(brackets));
            let origin = Origin { node: START, mention, arm: None };
            return Feed::From(Value::of(Source::One(origin), brackets.into()), brackets.into());
        }
        let is_node = matches!(first, Shape::Node(_) | Shape::Missing);
        if !is_node {
            let text = first.text();
            self.diagnostics
                .error(brackets, format!("`[..]` has one way in, and this one begins with `{text}`"))
                .help(format!("put a node in front: `[node => {text} ..]`"));
        }
        self.builder.hole(START);
        Feed::Broken
    }

    pub(super) fn chain(&mut self, chain: &Chain, feed: Feed) -> Value {
        let mut value = self.shape(&chain.first, feed);
        for link in &chain.links {
            value = self.shape(&link.shape, Feed::From(value, link.arrow));
        }
        value
    }

    fn shape(&mut self, shape: &Shape, feed: Feed) -> Value {
        match shape {
            Shape::Node(path) if path.is_ident("START") => self.start(path, feed),
            Shape::Node(path) if path.is_ident("END") => self.end(path, feed),
            Shape::Node(path) => self.node(path, feed),
            Shape::All(all) => self.all(all, &feed),
            Shape::OneOf(map) => self.one_of(map, &feed),
            Shape::Each(each) => self.each(each, shape, feed),
            Shape::Any(members) => self.any(members),
            Shape::Missing => self.missing(&feed),
        }
    }

    fn node(&mut self, path: &Path, feed: Feed) -> Value {
        let meaning = self.names.meaning(path);
        self.names.take(&meaning, path, self.flow, self.diagnostics);
        let kind = || meaning.of_let.map_or_else(|| NodeKind::Path(path.clone()), NodeKind::Let);
        let node = self.builder.node(&meaning.key, &meaning.name, kind);
        let mention = self.builder.mention(node, MentionTokens::Path(path.clone()));
        self.lead(feed, mention);
        Value::of(Source::One(Origin { node, mention, arm: None }), path.into())
    }

    fn start(&mut self, path: &Path, feed: Feed) -> Value {
        let Some(mention) = self.boundary(path, START) else { return Value::broken(path.into()) };
        if let Feed::From(..) = feed {
            self.diagnostics
                .error(path, "an edge leads into START")
                .help("START is the workflow's input: for a loop, lead back to the first node");
            self.missing(&feed);
        }
        Value::of(Source::One(Origin { node: START, mention, arm: None }), path.into())
    }

    fn end(&mut self, path: &Path, feed: Feed) -> Value {
        let Some(mention) = self.boundary(path, END) else {
            self.missing(&feed);
            return Value::broken(path.into());
        };
        if let (Output::Unit(_), Feed::From(value, _)) = (self.output, &feed) {
            // A group that cannot be made is an error even if its value is not used.
            if value.sources.is_empty() {
                self.lead(feed, mention);
            }
            return Value::end(path.into());
        }
        self.lead(feed, mention);
        Value::end(path.into())
    }

    /// A mention of START or END, which `[..]` has none of.
    fn boundary(&mut self, path: &Path, node: NodeIx) -> Option<MentionIx> {
        if let Output::Item(_) = self.output {
            let help = match node {
                START => "each item enters at the first node of `[..]`",
                _ => "what the last node gives is what `[..]` gives for the item: leave it out",
            };
            self.diagnostics.error(path, format!("`[..]` holds no {}", self.builder.name(node))).help(help);
            return None;
        }
        let name = path.get_ident()?.clone();
        Some(self.builder.mention(node, MentionTokens::Boundary(name)))
    }

    fn all(&mut self, all: &All, feed: &Feed) -> Value {
        let places: Vec<Value> = all.places.iter().map(|place| self.chain(place, feed.clone())).collect();
        if let [_] = places.as_slice() {
            return places.into_iter().next().unwrap_or_else(|| Value::broken(all.span.into()));
        }
        let broken = places.iter().any(|place| place.broken);
        Value { broken, ..Value::of(Source::Group(places), all.span.into()) }
    }

    fn each(&mut self, each: &Each, shape: &Shape, feed: Feed) -> Value {
        let blame = Blame::from(each.span);
        let feed = self.single_value(feed, blame, "`[..]` runs for every item of a `Vec`", "[..]");
        let flow = match self.pass {
            Pass::Sketch(_) => None,
            Pass::Final(_) => {
                let mut flow = lower_flow(&each.statements, Output::Item(each.span), self.names, self.diagnostics);
                if each.incomplete {
                    flow.holes.insert(START);
                }
                Some(flow)
            }
        };
        // A sketch only needs a placeholder for the node.
        let kind = flow.map_or(NodeKind::Start, |flow| NodeKind::Each(Box::new(flow)));
        let node = self.builder.add_node(shape.text(), kind);
        let mention = self.builder.mention(node, MentionTokens::Each(each.span));
        if let Feed::Nothing = feed {
            self.diagnostics
                .error(blame, "nothing leads into this `[..]`")
                .help("it runs for every item of what the node before it gives: `node => [..]`");
            self.builder.hole(node);
        }
        self.lead(feed, mention);
        Value::of(Source::One(Origin { node, mention, arm: None }), blame)
    }

    fn any(&mut self, members: &[Path]) -> Value {
        let mut origins = Vec::new();
        let mut broken = false;
        for path in members {
            if path.is_ident("END") {
                self.end(path, Feed::Broken);
                self.diagnostics.error(path, "nothing leads on from END");
                broken = true;
                continue;
            }
            let member =
                if path.is_ident("START") { self.start(path, Feed::Nothing) } else { self.node(path, Feed::Nothing) };
            broken |= member.broken;
            origins.extend(member.sources.iter().filter_map(|source| match source {
                Source::One(origin) => Some(*origin),
                _ => None,
            }));
        }
        let ends = members.first().map(Blame::from).zip(members.last().map(Blame::from));
        let blame = ends
            .map_or_else(|| Span::call_site().into(), |(first, last)| Blame { first: first.first, last: last.last });
        Value { broken, ..Value::of(Source::Any(origins), blame) }
    }

    /// A feed into a part that could not be read.
    fn missing(&mut self, feed: &Feed) -> Value {
        let mut blame = Blame::from(Span::call_site());
        if let Feed::From(value, _) = feed {
            value.nodes().into_iter().for_each(|node| self.builder.hole(node));
            blame = value.blame;
        }
        Value::broken(blame)
    }

    /// A statement without an arrow. A group of chains has a meaning even so; a single node in it has none.
    fn alone(&mut self, shape: &Shape, value: &Value) {
        if value.broken || matches!(shape, Shape::Each(_) | Shape::OneOf(_)) {
            return;
        }
        if let (Shape::All(all), [Source::Group(values)]) = (shape, value.sources.as_slice()) {
            let lonely = all.places.iter().zip(values).filter(|(place, _)| place.is_single());
            let lonely: Vec<(&Chain, &Value)> = lonely.collect();
            if lonely.len() < all.places.len() {
                lonely.into_iter().for_each(|(place, value)| self.alone(&place.first, value));
                return;
            }
        }
        let text = shape.text();
        let help = match value.last {
            Last::End => String::from("`node => END`"),
            _ if matches!(shape, Shape::Any(_)) => format!("`{text} => collect`"),
            _ => format!("`{text} => next`, or `{text} => END`"),
        };
        self.diagnostics.error(value.blame, format!("`{text}` leads nowhere")).help(help);
        value.nodes().into_iter().for_each(|node| self.builder.hole(node));
    }
}
