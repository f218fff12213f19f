//! Plays a graph: tokens on edges, until nothing moves.
//!
//! The turns of a loop are played one after the other. They may overlap in a run, but tokens meet only under equal tags
//! and no token goes from one turn to an earlier one, so that what happens in a turn is the same. Then an edge holds one
//! token at a time, and all that is left of a tag is how many counters it has. A turn begins as the one before it did,
//! so that there are finitely many states; every one that can be reached is visited.
//!
//! A node is looked at when there is a token on each edge that can bring one in this turn.

use std::collections::{BTreeSet, HashSet};

use graphweft_graph::{END, Edge, EdgeIx, Graph, NodeIx, START, Way};

use super::tags::Tags;

pub(crate) enum Outcome {
    /// For each node and way in, the places that were seen to hold a value when it fired.
    Sound(Vec<Vec<BTreeSet<u64>>>),
    Broken(String),
    /// Edges that were live in a turn of a loop that they leave, and that another turn followed.
    Sides(BTreeSet<(usize, EdgeIx)>),
}

/// Sets of edges, nodes and loops, one bit each.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
struct State {
    live: u64,
    dead: u64,
    /// Nodes that have run or were skipped in the turns that are on.
    done: u64,
    begun: u64,
    ended: u64,
    outputs: u8,
}

struct Player<'a, Id> {
    graph: &'a Graph<Id>,
    tags: &'a Tags,
    /// For each edge the outermost loop that it leaves.
    leaves: Vec<Option<usize>>,
    into: Vec<Vec<EdgeIx>>,
    out: Vec<Vec<EdgeIx>>,
    ran: u64,
    sides: BTreeSet<(usize, EdgeIx)>,
    /// The first thing that went wrong. The play goes on: it may only be that some branch is not yet known to stand on
    /// the side of its loop.
    broken: Option<String>,
    fired: Vec<Vec<BTreeSet<u64>>>,
}

pub(crate) fn play<Id>(graph: &Graph<Id>, tags: &Tags) -> Outcome {
    assert!(graph.edges.len() <= 64 && graph.nodes.len() <= 64, "the judge counts on 64 bits");
    let leaves =
        |(edge, ends): (EdgeIx, &Edge)| tags.chain[ends.from].get(tags.kept(edge, ends.from, ends.to)).copied();
    let mut player = Player {
        graph,
        tags,
        leaves: graph.edges.iter().enumerate().map(leaves).collect(),
        into: (0..graph.nodes.len()).map(|node| edges(graph, |ends| ends.to == node)).collect(),
        out: (0..graph.nodes.len()).map(|node| edges(graph, |ends| ends.from == node)).collect(),
        ran: 0,
        sides: BTreeSet::new(),
        broken: None,
        fired: graph.nodes.iter().map(|node| vec![BTreeSet::new(); node.ways.len()]).collect(),
    };
    let mut open = player.run(State::default(), START);
    let mut seen: HashSet<State> = open.iter().copied().collect();
    while let Some(state) = open.pop() {
        open.extend(player.step(state).into_iter().filter(|state| seen.insert(*state)));
    }
    if !player.sides.is_empty() {
        return Outcome::Sides(player.sides);
    }
    for edge in 0..graph.edges.len() {
        if let Err(why) = tags.check_edge(graph, edge) {
            return Outcome::Broken(why);
        }
    }
    if let Some(why) = player.broken {
        return Outcome::Broken(why);
    }
    match (0..graph.nodes.len()).find(|node| player.ran & 1 << node == 0) {
        Some(node) => Outcome::Broken(format!("node {node} never runs")),
        None => Outcome::Sound(player.fired),
    }
}

fn edges<Id>(graph: &Graph<Id>, which: impl Fn(&Edge) -> bool) -> Vec<EdgeIx> {
    (0..graph.edges.len()).filter(|edge| which(&graph.edges[*edge])).collect()
}

