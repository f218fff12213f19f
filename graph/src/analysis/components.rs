//! Strongly connected components, by Tarjan's algorithm ("Depth-first search and linear graph algorithms", 1972), with
//! a stack of its own so that a long chain cannot overflow the thread's.

use crate::model::NodeIx;

/// The components of the graph that `nodes` and `next` span, those that lead nowhere else first. `next(node, n)` is
/// the node behind the `n`th way on, or `None` where there are no more; nodes outside `within` are passed over.
pub(super) fn components(
    nodes: &[NodeIx],
    within: impl Fn(NodeIx) -> bool,
    next: impl Fn(NodeIx, usize) -> Option<NodeIx>,
    found: &mut Marks,
) -> Vec<Vec<NodeIx>> {
    let mut components = Vec::new();
    let mut count = 0;
    let mut stack = Vec::new();
    let mut path: Vec<(NodeIx, usize)> = Vec::new();
    for node in nodes {
        found.number[*node] = UNSEEN;
    }
    for root in nodes {
        if found.number[*root] != UNSEEN {
            continue;
        }
        path.push((*root, 0));
        while let Some((node, at)) = path.last_mut() {
            let node = *node;
            if *at == 0 {
                found.number[node] = count;
                found.low[node] = count;
                count += 1;
                stack.push(node);
            }
            *at += 1;
            match next(node, *at - 1) {
                Some(to) if !within(to) => {}
                Some(to) if found.number[to] == UNSEEN => path.push((to, 0)),
                Some(to) => found.low[node] = found.low[node].min(found.number[to]),
                None => {
                    path.pop();
                    if let Some((before, _)) = path.last() {
                        found.low[*before] = found.low[*before].min(found.low[node]);
                    }
                    if found.low[node] == found.number[node] {
                        let from = stack.iter().rposition(|member| *member == node).unwrap_or(0);
                        let component = stack.split_off(from);
                        for member in &component {
                            found.number[*member] = DONE;
                        }
                        components.push(component);
                    }
                }
            }
        }
    }
    components
}

/// For each node the number of its strongly connected component. `next` has the nodes behind each; one that is no node is passed
/// over.
pub fn component_of_each(next: &[Vec<NodeIx>]) -> Vec<usize> {
    let nodes: Vec<NodeIx> = (0..next.len()).collect();
    let found = components(
        &nodes,
        |node| node < next.len(),
        |node, at| next[node].get(at).copied(),
        &mut Marks::new(next.len()),
    );
    let mut of_each = vec![0; next.len()];
    for (number, component) in found.iter().enumerate() {
        for node in component {
            of_each[*node] = number;
        }
    }
    of_each
}

const UNSEEN: usize = usize::MAX;
/// Greater than any number in use, so that an edge into a finished component changes nothing.
const DONE: usize = usize::MAX - 1;

/// The marks of the search at each node; kept between searches, as a graph of many loops needs many.
pub(super) struct Marks {
    number: Vec<usize>,
    low: Vec<usize>,
}

impl Marks {
    pub(super) fn new(nodes: usize) -> Self {
        Marks { number: vec![UNSEEN; nodes], low: vec![UNSEEN; nodes] }
    }
}
