//! A graph as text for messages, as the user wrote it: names, ways in, routes.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use graphweft_graph::{END, Edge, EdgeIx, Graph, NodeIx, Route, START, Way};

use crate::diagnostics::Blame;
use crate::ir::{Flow, Label, MentionIx};

/// Spells the parts of a flow.
pub(super) struct Spell<'f> {
    pub(super) flow: &'f Flow,
}

impl<'f> Spell<'f> {
    pub(super) fn new(flow: &'f Flow) -> Self {
        Spell { flow }
    }

    pub(super) fn graph(&self) -> &'f Graph<NodeIx> {
        &self.flow.graph
    }

    pub(super) fn name(&self, node: NodeIx) -> &'f str {
        self.flow.nodes.get(node).map_or("", |node| &node.name)
    }

    pub(super) fn edge(&self, edge: EdgeIx) -> Edge {
        self.graph().edges.get(edge).copied().unwrap_or(Edge { from: START, to: END })
    }

    pub(super) fn source(&self, edge: EdgeIx) -> &'f str {
        self.name(self.edge(edge).from)
    }

    /// `a => b => a`, from its nodes.
    pub(super) fn path(&self, nodes: &[NodeIx]) -> String {
        nodes.iter().map(|node| self.name(*node)).collect::<Vec<_>>().join(" => ")
    }

    /// `` `a`, `b` and `c` ``
    pub(super) fn names(&self, nodes: &[NodeIx]) -> String {
        let quoted: Vec<String> = nodes.iter().map(|node| format!("`{}`", self.name(*node))).collect();
        listed(&quoted)
    }

    /// The way into a node by which an edge leads, as it is written before the `=>`.
    pub(super) fn way_of(&self, edge: EdgeIx) -> String {
        match self.find_way(edge) {
            Some(way) => self.way(way),
            None => self.source(edge).into(),
        }
    }

    pub(super) fn find_way(&self, edge: EdgeIx) -> Option<&'f Way> {
        let target = self.graph().nodes.get(self.edge(edge).to)?;
        target.ways.iter().find(|way| way.edges().any(|one| one == edge))
    }

    pub(super) fn way(&self, way: &Way) -> String {
        let place = |edges: &Vec<EdgeIx>| self.sources(edges).join(" | ");
        match way {
            Way::Plain(edge) => self.source(*edge).into(),
            Way::All(places) => format!("({})", places.iter().map(place).collect::<Vec<_>>().join(", ")),
            Way::Any(edges) => self.sources(edges).join(" | "),
        }
    }

    fn sources(&self, edges: &[EdgeIx]) -> Vec<&'f str> {
        edges.iter().map(|edge| self.source(*edge)).collect()
    }

    /// `` when `a` takes `ok` and `b` takes `low | medium` ``, in the order of the graph; `None` where no route
    /// decides.
    pub(super) fn route(&self, when: &Route) -> Option<String> {
        let mut turns: BTreeMap<NodeIx, BTreeSet<String>> = BTreeMap::new();
        for (node, choice) in when {
            if let Some(arm) = self.flow.nodes.get(*node).and_then(|node| node.arms.get(*choice)) {
                turns.entry(*node).or_default().insert(arm.text());
            }
        }
        if turns.is_empty() {
            return None;
        }
        let spelled: Vec<String> = turns
            .iter()
            .map(|(node, labels)| {
                let labels: Vec<String> = labels.iter().map(|label| format!("`{label}`")).collect();
                match *node {
                    START => format!("the input is {}", listed(&labels)),
                    node => format!("`{}` takes {}", self.name(node), listed(&labels)),
                }
            })
            .collect();
        Some(format!("when {}", listed(&spelled)))
    }

    /// The choices that lead from the head of a loop round to an edge back into it, by the fewest nodes.
    pub(super) fn way_round(&self, head: NodeIx, back: EdgeIx) -> Route {
        let mut came_by: BTreeMap<NodeIx, (NodeIx, usize)> = BTreeMap::new();
        let mut open = VecDeque::from([head]);
        let last = loop {
            let Some(node) = open.pop_front() else { return Route::new() };
            let choices = self.graph().nodes.get(node).map_or(&[][..], |node| &node.choices);
            if let Some(choice) = choices.iter().position(|choice| choice.edges.contains(&back)) {
                break (node, choice);
            }
            for (at, choice) in choices.iter().enumerate() {
                for next in choice.edges.iter().map(|edge| self.edge(*edge).to) {
                    if next != head && !came_by.contains_key(&next) {
                        came_by.insert(next, (node, at));
                        open.push_back(next);
                    }
                }
            }
        };
        let mut route = vec![last];
        while let Some(before) = route.last().and_then(|(node, _)| came_by.get(node)) {
            route.push(*before);
        }
        route.into_iter().collect()
    }

    /// The nodes that may run under a route, and the edges that they may take.
    pub(super) fn live_under(&self, when: &Route) -> (BTreeSet<NodeIx>, BTreeSet<EdgeIx>) {
        let (mut nodes, mut edges) = (BTreeSet::from([START]), BTreeSet::new());
        let mut open = vec![START];
        while let Some(node) = open.pop() {
            let Some(data) = self.graph().nodes.get(node) else { continue };
            let taken = when.iter().find(|(at, _)| *at == node).map(|(_, choice)| *choice);
            let choices = data.choices.iter().enumerate().filter(|(at, _)| taken.is_none_or(|taken| taken == *at));
            for edge in choices.flat_map(|(_, choice)| choice.edges.iter().copied()) {
                edges.insert(edge);
                let next = self.edge(edge).to;
                if nodes.insert(next) {
                    open.push(next);
                }
            }
        }
        (nodes, edges)
    }

    /// The ways into a node that may come under a route, those of the edges that surely do among them.
    pub(super) fn ways_under(&self, node: NodeIx, when: &Route, surely: &[EdgeIx]) -> Vec<&'f Way> {
        let (_, live) = self.live_under(when);
        let comes = |way: &&Way| way.edges().any(|edge| live.contains(&edge) || surely.contains(&edge));
        self.graph().nodes.get(node).into_iter().flat_map(|node| &node.ways).filter(comes).collect()
    }

    /// The target of an edge, where it is written.
    pub(super) fn target_blame(&self, edge: EdgeIx) -> Blame {
        let written = self.flow.edges.get(edge).and_then(|edge| self.flow.mentions.get(edge.to));
        written.map_or_else(|| proc_macro2::Span::call_site().into(), crate::ir::Mention::blame)
    }

    /// The source of an edge, where it is written.
    pub(super) fn source_blame(&self, edge: EdgeIx) -> Blame {
        let written = self.flow.edges.get(edge).and_then(|edge| self.flow.mentions.get(edge.from));
        written.map_or_else(|| proc_macro2::Span::call_site().into(), crate::ir::Mention::blame)
    }

    /// Where the sources of two edges are written.
    pub(super) fn sources_of(&self, first: EdgeIx, second: EdgeIx) -> Option<(MentionIx, MentionIx)> {
        Some((self.flow.edges.get(first)?.from, self.flow.edges.get(second)?.from))
    }

    /// Where the targets of two edges are written.
    pub(super) fn targets(&self, first: EdgeIx, second: EdgeIx) -> Option<(MentionIx, MentionIx)> {
        Some((self.flow.edges.get(first)?.to, self.flow.edges.get(second)?.to))
    }

    /// Where a node is written first.
    pub(super) fn node_blame(&self, node: NodeIx) -> Blame {
        let written = self.flow.mentions.iter().find(|mention| mention.node == node);
        written.map_or_else(|| proc_macro2::Span::call_site().into(), crate::ir::Mention::blame)
    }

    /// The label under which a node makes a choice.
    pub(super) fn label_blame(&self, node: NodeIx, choice: usize) -> Blame {
        let arm = self.flow.nodes.get(node).and_then(|node| node.arms.get(choice));
        let ends = arm.and_then(|arm| arm.labels.first().zip(arm.labels.last()));
        let span = |label: &Label| label.span();
        ends.map_or_else(|| self.node_blame(node), |(first, last)| Blame { first: span(first), last: span(last) })
    }
}

/// `a`, `a and b`, `a, b and c`
pub(super) fn listed<T: AsRef<str>>(texts: &[T]) -> String {
    match texts {
        [] => String::new(),
        [only] => only.as_ref().into(),
        [first @ .., last] => {
            let first: Vec<&str> = first.iter().map(AsRef::as_ref).collect();
            format!("{} and {}", first.join(", "), last.as_ref())
        }
    }
}
