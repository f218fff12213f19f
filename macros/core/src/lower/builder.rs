//! The tables of a flow while it is being written.

use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet};

use graphweft_graph::{Choice, END, Edge, EdgeIx, Graph, NodeData, NodeIx, START, Way};
use proc_macro2::Span;

use super::value::Origin;
use crate::diagnostics::Blame;
use crate::ir::{Arm, Flow, FlowEdge, FlowNode, Label, Mention, MentionIx, MentionTokens, NodeKind};

/// A node as far as it is known.
struct Draft {
    name: String,
    kind: NodeKind,
    arms: Vec<Arm>,
    /// Every label that is routed, by its key, as it was written first.
    routed: BTreeMap<String, String>,
    /// A `_` with an arm of its own.
    default: Option<Span>,
    /// By target, the edges of arms.
    by_target: BTreeMap<NodeIx, Vec<EdgeIx>>,
    /// The edges that every choice takes.
    plain: Vec<EdgeIx>,
    ways: Vec<Way>,
}

impl Draft {
    fn new(name: String, kind: NodeKind) -> Self {
        Draft {
            name,
            kind,
            arms: Vec::new(),
            routed: BTreeMap::new(),
            default: None,
            by_target: BTreeMap::new(),
            plain: Vec::new(),
            ways: Vec::new(),
        }
    }
}

/// Collects nodes, edges and ways in; [`finish`](Builder::finish) makes the choices.
pub(super) struct Builder {
    drafts: Vec<Draft>,
    by_key: BTreeMap<String, NodeIx>,
    ends: Vec<Edge>,
    edges: Vec<FlowEdge>,
    mentions: Vec<Mention>,
    holes: BTreeSet<NodeIx>,
    unit_output: bool,
}

impl Builder {
    pub(super) fn new(unit_output: bool) -> Self {
        Builder {
            drafts: vec![Draft::new("START".into(), NodeKind::Start), Draft::new("END".into(), NodeKind::End)],
            by_key: BTreeMap::new(),
            ends: Vec::new(),
            edges: Vec::new(),
            mentions: Vec::new(),
            holes: BTreeSet::new(),
            unit_output,
        }
    }

    /// The node of that key, which is made if there is none.
    pub(super) fn node(&mut self, key: &str, name: &str, kind: impl FnOnce() -> NodeKind) -> NodeIx {
        if let Some(known) = self.by_key.get(key) {
            return *known;
        }
        let node = self.add_node(name.into(), kind());
        self.by_key.insert(key.into(), node);
        node
    }

    pub(super) fn add_node(&mut self, name: String, kind: NodeKind) -> NodeIx {
        self.drafts.push(Draft::new(name, kind));
        self.drafts.len() - 1
    }

    pub(super) fn mention(&mut self, node: NodeIx, tokens: MentionTokens) -> MentionIx {
        self.mentions.push(Mention { node, tokens, beside: OnceCell::new() });
        self.mentions.len() - 1
    }

    pub(super) fn mentions(&self) -> &[Mention] {
        &self.mentions
    }

    pub(super) fn name(&self, node: NodeIx) -> &str {
        self.drafts.get(node).map_or("", |draft| &draft.name)
    }

    /// Notes that a label of a node is routed; returns the earlier spelling if it was routed already.
    pub(super) fn route(&mut self, node: NodeIx, label: &Label) -> Option<String> {
        let routed = &mut self.drafts.get_mut(node)?.routed;
        let key = label.key();
        let earlier = routed.get(&key).cloned();
        if earlier.is_none() {
            routed.insert(key, label.text());
        }
        earlier
    }

    /// The labels of a node in the maps before.
    pub(super) fn labels_before(&self, node: NodeIx) -> impl Iterator<Item = &Label> {
        self.drafts.get(node).into_iter().flat_map(|draft| &draft.arms).flat_map(|arm| &arm.labels)
    }

    pub(super) fn default_of(&self, node: NodeIx) -> Option<Span> {
        self.drafts.get(node)?.default
    }

    pub(super) fn set_default(&mut self, node: NodeIx, span: Span) {
        if let Some(draft) = self.drafts.get_mut(node) {
            draft.default = draft.default.or(Some(span));
        }
    }

