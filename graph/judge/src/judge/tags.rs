//! Which loops a node stands in: the counters of its tag.

use std::collections::BTreeSet;

use graphweft_graph::{END, EdgeIx, Graph, NodeIx, START, Way};

/// A loop. With several heads it holds one token.
pub struct Loop {
    /// Where its turns begin.
    pub heads: BTreeSet<NodeIx>,
    /// Its nodes, those of loops inside included, branches on its side not.
    pub nodes: BTreeSet<NodeIx>,
}

pub(crate) struct Tags {
    pub(crate) loops: Vec<Loop>,
    pub(crate) chain: Vec<Vec<usize>>,
    pub(crate) back: Vec<Option<usize>>,
}

/// All nodes to which one or more edges lead from a node.
pub(crate) fn behind<Id>(graph: &Graph<Id>, from: NodeIx, passes: impl Fn(EdgeIx) -> bool) -> BTreeSet<NodeIx> {
    let mut found = BTreeSet::new();
    loop {
        let before = found.len();
        for (edge, ends) in graph.edges.iter().enumerate() {
            if (ends.from == from || found.contains(&ends.from)) && passes(edge) {
                found.insert(ends.to);
            }
        }
        if found.len() == before {
            return found;
        }
    }
}

impl Tags {
    /// The tags as far as the shape alone tells; the branches on the side of a loop are found by playing.
    pub(crate) fn derive<Id>(graph: &Graph<Id>) -> Result<Tags, String> {
        let nodes = graph.nodes.len();
        let mut tags = Tags { loops: vec![], chain: vec![vec![]; nodes], back: vec![None; graph.edges.len()] };
        tags.nest(graph, &(0..nodes).collect())?;
        Ok(tags)
    }

    fn nest<Id>(&mut self, graph: &Graph<Id>, nodes: &BTreeSet<NodeIx>) -> Result<(), String> {
        let forward_inside = |tags: &Tags, edge: EdgeIx| {
            let ends = graph.edges[edge];
            nodes.contains(&ends.from) && nodes.contains(&ends.to) && tags.back[edge].is_none()
        };
        let mut rest = nodes.clone();
        while let Some(node) = rest.pop_first() {
            let on = behind(graph, node, |edge| forward_inside(self, edge));
            let component: BTreeSet<NodeIx> = (on.iter().copied())
                .filter(|other| behind(graph, *other, |edge| forward_inside(self, edge)).contains(&node))
                .collect();
            if component.is_empty() {
                continue;
            }
            component.iter().for_each(|node| _ = rest.remove(node));
            let entered =
                |node: &NodeIx| graph.edges.iter().any(|edge| edge.to == *node && !component.contains(&edge.from));
            let heads: BTreeSet<NodeIx> = component.iter().copied().filter(entered).collect();
            let id = self.loops.len();
            component.iter().for_each(|node| self.chain[*node].push(id));
            let inner =
                |edge: EdgeIx| component.contains(&graph.edges[edge].from) && component.contains(&graph.edges[edge].to);
            if heads.len() == 1 {
                for edge in 0..graph.edges.len() {
                    if inner(edge) && heads.contains(&graph.edges[edge].to) {
                        self.back[edge] = Some(id);
                    }
                }
                self.loops.push(Loop { heads, nodes: component.clone() });
                self.nest(graph, &component)?;
            } else {
                for node in &component {
                    let data = &graph.nodes[*node];
                    if data.choices.iter().any(|choice| choice.edges.iter().filter(|edge| inner(**edge)).count() > 1) {
                        return Err(format!("node {node} sends two tokens inside a loop that holds one"));
                    }
                    let join_inside = |way: &Way| !matches!(way, Way::Plain(_)) && way.edges().any(inner);
                    if data.ways.iter().any(join_inside) {
                        return Err(format!("join {node} takes an edge from inside a loop that holds one token"));
                    }
                }
                (0..graph.edges.len()).filter(|edge| inner(*edge)).for_each(|edge| self.back[edge] = Some(id));
                self.loops.push(Loop { heads: component.clone(), nodes: component });
            }
        }
        Ok(())
    }

    /// Gives the tags of a loop to all that lies behind an edge that left the loop while it went on.
    pub(crate) fn put_on_side<Id>(&mut self, graph: &Graph<Id>, of: usize, edge: EdgeIx) -> Result<(), String> {
        let first = graph.edges[edge].to;
        let mut side = behind(graph, first, |_| true);
        side.insert(first);
        if side.contains(&END) || side.contains(&START) {
            return Err(format!("END stands behind edge {edge}, which leaves loop {of} while it goes on"));
        }
        let body = &self.loops[of].nodes;
        if let Some(node) = side.iter().find(|node| body.contains(node)) {
            return Err(format!("edge {edge} leaves loop {of} while it goes on, and leads back into it at {node}"));
        }
        let around: Vec<usize> =
            body.iter().map(|node| &self.chain[*node]).min_by_key(|chain| chain.len()).unwrap().clone();
        for node in side {
            if !self.chain[node].starts_with(&around) {
                let mut own = std::mem::take(&mut self.chain[node]);
                own.retain(|id| !around.contains(id));
                self.chain[node] = around.iter().copied().chain(own).collect();
            }
        }
        Ok(())
    }

    /// How many counters of its source's tag an edge keeps.
    pub(crate) fn kept(&self, edge: EdgeIx, from: NodeIx, to: NodeIx) -> usize {
        match self.back[edge] {
            Some(id) => 1 + self.chain[from].iter().position(|at| *at == id).unwrap(),
            None => self.chain[from].iter().zip(&self.chain[to]).take_while(|(a, b)| a == b).count(),
        }
    }

    /// Whether every token of an edge has a tag that its target can tell.
    pub(crate) fn check_edge<Id>(&self, graph: &Graph<Id>, edge: EdgeIx) -> Result<(), String> {
        let ends = graph.edges[edge];
        let to = &self.chain[ends.to];
        let entering = |id: &usize| self.loops[*id].heads.contains(&ends.to);
        match &to[self.kept(edge, ends.from, ends.to).min(to.len())..] {
            [] => Ok(()),
            [id] if self.back[edge].is_none() && entering(id) => Ok(()),
            _ => Err(format!("edge {edge} brings a token without the counters of its target")),
        }
    }
}
