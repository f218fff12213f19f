//! Properties of edges and nodes, from a graph and the loops that the judge has found in it.

use std::collections::{BTreeMap, BTreeSet};

use graphweft_graph::{END, Edge, EdgeIx, Graph, NodeIx, START, Way};
use graphweft_judge::judge::Verdict;

/// How many loops there are around the one that a choice of a node leads round again: the innermost, if there are several.
pub(super) fn counted(graph: &Graph<String>, verdict: &Verdict, node: NodeIx, choice: usize) -> Option<usize> {
    let leads_round = |of: &usize| {
        let mut open = graph.nodes[node].choices[choice].edges.clone();
        let mut seen = BTreeSet::new();
        while let Some(edge) = open.pop() {
            if verdict.back[edge] == Some(*of) {
                return true;
            }
            let to = graph.edges[edge].to;
            if verdict.chain[to].contains(of) && seen.insert(to) {
                open.extend((0..graph.edges.len()).filter(|at| graph.edges[*at].from == to));
            }
        }
        false
    };
    verdict.chain[node].iter().rposition(leads_round)
}

/// How many counters of its source's tag an edge keeps.
pub(super) fn kept(graph: &Graph<String>, verdict: &Verdict, edge: EdgeIx) -> usize {
    let ends = graph.edges[edge];
    let (from, to) = (&verdict.chain[ends.from], &verdict.chain[ends.to]);
    match verdict.back[edge] {
        Some(of) => 1 + from.iter().position(|at| *at == of).expect("it stands in its loop"),
        None => from.iter().zip(to).take_while(|(a, b)| a == b).count(),
    }
}

fn collects(graph: &Graph<String>, node: NodeIx) -> bool {
    graph.nodes[node].ways.iter().any(|way| matches!(way, Way::Any(_)))
}

/// The nodes that lead to collecting nodes and nowhere else: their output may be unneeded.
pub(super) fn only_collected(graph: &Graph<String>) -> BTreeSet<NodeIx> {
    let collects = |node: NodeIx| collects(graph, node);
    let ends = |node: NodeIx| node == END || graph.edges.iter().all(|edge| edge.from != node);
    // Nodes that lead elsewhere: those with an edge to an end, or to one of them, that is no collecting node.
    let mut elsewhere: BTreeSet<NodeIx> = (0..graph.nodes.len()).filter(|node| ends(*node)).collect();
    loop {
        let leads = |edge: &&Edge| elsewhere.contains(&edge.to) && !collects(edge.to);
        let more: Vec<NodeIx> = graph.edges.iter().filter(leads).map(|edge| edge.from).collect();
        let before = elsewhere.len();
        elsewhere.extend(more);
        if elsewhere.len() == before {
            break;
        }
    }
    (0..graph.nodes.len()).filter(|node| !elsewhere.contains(node)).collect()
}

/// For each node that leads to one collecting node and nowhere else, that one: once it is done nothing needs the other. Only collecting
/// nodes outside of loops.
pub(super) fn collected_by(graph: &Graph<String>) -> BTreeMap<NodeIx, NodeIx> {
    let targets = |from: NodeIx| graph.edges.iter().filter(move |edge| edge.from == from).map(|edge| edge.to);
    let collects = |node: NodeIx| collects(graph, node);
    // All that a node leads to, up to collecting nodes or, without them, to the end.
    let reached = |from: NodeIx, stops: &dyn Fn(NodeIx) -> bool| {
        let (mut open, mut seen) = (targets(from).collect::<Vec<_>>(), BTreeSet::new());
        while let Some(node) = open.pop() {
            if seen.insert(node) && !stops(node) {
                open.extend(targets(node));
            }
        }
        seen
    };
    let is_in_loop = |node: NodeIx| reached(node, &|_| false).contains(&node);
    let nodes = only_collected(graph).into_iter().filter(|node| *node != START);
    let collected = nodes.filter_map(|node| {
        let by: Vec<NodeIx> = reached(node, &collects).into_iter().filter(|at| collects(*at)).collect();
        let [by] = by[..] else { return None };
        (!is_in_loop(by)).then_some((node, by))
    });
    collected.collect()
}
