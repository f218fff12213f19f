//! The static data of a graph, laid out so that a token costs a few array accesses.

use std::sync::{Arc, OnceLock};

use graphweft_graph::{Arrival, END, EdgeIx, Graph, LoopIx, NodeIx, Plan, START, Way};

use serde::{Deserialize, Serialize};

use super::fold_writes::Totals;
use crate::options::NodeOptions;

/// Every graph that a run can enter: the workflow's own first, then those inside its nodes, each once.
pub(crate) struct Program {
    pub(crate) layouts: Vec<Arc<Layout>>,
    /// The keys of their nodes whose sums have to be values of a type.
    pub(crate) totals: Totals,
}

impl Program {
    /// The place of the graph inside a node of a graph.
    pub(crate) fn inside(&self, layout: &Layout, node: NodeIx) -> Option<usize> {
        match layout.nodes.get(node)?.kind {
            NodeKind::Scope(_, inside) => Some(inside),
            NodeKind::Leaf => None,
        }
    }

    /// How many edges of START of the graph inside a node go live under a choice.
    pub(crate) fn edges_inside(&self, layout: &Layout, node: NodeIx, choice: usize) -> usize {
        self.inside(layout, node).map_or(0, |inside| self.layouts[inside].edges_of(START, choice))
    }
}

/// One graph.
#[derive(Debug)]
pub(crate) struct Layout {
    /// Its place in the program.
    pub(crate) index: usize,
    /// The name of the workflow.
    pub(crate) name: String,
    /// The hash of the graph with all that it enters, if this is the outermost one and attempts are executed elsewhere.
    pub(crate) hash: OnceLock<u64>,
    pub(crate) nodes: Vec<NodeLayout>,
    pub(super) edges: Vec<EdgeLayout>,
    /// First the part outside loops, then each loop: loop `l` has frame kind `l + 1`.
    pub(super) frames: Vec<FrameLayout>,
    /// Whether any node collects, so that graphs without one pay nothing for it.
    pub(super) collects: bool,
    /// How many of its nodes may be under way at once.
    pub(super) max_parallel: Option<u32>,
    /// Its only node, if it has nothing but one node without a graph inside between START and END.
    pub(super) only: Option<NodeIx>,
}

/// What the core needs to know about a node besides the graph.
pub(crate) struct NodeSpec {
    pub(crate) name: String,
    pub(crate) kind: NodeKind,
    pub(crate) options: NodeOptions,
    /// Whether its input is wanted when its last attempt has ended in a fault.
    pub(crate) keeps_input: bool,
}

/// How often a graph inside a node runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ScopeKind {
    /// A nested workflow: once.
    Nested,
    /// `[..]`: for each item, at once and in order.
    Each,
}

/// How a node is executed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NodeKind {
    /// By the driver.
    Leaf,
    /// By entering a graph: its place in [`Program::layouts`].
    Scope(ScopeKind, usize),
}

#[derive(Debug)]
pub(crate) struct NodeLayout {
    pub(crate) name: String,
    pub(super) kind: NodeKind,
    pub(super) options: NodeOptions,
    /// The kind of frame that it runs in, and its slot there.
    pub(super) frame: usize,
    pub(super) slot: usize,
    pub(super) choices: Vec<ChoiceLayout>,
    pub(super) out: Vec<EdgeIx>,
    /// Whether it limits how many items of `[..]` are in it at once.
    pub(super) has_places: bool,
    /// Whether an attempt at it is one call, and nothing besides.
    pub(super) is_simple: bool,
    /// Whether its input is wanted when its last attempt has ended in a fault.
    pub(super) keeps_input: bool,
    /// For a collecting node, its slot among those of its frame, and the nodes that only feed it.
    pub(super) collector: Option<CollectorLayout>,
}

#[derive(Debug)]
pub(super) struct CollectorLayout {
    pub(super) slot: usize,
    /// By node: whether this collector, in this turn, is the only node to which it can still lead.
    pub(super) only_feeds: Vec<bool>,
}

