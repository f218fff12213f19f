//! Plays a graph without loops in every order in which its nodes can complete.
//!
//! What [`play_state`](super::play_state) derives from pasts, this one just sees: which keys are written when a node
//! starts, and which nodes are under way at the same time. It takes far more states, so it is for small graphs: the judge
//! of that judge.

use std::collections::{BTreeSet, HashSet};

use graphweft_graph::{EdgeIx, Graph, NodeIx, START, Way};

use super::state::{KeyUse, Seen};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Token {
    Nothing,
    Dead,
    Live,
    /// A collecting node has it.
    Collected,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Stage {
    Waiting,
    UnderWay,
    Over,
}

#[derive(Clone, PartialEq, Eq, Hash)]
struct State {
    tokens: Vec<Token>,
    stages: Vec<Stage>,
    written: u8,
}

struct Player<'a, Id> {
    graph: &'a Graph<Id>,
    uses: &'a [KeyUse],
    seen: Seen,
}

/// Plays a sound graph without loops. `None` if there are more than so many states. What is stopped since nothing needs
/// its output continues here, so of a graph with collecting nodes the keys at the end are those that may be there.
pub fn interleave<Id>(graph: &Graph<Id>, uses: &[KeyUse], most_states: usize) -> Option<Seen> {
    let seen = Seen { unwritten: vec![0; graph.nodes.len()], ..Seen::default() };
    let mut player = Player { graph, uses, seen };
    let mut state = State {
        tokens: vec![Token::Nothing; graph.edges.len()],
        stages: vec![Stage::Waiting; graph.nodes.len()],
        written: 0,
    };
    player.start(&mut state, START);
    let mut open = vec![state.clone()];
    let mut known = HashSet::from([state]);
    while let Some(state) = open.pop() {
        for next in player.completions(&state) {
            if known.insert(next.clone()) {
                open.push(next);
            }
        }
        if known.len() > most_states {
            return None;
        }
    }
    Some(player.seen)
}

impl<Id> Player<'_, Id> {
    /// Every next step: one of the nodes that are under way completes.
    fn completions(&mut self, state: &State) -> Vec<State> {
        let under_way: Vec<NodeIx> =
            (0..state.stages.len()).filter(|node| state.stages[*node] == Stage::UnderWay).collect();
        if under_way.is_empty() {
            self.seen.unwritten_at_end |= !state.written;
        }
        let mut next = Vec::new();
        for node in under_way {
            for choice in 0..self.graph.nodes[node].choices.len() {
                next.push(self.complete(state, node, choice));
            }
            if self.may_collect_more(state, node) {
                let mut after = state.clone();
                after.stages[node] = Stage::Waiting;
                self.settle(&mut after);
                next.push(after);
            }
        }
        next
    }

    /// A collecting node that has had an arrival may wait for the next, if one can still come.
    fn may_collect_more(&self, state: &State, node: NodeIx) -> bool {
        let can_come = |edge: EdgeIx| matches!(state.tokens[edge], Token::Live);
        matches!(&self.graph.nodes[node].ways[..], [Way::Any(edges)] if edges.iter().any(|edge| can_come(*edge)))
    }

    fn complete(&mut self, state: &State, node: NodeIx, choice: usize) -> State {
        let mut after = state.clone();
        let fails = self.uses[node].failures.get(choice).copied().unwrap_or(false);
        after.written |= if fails { 0 } else { self.uses[node].writes };
        let taken = &self.graph.nodes[node].choices[choice].edges;
        for (edge, _) in self.graph.edges.iter().enumerate().filter(|(_, ends)| ends.from == node) {
            after.tokens[edge] = if taken.contains(&edge) { Token::Live } else { Token::Dead };
        }
        after.stages[node] = Stage::Over;
        self.settle(&mut after);
        after
    }

    /// Starts and skips nodes until nothing follows.
    fn settle(&mut self, state: &mut State) {
        while let Some(node) = (0..state.stages.len()).find(|node| self.move_on(state, *node)) {
            debug_assert!(state.stages[node] != Stage::Waiting, "a node that moves waits no more");
        }
    }

    fn move_on(&mut self, state: &mut State, node: NodeIx) -> bool {
        if node == START || state.stages[node] != Stage::Waiting {
            return false;
        }
        for way in &self.graph.nodes[node].ways {
            let edges: Vec<EdgeIx> = way.edges().collect();
            let live = edges.iter().copied().find(|edge| state.tokens[*edge] == Token::Live);
            let is_complete = edges.iter().all(|edge| state.tokens[*edge] != Token::Nothing);
            match (way, live) {
                (Way::Plain(_), Some(_)) => {}
                (Way::All(_), Some(_)) if is_complete => {}
                (Way::Any(_), Some(edge)) => state.tokens[edge] = Token::Collected,
                _ => continue,
            }
            self.start(state, node);
            return true;
        }
        let into = (0..state.tokens.len()).filter(|edge| self.graph.edges[*edge].to == node);
        if into.clone().any(|edge| matches!(state.tokens[edge], Token::Nothing | Token::Collected)) {
            return false;
        }
        for (edge, _) in self.graph.edges.iter().enumerate().filter(|(_, ends)| ends.from == node) {
            state.tokens[edge] = Token::Dead;
        }
        state.stages[node] = Stage::Over;
        true
    }

    fn start(&mut self, state: &mut State, node: NodeIx) {
        state.stages[node] = Stage::UnderWay;
        self.seen.unwritten[node] |= self.uses[node].reads & !state.written;
        let is_beside = |other: &NodeIx| *other != node && state.stages[*other] == Stage::UnderWay;
        let watched = |node: NodeIx| self.uses[node].is_watched;
        let beside: BTreeSet<(NodeIx, NodeIx)> = (0..state.stages.len())
            .filter(is_beside)
            .filter(|other| watched(node) && watched(*other))
            .map(|other| (node.min(other), node.max(other)))
            .collect();
        self.seen.overlaps.extend(beside);
    }
}
