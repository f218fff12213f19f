//! Route maps, and the edges from one shape into the next.

use graphweft_graph::{END, EdgeIx, NodeIx, Way};
use proc_macro2::Span;

use super::flow::{Lowering, Pass};
use super::value::{Feed, Last, Origin, Source, Value};
use crate::ast::OneOf;
use crate::diagnostics::Blame;
use crate::ir::{Arm, Label, Mention, MentionIx};

impl Lowering<'_> {
    /// `a => <ok: b, err: c>`
    pub(super) fn one_of(&mut self, map: &OneOf, feed: &Feed) -> Value {
        let router = self.router(feed, map.blame);
        if let (Some(router), true) = (router, map.incomplete) {
            self.builder.hole(router.node);
        }
        let foreign = router.and_then(|router| self.names_and_literals(router.node, map));
        let broken = map.incomplete || foreign.is_some();
        let mut value = Value { broken, last: Last::Routes, ..Value::broken(map.blame) };
        for arm in &map.arms {
            let is_foreign = |label: &Label| foreign.is_some_and(|foreign| foreign.is(label));
            let labels: Vec<Label> = arm.labels.iter().filter(|label| !is_foreign(label)).cloned().collect();
            let feed = match router.filter(|_| !labels.is_empty()) {
                Some(router) => {
                    self.check_labels(router.node, &labels);
                    let at = self.builder.add_arm(
                        router.node,
                        Arm { labels, bound: arm.bound, targets: Vec::new(), span: arm.colon, map: map.blame.first },
                    );
                    let origin = Origin { arm: Some(at), ..router };
                    let blame = arm.labels.first().map_or(arm.colon, Label::span);
                    Feed::From(Value::of(Source::One(origin), blame.into()), arm.colon.into())
                }
                None => Feed::Broken,
            };
            let worth = self.chain(&arm.chain, feed);
            value.broken |= worth.broken;
            for source in worth.sources {
                self.keep(&mut value.sources, source, router);
            }
        }
        value
    }

    /// Keeps the source of an arm, unless it is there already or leads back to the beginning of a loop.
    fn keep(&mut self, sources: &mut Vec<Source>, source: Source, router: Option<Origin>) {
        let Source::One(origin) = source else {
            sources.push(source);
            return;
        };
        if let Some(router) = router {
            let arm = (router.node, origin.node);
            match &mut self.pass {
                Pass::Sketch(arms) => {
                    arms.insert(arm);
                }
                Pass::Final(going_back) if going_back.contains(&arm) => return,
                Pass::Final(_) => {}
            }
        }
        let known =
            |known: &Source| matches!(known, Source::One(one) if one.node == origin.node && one.arm == origin.arm);
        if !sources.iter().any(known) {
            sources.push(source);
        }
    }

    /// The one node whose label a route map matches.
    fn router(&mut self, feed: &Feed, map: Blame) -> Option<Origin> {
        let wanted = "a route map goes by the label of one node";
        let feed = self.single_value(feed.clone(), map, wanted, "<..>");
        match &feed {
            Feed::Nothing => {
                self.diagnostics
                    .error(map, "a route map follows the node whose label it matches")
                    .help("`node => <ok: a, err: b>`");
                None
            }
            Feed::Broken => None,
            Feed::From(value, arrow) => match value.sources.as_slice() {
                [] => {
                    self.nothing_flows(value, *arrow);
                    None
                }
                [Source::One(origin)] if origin.arm.is_none() => Some(*origin),
                [Source::One(_)] => {
                    self.diagnostics
                        .error(map, "two labels in a row, and one node gives one label")
                        .help("put a node between that looks at what the first label carries: `ok: node => <..>`");
                    None
                }
                _ => {
                    let names = self.spell(value);
                    self.diagnostics
                        .error(map, format!("{wanted}, but {names} lead here"))
                        .help("put a node between that takes whichever comes: `.. => node => <..>`");
                    None
                }
            },
        }
    }

    /// Refuses a group or a `|` where one value is needed.
    pub(super) fn single_value(&mut self, feed: Feed, blame: Blame, wanted: &str, shape: &str) -> Feed {
        let Feed::From(value, _) = &feed else { return feed };
        let problem = value.sources.iter().find(|source| !matches!(source, Source::One(_)));
        match problem {
            None => return feed,
            Some(Source::Any(_)) => {
                let names = self.spell(value);
                self.diagnostics
                    .error(blame, format!("{wanted}, but {names} lead here one by one"))
                    .help(format!("put a collecting node between: `a | b => collect => {shape}`"));
            }
            Some(_) => {
                let names = self.spell(value);
                self.diagnostics.error(blame, format!("{wanted}, but the group {names} leads here")).help(format!(
                    "put a node between that joins them: `{} => join => {shape}`",
                    names.replace('`', "")
                ));
            }
        }
        self.missing_target(value);
        Feed::Broken
    }

    fn missing_target(&mut self, value: &Value) {
        value.nodes().into_iter().for_each(|node| self.builder.hole(node));
    }

    /// Makes the edges from a feed to a node.
    pub(super) fn lead(&mut self, feed: Feed, to: MentionIx) {
        let (value, arrow) = match feed {
            Feed::Nothing => return,
            Feed::Broken => return self.hole_at(to),
            Feed::From(value, arrow) => (value, arrow),
        };
        if value.broken {
            self.hole_at(to);
        } else if value.sources.is_empty() {
            self.nothing_flows(&value, arrow);
            self.hole_at(to);
        }
        for source in &value.sources {
            match source {
                Source::One(origin) if value.last == Last::Routes && self.is_mention_of(to, origin.node) => {
                    self.arm_to_itself(origin.node, to);
                }
                Source::One(origin) => self.builder.plain_edge(*origin, to, arrow),
                Source::Group(places) => self.join(places, to, arrow),
                Source::Any(origins) => self.collect(&value, origins, to, arrow),
            }
        }
    }

    fn is_mention_of(&self, mention: MentionIx, node: NodeIx) -> bool {
        self.builder.mentions().get(mention).is_some_and(|mention| mention.node == node)
    }

    /// `a => <x: b, y: d> => d`: the user means an arm that skips `b`, but this is `d => d`.
    fn arm_to_itself(&mut self, node: NodeIx, to: MentionIx) {
        let name = self.builder.name(node).to_string();
        let blame = self.builder.mentions().get(to).map(Mention::blame);
        self.diagnostics
            .error(
                blame.unwrap_or_else(|| Span::call_site().into()),
                format!("`{name}` would lead to itself: an arm before it ends at `{name}`, and this arrow leads on from there"),
            )
            .help(format!("lead the other arms there on their own: `<x: a => {name}, y: {name}>`"));
        self.builder.hole(node);
    }

    fn hole_at(&mut self, mention: MentionIx) {
        if let Some(mention) = self.builder.mentions().get(mention) {
            let node = mention.node;
            self.builder.hole(node);
        }
    }

    fn nothing_flows(&mut self, value: &Value, arrow: Blame) {
        if value.broken {
            return;
        }
        match value.last {
            Last::End => {
                self.diagnostics.error(arrow, "nothing leads on from END").help("END is the workflow's output")
            }
            _ => self
                .diagnostics
                .error(
                    arrow,
                    "nothing flows on here: every arm before it ends at END or goes back to the beginning of its loop",
                )
                .help("lead one arm to another node, or remove what follows the route map"),
        };
    }

    /// `(a, b) => d`
    fn join(&mut self, places: &[Value], to: MentionIx, arrow: Blame) {
        // Every place is checked, so that each error is reported.
        let unsound = places.iter().filter(|place| !self.sound_place(place)).count();
        if unsound > 0 {
            places.iter().for_each(|place| self.missing_target(place));
            return self.hole_at(to);
        }
        let mut ways: Vec<Vec<EdgeIx>> = Vec::new();
        for place in places {
            let origins = place.sources.iter().filter_map(|source| match source {
                Source::One(origin) => Some(*origin),
                _ => None,
            });
            ways.push(origins.map(|origin| self.builder.edge(origin, to, arrow)).collect());
        }
        if let Some(mention) = self.builder.mentions().get(to) {
            let node = mention.node;
            self.builder.way(node, Way::All(ways));
        }
    }

    /// Whether a place of a join has exactly one value; reports the error if not.
    fn sound_place(&mut self, place: &Value) -> bool {
        if place.broken {
            return false;
        }
        if place.sources.is_empty() {
            let message = match place.last {
                Last::End => "this branch ends at END, and there is nothing to join",
                _ => {
                    "this branch gives nothing to join: every arm ends at END or goes back to the beginning of its loop"
                }
            };
            self.diagnostics
                .error(place.blame, message)
                .help("leave it out of the group, and give it a statement of its own");
            return false;
        }
        let deeper = place.sources.iter().any(|source| !matches!(source, Source::One(_)));
        if deeper {
            self.diagnostics
                .error(place.blame, "a place of a group holds one value, and this one is a group itself")
                .help("put a node in it that joins the inner one: `((a, b) => join, c)`");
        }
        !deeper
    }

    /// `a | b => d`
    fn collect(&mut self, value: &Value, origins: &[Origin], to: MentionIx, arrow: Blame) {
        let Some(mention) = self.builder.mentions().get(to) else { return };
        let node = mention.node;
        if value.broken {
            return;
        }
        if node == END {
            let names = self.spell(value).replace('`', "");
            self.diagnostics
                .error(arrow, "END takes one output, and these come one by one")
                .help(format!("put a collecting node between: `{names} => collect => END`"));
            return self.missing_target(value);
        }
        let edges = origins.iter().map(|origin| self.builder.edge(*origin, to, arrow)).collect();
        self.builder.way(node, Way::Any(edges));
    }

    /// The sources of a value, for a message: `(b, c)` for a group, `b` and `c` for two ways.
    fn spell(&self, value: &Value) -> String {
        let name = |origin: &Origin| self.builder.name(origin.node).to_string();
        let place =
            |place: &Value| place.nodes().iter().map(|node| self.builder.name(*node)).collect::<Vec<_>>().join(" | ");
        let ways: Vec<String> = value
            .sources
            .iter()
            .map(|source| match source {
                Source::One(origin) => format!("`{}`", name(origin)),
                Source::Group(places) => format!("`({})`", places.iter().map(place).collect::<Vec<_>>().join(", ")),
                Source::Any(origins) => format!("`{}`", origins.iter().map(name).collect::<Vec<_>>().join(" | ")),
            })
            .collect();
        ways.join(" and ")
    }
}