/// The edges of a node under one of its choices.
#[derive(Debug)]
pub(super) struct ChoiceLayout {
    pub(super) live: Vec<EdgeIx>,
    pub(super) dead: Vec<EdgeIx>,
    /// The step of the fast path, if it is one.
    pub(super) short: Option<ShortStep>,
}

/// A choice that leads to one node, and has no other effect before that node is done.
#[derive(Clone, Copy, Debug)]
pub(super) struct ShortStep {
    pub(super) to: NodeIx,
    /// The slots of both nodes in their frame.
    pub(super) slot: usize,
    pub(super) to_slot: usize,
    /// Whether it leads on to the next turn, and is the only way there.
    pub(super) to_next_turn: bool,
}

/// The frame in which the token of an edge is counted, and its effect there.
#[derive(Debug)]
pub(super) struct EdgeLayout {
    pub(super) to: NodeIx,
    /// The depth of the frame in which it arrives, after leaving the loops that it leaves.
    pub(super) home: usize,
    pub(super) role: Role,
    pub(super) reach: Reach,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// To a node of the frame, by slot.
    Node(usize),
    /// Into a loop that is a vertex of the frame, by slot.
    Enter(usize),
    /// To a head of the frame's own loop: to its next turn.
    Back,
}

/// The way in by which an edge reaches its node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reach {
    Plain,
    /// A group of the frame, and a place of it.
    Group(usize, usize),
    Collect,
}

/// A kind of frame: the part outside loops, or the part of one loop that is in no loop inside it.
#[derive(Debug, Default)]
pub(super) struct FrameLayout {
    pub(super) parent: Option<usize>,
    pub(super) depth: usize,
    /// As a vertex of its parent: the slot among the loops there.
    pub(super) slot: usize,
    pub(super) heads: Vec<NodeIx>,
    /// The edges of each node's slot that end in this frame.
    pub(super) node_edges: Vec<u32>,
    pub(super) nodes: Vec<NodeIx>,
    /// The loops that are vertices here, and how many edges enter each.
    pub(super) loops: Vec<LoopIx>,
    pub(super) loop_edges: Vec<u32>,
    pub(super) groups: Vec<GroupLayout>,
    pub(super) collectors: usize,
    pub(super) back_edges: u32,
    /// The edges that leave this loop, from any depth inside it.
    pub(super) leaving: Vec<EdgeIx>,
    /// Nodes and loops that have to be settled before the frame is.
    pub(super) vertices: u32,
}

#[derive(Debug)]
pub(super) struct GroupLayout {
    pub(super) node: NodeIx,
    pub(super) way: usize,
    pub(super) edges: u32,
    pub(super) places: usize,
    /// Whether it hands over one value, its places never meeting in one run.
    pub(super) delivers_one: bool,
}

impl Layout {
    /// How many edges of a node go live under a choice.
    pub(crate) fn edges_of(&self, node: NodeIx, choice: usize) -> usize {
        self.nodes.get(node).and_then(|node| node.choices.get(choice)).map_or(0, |choice| choice.live.len())
    }

    /// Whether a node in these turns comes behind another in those: a way along edges leads there, from turn to turn of
    /// the loops around both.
    pub(crate) fn is_behind(&self, (node, turns): (NodeIx, &[u64]), (first, since): (NodeIx, &[u64])) -> bool {
        let shared = self.shared_loops(first, node);
        let differs = turns.iter().zip(since).take(shared).position(|(turn, since)| turn != since);
        let Some(outer) = differs else { return self.leads(first, shared, |edge| edge.to == node) };
        // Every edge that leads back in this loop leads to a later turn of it.
        let of = self.loop_around(node, outer + 1);
        let leads_back = |edge: &EdgeLayout| {
            edge.role == Role::Back && edge.home == outer + 1 && self.loop_around(edge.to, outer + 1) == of
        };
        turns[outer] > since[outer] && self.leads(first, outer, leads_back)
    }

