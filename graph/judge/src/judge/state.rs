//! Plays a graph whose nodes read and write keys of the state.
//!
//! Each token carries what is sure to have happened before it: the nodes that had run, and the keys that they had written
//! by then. A node starts after what fired it: the token of a plain edge, all tokens of a group, live and dead, the first
//! arrival at a collecting node, any of them. A skipped node is skipped after all tokens into it. Whatever is not sure to
//! have happened before a node starts may happen after it, since a node may take any time; so that is all that has to be
//! known of orders.
//!
//! Turns are played one after the other, as in [`play`](super::play), but that says nothing of what waits for what: the
//! tokens do. Each loop is played for two turns, and one with several heads for as many as its token needs to come round twice:
//! three turns showed nothing else.

use std::collections::{BTreeSet, HashSet};

use graphweft_graph::{EdgeIx, Graph, NodeIx, START, Way};

use super::Verdict;

/// What a node does with the state. Keys are bits.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KeyUse {
    /// The keys that it reads when it starts.
    pub reads: u8,
    /// The keys that it writes when it completes, but for its failures.
    pub writes: u8,
    /// For each of its choices whether that is a failure; empty if none is.
    pub failures: Vec<bool>,
    /// Whether its runs are compared with those of others, to see which of them may be at the same time.
    pub is_watched: bool,
}

/// What was seen.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Seen {
    /// For each node the keys that it read in some play without their being written.
    pub unwritten: Vec<u8>,
    /// The watched nodes that ran at the same time in some play, the lower number first.
    pub overlaps: BTreeSet<(NodeIx, NodeIx)>,
    /// The keys that were not written at the end of some play.
    pub unwritten_at_end: u8,
}

/// What is sure to have happened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
struct Past {
    keys: u8,
    /// The runs of watched nodes: `RUNS` bits for each of them.
    runs: u64,
}

impl Past {
    fn and(self, other: Past) -> Past {
        Past { keys: self.keys | other.keys, runs: self.runs | other.runs }
    }
}

/// How often a watched node may run in a play.
const RUNS: usize = 6;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Token {
    Nothing,
    /// A dead one that leaves a loop, until that has ended.
    Held(Past),
    Dead(Past),
    Live(Past),
    /// Its target has looked at it.
    Used,
}

#[derive(Clone, PartialEq, Eq, Hash)]
struct State {
    tokens: Vec<Token>,
    /// Nodes that have run or were skipped in the turns that are on.
    done: u64,
    begun: u64,
    ended: u64,
    /// The turns of each loop, since it was last entered.
    turns: Vec<u8>,
    /// The runs of watched nodes.
    runs: u64,
    /// What has happened before the nodes have completed or were skipped that nothing stops.
    at_end: Past,
}

struct Player<'a, Id> {
    graph: &'a Graph<Id>,
    verdict: &'a Verdict,
    uses: &'a [KeyUse],
    /// For each edge the outermost loop that it leaves.
    leaves: Vec<Option<usize>>,
    into: Vec<Vec<EdgeIx>>,
    out: Vec<Vec<EdgeIx>>,
    /// For each loop the edges that enter it, and those that begin its next turn.
    entry: Vec<Vec<EdgeIx>>,
    back: Vec<Vec<EdgeIx>>,
    /// Whether an edge enters a loop, or begins its next turn.
    is_loops: Vec<bool>,
    watched: Vec<NodeIx>,
    /// The nodes that are stopped when a collecting node has its output, since all that they lead to is that.
    is_stoppable: Vec<bool>,
    most_states: usize,
    seen: Seen,
}