impl<Id> Player<'_, Id> {
    /// Does the next thing, and gives each state in which that can end; none where the run is over.
    fn step(&mut self, state: State) -> Vec<State> {
        let nodes = 0..self.graph.nodes.len();
        if let Some(node) = nodes.clone().find(|node| self.is_ready(state, *node)) {
            let into = self.into[node].clone();
            return match self.arrives(state, node, &into) {
                true => self.run(state, node),
                false => vec![self.skip(state, node)],
            };
        }
        let loops = 0..self.tags.loops.len();
        if let Some(id) =
            loops.clone().find(|id| state.begun & 1 << id == 0 && self.is_settled(state, &self.entry(*id)))
        {
            return self.begin_turn(state, id);
        }
        let going = loops.filter(|id| state.begun & !state.ended & 1 << id != 0);
        if let Some(id) = going.filter(|id| self.is_settled(state, &self.back(*id))).max_by_key(|id| self.depth(*id)) {
            return self.begin_turn(state, id);
        }
        self.nothing_waits(state, nodes);
        if state.outputs != 1 {
            self.note(format!("{} outputs", state.outputs));
        }
        vec![]
    }

    fn stands_in(&self, node: NodeIx, id: usize) -> bool {
        self.tags.chain[node].contains(&id)
    }

    fn depth(&self, id: usize) -> usize {
        let chains = self.tags.chain.iter().filter_map(|chain| chain.iter().position(|at| *at == id));
        chains.max().unwrap_or(0)
    }

    fn is_head(&self, node: NodeIx) -> bool {
        self.tags.chain[node].last().is_some_and(|id| self.tags.loops[*id].heads.contains(&node))
    }

    fn entry(&self, id: usize) -> Vec<EdgeIx> {
        let heads = &self.tags.loops[id].heads;
        let mut edges = edges(self.graph, |ends| heads.contains(&ends.to));
        edges.retain(|edge| self.tags.back[*edge] != Some(id));
        edges
    }

    fn back(&self, id: usize) -> Vec<EdgeIx> {
        (0..self.graph.edges.len()).filter(|edge| self.tags.back[*edge] == Some(id)).collect()
    }

    fn is_settled(&self, state: State, edges: &[EdgeIx]) -> bool {
        edges.iter().all(|edge| (state.live | state.dead) & 1 << edge != 0)
    }

    fn is_ready(&self, state: State, node: NodeIx) -> bool {
        let waits = node != START && state.done & 1 << node == 0 && !self.is_head(node);
        waits && self.is_settled(state, &self.into[node])
    }

    /// Whether a node is fired by what is on some of the edges into it.
    fn arrives(&mut self, state: State, node: NodeIx, into: &[EdgeIx]) -> bool {
        let mut times = 0;
        for (at, way) in self.graph.nodes[node].ways.iter().enumerate() {
            let live = |edge: &EdgeIx| into.contains(edge) && state.live & 1 << edge != 0;
            if !way.edges().any(|edge| live(&edge)) {
                continue;
            }
            if !way.edges().all(|edge| into.contains(&edge)) {
                self.note(format!("a join at {node} waits for an edge that brings nothing in this turn"));
            }
            let mut places = 0;
            if let Way::All(all) = way {
                for (at, place) in all.iter().enumerate() {
                    match place.iter().filter(|edge| live(edge)).count() {
                        0 => {}
                        1 => places |= 1 << at,
                        _ => self.note(format!("a place of a join at {node} is given two values")),
                    }
                }
            }
            self.fired[node][at].insert(places);
            times += 1;
        }
        if times > 1 {
            self.note(format!("node {node} runs twice"));
        }
        times > 0
    }

    /// A node runs: each choice puts live tokens on its edges and dead ones on the others.
    fn run(&mut self, mut state: State, node: NodeIx) -> Vec<State> {
        self.ran |= 1 << node;
        state.outputs += u8::from(node == END);
        let out = self.out[node].clone();
        let mut states = Vec::new();
        for choice in &self.graph.nodes[node].choices {
            let mut after = self.skip(state, node);
            for edge in &out {
                if choice.edges.contains(edge) {
                    if state.live & 1 << edge != 0 {
                        self.note(format!("a second token on edge {edge}"));
                    }
                    after.dead &= !(1 << edge);
                    after.live |= 1 << edge;
                }
            }
            states.push(after);
        }
        states
    }

    /// Every edge gets a dead token, unless it leaves a loop: then a later turn may still take it.
    fn skip(&self, mut state: State, node: NodeIx) -> State {
        state.done |= 1 << node;
        for edge in self.out[node].iter().copied() {
            if self.leaves[edge].is_none() {
                state.dead |= 1 << edge;
            }
        }
        // What is on the edges into it will not be looked at again, unless a loop has still to be seen to end.
        for edge in self.into[node].iter().copied() {
            if state.live & 1 << edge != 0 && self.leaves[edge].is_none() {
                state.live &= !(1 << edge);
                state.dead |= 1 << edge;
            }
        }
        state
    }

    /// The first turn of a loop, or the next, or its end.
    fn begin_turn(&mut self, mut state: State, id: usize) -> Vec<State> {
        let inside: Vec<NodeIx> = (0..self.graph.nodes.len()).filter(|node| self.stands_in(*node, id)).collect();
        let first = state.begun & 1 << id == 0;
        let into = if first { self.entry(id) } else { self.back(id) };
        let mut fired = Vec::new();
        for head in self.tags.loops[id].heads.iter().copied() {
            if self.arrives(state, head, &into) {
                fired.push(head);
            }
        }
        state.begun |= 1 << id;
        if !first {
            self.nothing_waits(state, inside.iter().copied());
        }
        match fired[..] {
            [] => {
                state.ended |= 1 << id;
                inside.iter().for_each(|node| state.done |= 1 << node);
                for (inner, _) in self.tags.loops.iter().enumerate() {
                    if self.is_inside(inner, id) {
                        state.begun |= 1 << inner;
                        state.ended |= 1 << inner;
                    }
                }
                for edge in 0..self.graph.edges.len() {
                    if self.leaves[edge] == Some(id) && state.live & 1 << edge == 0 {
                        state.dead |= 1 << edge;
                    }
                }
                vec![state]
            }
            [head] => {
                if !first {
                    let goes_out = |ends: &Edge| self.stands_in(ends.from, id) && !self.stands_in(ends.to, id);
                    let mut out = edges(self.graph, goes_out);
                    out.retain(|edge| state.live & 1 << edge != 0);
                    if !out.is_empty() {
                        self.sides.extend(out.into_iter().map(|edge| (id, edge)));
                        return vec![];
                    }
                }
                for edge in edges(self.graph, |ends| self.stands_in(ends.from, id) && self.stands_in(ends.to, id)) {
                    state.live &= !(1 << edge);
                    state.dead &= !(1 << edge);
                }
                inside.iter().for_each(|node| state.done &= !(1 << node));
                for inner in (0..self.tags.loops.len()).filter(|inner| self.is_inside(*inner, id)) {
                    state.begun &= !(1 << inner);
                    state.ended &= !(1 << inner);
                }
                for other in &self.tags.loops[id].heads {
                    if *other != head {
                        state = self.skip(state, *other);
                    }
                }
                self.run(state, head)
            }
            _ => {
                self.note(format!("loop {id} is given two tokens"));
                vec![]
            }
        }
    }

    fn is_inside(&self, inner: usize, outer: usize) -> bool {
        inner != outer
            && self.tags.chain.iter().any(|chain| {
                let place = |id: usize| chain.iter().position(|at| *at == id);
                place(outer).zip(place(inner)).is_some_and(|(outer, inner)| outer < inner)
            })
    }

    /// What could still run or be skipped has; the turn of a loop, or the run, is over.
    fn nothing_waits(&mut self, state: State, mut nodes: impl Iterator<Item = NodeIx>) {
        if let Some(node) = nodes.find(|node| state.done & (1 << node) == 0) {
            self.note(format!("node {node} waits for ever"));
        }
    }

    fn note(&mut self, why: String) {
        self.broken.get_or_insert(why);
    }
}