    /// How many loops are around both nodes.
    fn shared_loops(&self, one: NodeIx, other: NodeIx) -> usize {
        let depth = self.frames[self.nodes[one].frame].depth.min(self.frames[self.nodes[other].frame].depth);
        (1..=depth).take_while(|depth| self.loop_around(one, *depth) == self.loop_around(other, *depth)).count()
    }

    /// The frame kind of the loop at a depth around a node.
    fn loop_around(&self, node: NodeIx, depth: usize) -> usize {
        let mut frame = self.nodes[node].frame;
        while let FrameLayout { depth: deeper, parent: Some(parent), .. } = &self.frames[frame]
            && *deeper > depth
        {
            frame = *parent;
        }
        frame
    }

    /// Whether a way leads along such an edge, within one turn of each of so many loops, the outermost first.
    fn leads(&self, from: NodeIx, loops: usize, is_there: impl Fn(&EdgeLayout) -> bool) -> bool {
        let mut seen = vec![false; self.nodes.len()];
        let mut left = vec![from];
        while let Some(node) = left.pop() {
            for edge in self.nodes[node].out.iter().map(|edge| &self.edges[*edge]) {
                if edge.role == Role::Back && edge.home <= loops {
                    continue;
                }
                if is_there(edge) {
                    return true;
                }
                if !std::mem::replace(&mut seen[edge.to], true) {
                    left.push(edge.to);
                }
            }
        }
        false
    }

    pub(crate) fn is_scope(&self, node: NodeIx) -> bool {
        self.nodes.get(node).is_some_and(|node| node.kind != NodeKind::Leaf)
    }

    /// Lays out a proven graph. `index` is its place in the program; `specs` describes each node except START and END.
    pub(crate) fn new<Id>(
        index: usize,
        name: impl Into<String>,
        graph: &Graph<Id>,
        plan: &Plan,
        specs: Vec<NodeSpec>,
    ) -> Self {
        let mut frames = frame_kinds(plan);
        let mut nodes = Vec::with_capacity(graph.nodes.len());
        let ends = ["START", "END"].map(|name| NodeSpec {
            name: name.into(),
            kind: NodeKind::Leaf,
            options: NodeOptions::default(),
            keeps_input: false,
        });
        for (at, spec) in ends.into_iter().chain(specs).enumerate().take(graph.nodes.len()) {
            let frame = plan.node_loop[at].map_or(0, |around| around + 1);
            let slot = frames[frame].nodes.len();
            frames[frame].nodes.push(at);
            frames[frame].node_edges.push(0);
            let collector = graph.nodes[at].ways.iter().any(|way| matches!(way, Way::Any(_))).then(|| {
                frames[frame].collectors += 1;
                CollectorLayout { slot: frames[frame].collectors - 1, only_feeds: only_feeds(graph, plan, at) }
            });
            let out: Vec<EdgeIx> = (0..graph.edges.len()).filter(|edge| graph.edges[*edge].from == at).collect();
            let choices = graph.nodes[at].choices.iter().map(|choice| choice_of(&choice.edges, &out)).collect();
            let NodeSpec { name, kind, options, keeps_input } = spec;
            let is_simple = kind == NodeKind::Leaf
                && at != END
                && collector.is_none()
                && !keeps_input
                && options.retry.max_attempts <= 1
                && options.timeout.is_none()
                && options.max_parallel.is_none();
            // On `[..]` itself the option limits the items inside it, not itself.
            let is_each = matches!(kind, NodeKind::Scope(ScopeKind::Each, _));
            let has_places = options.max_parallel.is_some() && !is_each;
            nodes.push(NodeLayout {
                name,
                kind,
                options,
                frame,
                slot,
                choices,
                out,
                has_places,
                is_simple,
                keeps_input,
                collector,
            });
        }
        let edges = lay_edges(graph, plan, &nodes, &mut frames);
        for (at, node) in nodes.iter().enumerate() {
            let frame = &mut frames[node.frame];
            if at != START && (frame.node_edges[node.slot] > 0 || frame.heads.contains(&at)) {
                frame.vertices += 1;
            }
        }
        let collects = nodes.iter().any(|node| node.collector.is_some());
        let mut layout = Layout {
            index,
            name: name.into(),
            hash: OnceLock::new(),
            nodes,
            edges,
            frames,
            collects,
            max_parallel: None,
            only: None,
        };
        layout.find_short_steps();
        layout.only = layout.only_node();
        layout
    }