/// Plays a sound graph. `None` if there are more than so many states.
pub fn play_state<Id>(graph: &Graph<Id>, verdict: &Verdict, uses: &[KeyUse], most_states: usize) -> Option<Seen> {
    let leaves = |ends: &graphweft_graph::Edge| {
        let (from, to) = (&verdict.chain[ends.from], &verdict.chain[ends.to]);
        let kept = from.iter().zip(to).take_while(|(a, b)| a == b).count();
        from.get(kept).copied()
    };
    let loops = 0..verdict.loops.len();
    let edges_of = |is_one: &dyn Fn(EdgeIx) -> bool| (0..graph.edges.len()).filter(|edge| is_one(*edge)).collect();
    let watched: Vec<NodeIx> = (0..uses.len()).filter(|node| uses[*node].is_watched).collect();
    assert!(watched.len() * RUNS <= 64, "the judge counts runs on 64 bits");
    let mut player = Player {
        graph,
        verdict,
        uses,
        leaves: graph.edges.iter().map(leaves).collect(),
        into: (0..graph.nodes.len()).map(|node| edges(graph, |_, to| to == node)).collect(),
        out: (0..graph.nodes.len()).map(|node| edges(graph, |from, _| from == node)).collect(),
        entry: loops.clone().map(|id| entry(graph, verdict, id)).collect(),
        back: loops.map(|id| edges_of(&|edge| verdict.back[edge] == Some(id))).collect(),
        is_loops: graph.edges.iter().map(|ends| verdict.loops.iter().any(|at| at.heads.contains(&ends.to))).collect(),
        watched,
        is_stoppable: (0..graph.nodes.len()).map(|node| is_stoppable(graph, verdict, node)).collect(),
        most_states,
        seen: Seen { unwritten: vec![0; graph.nodes.len()], ..Seen::default() },
    };
    player.play().then_some(player.seen)
}

fn edges<Id>(graph: &Graph<Id>, is_one: impl Fn(NodeIx, NodeIx) -> bool) -> Vec<EdgeIx> {
    let edges = &graph.edges;
    (0..edges.len()).filter(|edge| is_one(edges[*edge].from, edges[*edge].to)).collect()
}

fn entry<Id>(graph: &Graph<Id>, verdict: &Verdict, id: usize) -> Vec<EdgeIx> {
    let mut edges = edges(graph, |_, to| verdict.loops[id].heads.contains(&to));
    edges.retain(|edge| verdict.back[*edge] != Some(id));
    edges
}

/// Whether all that a node leads to, in its turn, is one collecting node.
fn is_stoppable<Id>(graph: &Graph<Id>, verdict: &Verdict, node: NodeIx) -> bool {
    let collecting = |at: &NodeIx| matches!(graph.nodes[*at].ways[..], [Way::Any(_)]);
    (0..graph.nodes.len()).filter(|at| *at != node && collecting(at)).any(|collector| {
        let not_behind_it = |edge: EdgeIx| graph.edges[edge].from != collector;
        let mut region = super::tags::behind(graph, node, not_behind_it);
        region.insert(node);
        let begins_turn = |edge: &EdgeIx| verdict.back[*edge].is_some_and(|id| verdict.chain[collector].contains(&id));
        let mut out = (0..graph.edges.len()).filter(|edge| region.contains(&graph.edges[*edge].from));
        let leads_on = |at: &NodeIx| super::tags::behind(graph, *at, not_behind_it).contains(&collector);
        region.contains(&collector)
            && !region.contains(&START)
            && !out.any(|edge| begins_turn(&edge) && graph.edges[edge].from != collector)
            && region.iter().filter(|at| **at != collector).all(leads_on)
    })
}