    /// Adds an arm to a node's routes, and returns its place.
    pub(super) fn add_arm(&mut self, node: NodeIx, arm: Arm) -> usize {
        let Some(draft) = self.drafts.get_mut(node) else { return 0 };
        draft.arms.push(arm);
        draft.arms.len() - 1
    }

    /// Whether an arm of the node is bounded, so that `spent` is no label of its output.
    pub(super) fn is_bounded(&self, node: NodeIx) -> bool {
        self.drafts.get(node).is_some_and(|draft| draft.arms.iter().any(|arm| arm.bound.is_some()))
    }

    pub(super) fn hole(&mut self, node: NodeIx) {
        self.holes.insert(node);
    }

    pub(super) fn edges(&self) -> &[Edge] {
        &self.ends
    }

    pub(super) fn node_count(&self) -> usize {
        self.drafts.len()
    }

    /// Adds an edge without a way in.
    pub(super) fn edge(&mut self, from: Origin, to: MentionIx, arrow: Blame) -> EdgeIx {
        let target = self.target(to);
        self.ends.push(Edge { from: from.node, to: target });
        self.edges.push(FlowEdge { from: from.mention, to, arrow: arrow.first });
        let edge = self.ends.len() - 1;
        if let Some(draft) = self.drafts.get_mut(from.node) {
            match from.arm {
                Some(arm) => draft.arms.get_mut(arm).into_iter().for_each(|arm| arm.targets.push((edge, to))),
                None => draft.plain.push(edge),
            }
        }
        edge
    }

    /// Adds an edge with a plain way in. Arms of one node that lead to the same target share one edge.
    pub(super) fn plain_edge(&mut self, from: Origin, to: MentionIx, arrow: Blame) {
        let target = self.target(to);
        if let Some(arm) = from.arm
            && let Some(draft) = self.drafts.get_mut(from.node)
            && let Some(arm) = draft.arms.get_mut(arm)
        {
            let own: Vec<EdgeIx> = arm.targets.iter().map(|(edge, _)| *edge).collect();
            let others = draft.by_target.get(&target).into_iter().flatten();
            if let Some(shared) = others.copied().find(|edge| !own.contains(edge)) {
                arm.targets.push((shared, to));
                return;
            }
        }
        let edge = self.edge(from, to, arrow);
        if let (Some(_), Some(draft)) = (from.arm, self.drafts.get_mut(from.node)) {
            draft.by_target.entry(target).or_default().push(edge);
        }
        self.way(target, Way::Plain(edge));
    }

    pub(super) fn way(&mut self, node: NodeIx, way: Way) {
        if let Some(draft) = self.drafts.get_mut(node) {
            draft.ways.push(way);
        }
    }

    fn target(&self, mention: MentionIx) -> NodeIx {
        self.mentions.get(mention).map_or(END, |mention| mention.node)
    }

    /// Nodes at which everything stops, as far as that can be known.
    pub(super) fn terminals(&self) -> Vec<NodeIx> {
        let stops = |(node, draft): &(NodeIx, &Draft)| {
            ![START, END].contains(node)
                && !self.holes.contains(node)
                && draft.arms.is_empty()
                && draft.plain.is_empty()
        };
        self.drafts.iter().enumerate().filter(stops).map(|(node, _)| node).collect()
    }

    pub(super) fn finish(self) -> Flow {
        let mut graph = Graph { nodes: Vec::new(), edges: self.ends };
        let mut nodes = Vec::new();
        for (id, draft) in self.drafts.into_iter().enumerate() {
            let choice = |arm: &[(EdgeIx, MentionIx)]| {
                let all: BTreeSet<EdgeIx> =
                    arm.iter().map(|(edge, _)| *edge).chain(draft.plain.iter().copied()).collect();
                Choice { edges: all.into_iter().collect() }
            };
            let choices = match draft.arms.as_slice() {
                [] => vec![choice(&[])],
                arms => arms.iter().map(|arm| choice(&arm.targets)).collect(),
            };
            graph.nodes.push(NodeData { id, choices, ways: draft.ways });
            nodes.push(FlowNode { name: draft.name, kind: draft.kind, arms: draft.arms });
        }
        Flow {
            graph,
            plan: None,
            nodes,
            edges: self.edges,
            mentions: self.mentions,
            unit_output: self.unit_output,
            holes: self.holes,
            unknown: BTreeSet::new(),
        }
    }
}