    /// With a limit of how many of its nodes may be under way at once.
    pub(crate) fn limited_to(self, max_parallel: Option<u32>) -> Self {
        Layout { max_parallel, ..self }
    }

    fn only_node(&self) -> Option<NodeIx> {
        let [start, _, only] = &self.nodes[..] else { return None };
        let [into] = start.out[..] else { return None };
        let is_plain = |edge: &EdgeIx| self.edges[*edge].reach == Reach::Plain;
        let leads_on = self.edges[into].to == END + 1 && only.out.iter().all(|edge| self.edges[*edge].to == END);
        let is_alone = self.frames.len() == 1 && !self.collects && only.kind == NodeKind::Leaf;
        let all_plain = is_plain(&into) && only.out.iter().all(is_plain);
        (leads_on && is_alone && all_plain && !only.has_places).then_some(END + 1)
    }

    fn find_short_steps(&mut self) {
        for node in 0..self.nodes.len() {
            for choice in 0..self.nodes[node].choices.len() {
                self.nodes[node].choices[choice].short = self.short_step(node, choice);
            }
        }
    }

    fn short_step(&self, node: NodeIx, choice: usize) -> Option<ShortStep> {
        let from = &self.nodes[node];
        let choice = &from.choices[choice];
        let [edge] = choice.live[..] else { return None };
        let edge = &self.edges[edge];
        let (to, frame) = (&self.nodes[edge.to], &self.frames[from.frame]);
        // The edges that it does not take lead out of a loop, and are only noted until it ends.
        let are_noted = choice.dead.iter().all(|edge| self.edges[*edge].home < frame.depth);
        let is_alone =
            !self.collects && from.options.retry.max_attempts <= 1 && !from.keeps_input && edge.reach == Reach::Plain;
        let to_next_turn = match edge.role {
            Role::Node(_) => false,
            Role::Back if frame.back_edges == 1 && frame.heads.len() == 1 && frame.groups.is_empty() => true,
            Role::Back | Role::Enter(_) => return None,
        };
        let stays = edge.home == frame.depth && to.frame == from.frame;
        let is_short = is_alone && are_noted && stays && to.is_simple;
        is_short.then_some(ShortStep { to: edge.to, slot: from.slot, to_slot: to.slot, to_next_turn })
    }
}

fn frame_kinds(plan: &Plan) -> Vec<FrameLayout> {
    let mut frames: Vec<FrameLayout> = vec![FrameLayout::default()];
    for (at, around) in plan.loops.iter().enumerate() {
        let parent = around.parent.map_or(0, |outer| outer + 1);
        let (depth, slot) = (frames[parent].depth + 1, frames[parent].loops.len());
        frames[parent].loops.push(at);
        frames[parent].loop_edges.push(0);
        frames[parent].vertices += 1;
        let heads = around.heads.clone();
        frames.push(FrameLayout { parent: Some(parent), depth, slot, heads, ..FrameLayout::default() });
    }
    frames
}

fn choice_of(live: &[EdgeIx], out: &[EdgeIx]) -> ChoiceLayout {
    let dead = out.iter().copied().filter(|edge| !live.contains(edge)).collect();
    ChoiceLayout { live: live.to_vec(), dead, short: None }
}