impl<Id> Player<'_, Id> {
    fn play(&mut self) -> bool {
        let state = State {
            tokens: vec![Token::Nothing; self.graph.edges.len()],
            done: 0,
            begun: 0,
            ended: 0,
            turns: vec![0; self.verdict.loops.len()],
            runs: 0,
            at_end: Past::default(),
        };
        let mut open = self.run(&state, START, Past::default());
        let mut seen: HashSet<State> = open.iter().cloned().collect();
        while let Some(state) = open.pop() {
            for next in self.step(&state) {
                if seen.insert(next.clone()) {
                    open.push(next);
                }
            }
            if seen.len() > self.most_states {
                return false;
            }
        }
        true
    }

    fn step(&mut self, state: &State) -> Vec<State> {
        let ready = (0..self.graph.nodes.len()).find(|node| self.is_ready(state, *node));
        if let Some(node) = ready {
            let into = self.into[node].clone();
            let pasts = self.fired(state, node, &into);
            if pasts.is_empty() {
                let past = self.union(state, &into);
                return vec![self.skip(state, node, past)];
            }
            return pasts.into_iter().flat_map(|past| self.run(state, node, past)).collect();
        }
        let loops = 0..self.verdict.loops.len();
        let is_begun = |id: &usize| state.begun & 1 << id != 0;
        if let Some(id) = loops.clone().find(|id| !is_begun(id) && self.are_settled(state, &self.entry[*id])) {
            return self.begin_turn(state, id);
        }
        let going = loops.filter(|id| is_begun(id) && state.ended & 1 << id == 0);
        if let Some(id) = going.filter(|id| self.are_settled(state, &self.back[*id])).max_by_key(|id| self.depth(*id)) {
            return self.begin_turn(state, id);
        }
        assert!((0..self.graph.nodes.len()).all(|node| state.done & 1 << node != 0), "the graph is not sound");
        self.seen.unwritten_at_end |= !state.at_end.keys;
        vec![]
    }

    fn edges(&self, is_one: impl Fn(NodeIx, NodeIx) -> bool) -> Vec<EdgeIx> {
        edges(self.graph, is_one)
    }

    fn stands_in(&self, node: NodeIx, id: usize) -> bool {
        self.verdict.chain[node].contains(&id)
    }

    fn depth(&self, id: usize) -> usize {
        self.verdict.chain.iter().filter_map(|chain| chain.iter().position(|at| *at == id)).max().unwrap_or(0)
    }

    fn inner_loops(&self, outer: usize) -> Vec<usize> {
        let is_inside = |chain: &Vec<usize>, inner: usize| {
            let place = |id: usize| chain.iter().position(|at| *at == id);
            place(outer).zip(place(inner)).is_some_and(|(outer, inner)| outer < inner)
        };
        let loops = 0..self.verdict.loops.len();
        loops.filter(|inner| self.verdict.chain.iter().any(|chain| is_inside(chain, *inner))).collect()
    }

    /// The edges that lead out of a loop.
    fn leaving(&self, id: usize) -> Vec<EdgeIx> {
        self.edges(|from, to| self.stands_in(from, id) && !self.stands_in(to, id))
    }

    fn are_settled(&self, state: &State, edges: &[EdgeIx]) -> bool {
        edges.iter().all(|edge| !matches!(state.tokens[*edge], Token::Nothing | Token::Held(_)))
    }

    fn is_ready(&self, state: &State, node: NodeIx) -> bool {
        let is_head = self.verdict.chain[node].last().is_some_and(|id| self.verdict.loops[*id].heads.contains(&node));
        let waits = node != START && state.done & 1 << node == 0 && !is_head;
        waits && self.are_settled(state, &self.into[node])
    }

    fn past(token: Token) -> Past {
        match token {
            Token::Held(past) | Token::Dead(past) | Token::Live(past) => past,
            Token::Nothing | Token::Used => Past::default(),
        }
    }

    fn union(&self, state: &State, edges: &[EdgeIx]) -> Past {
        edges.iter().map(|edge| Self::past(state.tokens[*edge])).fold(Past::default(), Past::and)
    }

    /// What may be sure to have happened when a node starts; nothing if it does not.
    fn fired(&self, state: &State, node: NodeIx, into: &[EdgeIx]) -> Vec<Past> {
        let is_live = |edge: &EdgeIx| into.contains(edge) && matches!(state.tokens[*edge], Token::Live(_));
        for way in &self.graph.nodes[node].ways {
            let edges: Vec<EdgeIx> = way.edges().collect();
            let live: Vec<EdgeIx> = edges.iter().copied().filter(is_live).collect();
            if live.is_empty() {
                continue;
            }
            return match way {
                Way::Plain(_) | Way::All(_) => vec![self.union(state, &edges)],
                Way::Any(_) => live.iter().map(|edge| Self::past(state.tokens[*edge])).collect(),
            };
        }
        vec![]
    }

    fn run(&mut self, state: &State, node: NodeIx, mut past: Past) -> Vec<State> {
        let uses = &self.uses[node];
        self.seen.unwritten[node] |= uses.reads & !past.keys;
        let mut runs = state.runs;
        if let Some(place) = self.watched.iter().position(|watched| *watched == node) {
            for (other, watched) in self.watched.iter().enumerate() {
                let of_other = ((1u64 << RUNS) - 1) << (other * RUNS);
                if runs & of_other & !past.runs != 0 {
                    self.seen.overlaps.insert((node.min(*watched), node.max(*watched)));
                }
            }
            let Some(run) = (place * RUNS..(place + 1) * RUNS).find(|run| runs & 1 << run == 0) else {
                return vec![];
            };
            runs |= 1 << run;
            past.runs |= 1 << run;
        }
        let choices = self.graph.nodes[node].choices.iter().enumerate();
        let after = |(at, choice): (usize, &graphweft_graph::Choice)| {
            let fails = uses.failures.get(at).copied().unwrap_or(false);
            let past = Past { keys: past.keys | if fails { 0 } else { uses.writes }, ..past };
            let mut after = self.skip(state, node, past);
            after.runs = runs;
            for edge in &choice.edges {
                after.tokens[*edge] = Token::Live(past);
            }
            after
        };
        choices.map(after).collect()
    }

    /// Puts a dead token on each edge of a node.
    fn skip(&self, state: &State, node: NodeIx, past: Past) -> State {
        let mut after = state.clone();
        after.done |= 1 << node;
        if !self.is_stoppable[node] {
            after.at_end = after.at_end.and(past);
        }
        for edge in &self.out[node] {
            after.tokens[*edge] = match (self.leaves[*edge], after.tokens[*edge]) {
                (Some(_), token @ (Token::Live(_) | Token::Used)) => token,
                (Some(_), _) => Token::Held(past),
                (None, _) => Token::Dead(past),
            };
        }
        for edge in self.into[node].iter().copied().filter(|edge| !self.is_loops[*edge]) {
            after.tokens[edge] = Token::Used;
        }
        after
    }

    /// The first turn of a loop, or the next, or its end.
    fn begin_turn(&mut self, state: &State, id: usize) -> Vec<State> {
        let verdict = self.verdict;
        let is_first = state.begun & 1 << id == 0;
        let into = if is_first { self.entry[id].clone() } else { self.back[id].clone() };
        let mut fired: Vec<(NodeIx, Vec<Past>)> = Vec::new();
        for head in verdict.loops[id].heads.iter().copied() {
            let pasts = self.fired(state, head, &into);
            if !pasts.is_empty() {
                fired.push((head, pasts));
            }
        }
        let inside: Vec<NodeIx> = (0..self.graph.nodes.len()).filter(|node| self.stands_in(*node, id)).collect();
        let mut after = state.clone();
        after.begun |= 1 << id;
        let leaving = self.leaving(id);
        let Some((head, pasts)) = fired.pop() else {
            let past = self.union(state, &into);
            after.ended |= 1 << id;
            inside.iter().for_each(|node| after.done |= 1 << node);
            for inner in self.inner_loops(id) {
                after.begun |= 1 << inner;
                after.ended |= 1 << inner;
            }
            for edge in leaving {
                after.tokens[edge] = match after.tokens[edge] {
                    token @ (Token::Live(_) | Token::Used) => token,
                    token if self.leaves[edge] == Some(id) => Token::Dead(Self::past(token).and(past)),
                    token => Token::Held(Self::past(token).and(past)),
                };
            }
            if is_first && inside.iter().any(|node| !self.is_stoppable[*node]) {
                after.at_end = after.at_end.and(past);
            }
            return vec![after];
        };
        assert!(fired.is_empty(), "a loop is given two tokens");
        after.turns[id] += 1;
        let most = if verdict.loops[id].heads.len() > 1 { 2 * verdict.loops[id].heads.len() + 2 } else { 2 };
        if usize::from(after.turns[id]) > most {
            return vec![];
        }
        for edge in self.edges(|from, to| self.stands_in(from, id) && self.stands_in(to, id)) {
            after.tokens[edge] = Token::Nothing;
        }
        for edge in leaving {
            if let Token::Held(_) = after.tokens[edge] {
                after.tokens[edge] = Token::Nothing;
            }
        }
        inside.iter().for_each(|node| after.done &= !(1 << node));
        for inner in self.inner_loops(id) {
            after.begun &= !(1 << inner);
            after.ended &= !(1 << inner);
            after.turns[inner] = 0;
        }
        let mut states = Vec::new();
        for past in pasts {
            let mut after = after.clone();
            for other in verdict.loops[id].heads.iter().filter(|other| **other != head) {
                after = self.skip(&after, *other, past);
            }
            states.extend(self.run(&after, head, past));
        }
        states
    }
}