fn lay_edges<Id>(graph: &Graph<Id>, plan: &Plan, nodes: &[NodeLayout], frames: &mut [FrameLayout]) -> Vec<EdgeLayout> {
    let mut edges: Vec<EdgeLayout> = Vec::with_capacity(graph.edges.len());
    for (at, edge) in graph.edges.iter().enumerate() {
        let (source, target) = (nodes[edge.from].frame, nodes[edge.to].frame);
        let (home, role) = if let Some(around) = plan.back[at] {
            frames[around + 1].back_edges += 1;
            (around + 1, Role::Back)
        } else if is_within(frames, source, target) {
            let slot = nodes[edge.to].slot;
            frames[target].node_edges[slot] += 1;
            (target, Role::Node(slot))
        } else {
            let parent = frames[target].parent;
            debug_assert!(parent.is_some(), "an edge from outside leads into a loop");
            let (parent, slot) = (parent.unwrap_or(0), frames[target].slot);
            frames[parent].loop_edges[slot] += 1;
            (parent, Role::Enter(slot))
        };
        let mut leaves = source;
        while leaves != home {
            frames[leaves].leaving.push(at);
            let Some(parent) = frames[leaves].parent else { break };
            leaves = parent;
        }
        edges.push(EdgeLayout { to: edge.to, home: frames[home].depth, role, reach: Reach::Plain });
        let reach = reach_of(graph, plan, at, home, frames);
        edges[at].reach = reach;
    }
    edges
}

/// By which way in an edge arrives; the group's own entry in its frame is made by the first of its edges.
fn reach_of<Id>(graph: &Graph<Id>, plan: &Plan, edge: EdgeIx, home: usize, frames: &mut [FrameLayout]) -> Reach {
    let to = graph.edges[edge].to;
    for (way_at, way) in graph.nodes[to].ways.iter().enumerate() {
        match way {
            Way::Plain(only) if *only == edge => return Reach::Plain,
            Way::Any(all) if all.contains(&edge) => return Reach::Collect,
            Way::All(places) => {
                let Some(place) = places.iter().position(|place| place.contains(&edge)) else { continue };
                let first = places.iter().flatten().copied().min();
                if first == Some(edge) {
                    let delivers_one = matches!(plan.arrivals[to].get(way_at), Some(Arrival::One));
                    let edges = places.iter().map(Vec::len).sum::<usize>() as u32;
                    let group = GroupLayout { node: to, way: way_at, edges, places: places.len(), delivers_one };
                    frames[home].groups.push(group);
                }
                let known = frames[home].groups.iter().position(|group| group.node == to && group.way == way_at);
                debug_assert!(known.is_some(), "the first edge of a group comes first");
                return Reach::Group(known.unwrap_or(0), place);
            }
            Way::Plain(_) | Way::Any(_) => {}
        }
    }
    Reach::Plain
}

fn is_within(frames: &[FrameLayout], inner: usize, outer: usize) -> bool {
    std::iter::successors(Some(inner), |at| frames[*at].parent).any(|at| at == outer)
}

/// The nodes whose output nothing needs once `collector` has its own: greatest fixpoint of "has a way on, and each
/// leads to the collector in this same turn or to such a node". A terminal node is none: it runs for its effect.
fn only_feeds<Id>(graph: &Graph<Id>, plan: &Plan, collector: NodeIx) -> Vec<bool> {
    let around = plan.node_loop[collector];
    let inside = |node: NodeIx| around.is_none() || plan.loops_around(node).any(|at| Some(at) == around);
    let outer: Vec<LoopIx> = plan.loops_around(collector).collect();
    let mut feeds: Vec<bool> = (0..graph.nodes.len())
        .map(|node| node != collector && node > 1 && inside(node) && graph.edges.iter().any(|edge| edge.from == node))
        .collect();
    loop {
        let mut changed = false;
        for (at, edge) in graph.edges.iter().enumerate() {
            let next_turn = plan.back[at].is_some_and(|back| outer.contains(&back));
            if feeds[edge.from] && (next_turn || !(edge.to == collector || feeds[edge.to])) {
                feeds[edge.from] = false;
                changed = true;
            }
        }
        if !changed {
            return feeds;
        }
    }
}
