//! How long the analysis takes. `cargo run --release --example time`; fails where a graph of 500 nodes takes more than
//! 20 ms. With a number, `cargo run --example time -- 1000`, it measures graphs of about so many nodes, and fails never: in
//! the dev profile, in which cargo builds macros, that is what the analysis costs a build.

use std::time::{Duration, Instant};

use graphweft_graph::{Choice, END, EdgeIx, Graph, NodeIx, START, Way, analyse};

/// Makes a sound graph of about so many nodes.
type Shape = fn(usize) -> Graph<usize>;

fn main() {
    let shapes: [(&str, Shape); 12] = [
        ("blocks of a join and a route", blocks),
        ("chain", chain),
        ("wide fan-out, one join", wide),
        ("wide route, plain ways out", routed),
        ("wide route, each arm to half of one join", optional),
        ("ladder of diamonds", diamonds),
        ("ladder of routes and joins", routes),
        ("nested loops, one inside the other", nested),
        ("nested loops with routes out of all of them", nested_exits),
        ("loops one after the other, with side branches", loops),
        ("agents that hand over to each other", agents),
        ("dense layers", layers),
    ];
    let wanted = std::env::args().nth(1).map(|text| text.parse::<usize>().expect("a number of nodes"));
    let sizes = wanted.map_or_else(|| vec![10, 500], |nodes| vec![nodes]);
    let mut slow = false;
    for (name, shape) in shapes {
        for nodes in sizes.iter().copied() {
            let graph = shape(nodes);
            let took = (0..9).map(|_| time(&graph)).min().unwrap_or_default();
            slow |= took > Duration::from_millis(20);
            println!("{name:50} {:4} nodes {:6} edges {:8} µs", graph.nodes.len(), graph.edges.len(), took.as_micros());
        }
    }
    assert!(!slow || wanted.is_some(), "more than 20 ms");
}

fn time(graph: &Graph<usize>) -> Duration {
    let begun = Instant::now();
    let result = analyse(graph);
    let took = begun.elapsed();
    if let Err(problems) = result {
        panic!("refused: {problems:?}");
    }
    took
}

struct Builder {
    graph: Graph<usize>,
    most: usize,
}

impl Builder {
    fn new(most: usize) -> Self {
        Builder { graph: Graph::new(0, 1), most }
    }

    fn has_room_for(&self, nodes: usize) -> bool {
        self.graph.nodes.len() + nodes <= self.most
    }

    fn node(&mut self, choices: usize) -> NodeIx {
        let node = self.graph.add_node(self.graph.nodes.len());
        self.graph.nodes[node].choices = vec![Choice::default(); choices];
        node
    }

    fn edge(&mut self, from: NodeIx, choices: &[usize], to: NodeIx) -> EdgeIx {
        let edge = self.graph.add_edge(from, to);
        for choice in choices {
            self.graph.nodes[from].choices[*choice].edges.push(edge);
        }
        edge
    }

    fn route(&mut self, from: NodeIx, choice: usize, to: NodeIx) {
        let edge = self.edge(from, &[choice], to);
        self.graph.nodes[to].ways.push(Way::Plain(edge));
    }

    fn join(&mut self, from: &[NodeIx], to: NodeIx) {
        let all: Vec<usize> = vec![0];
        let places = from.iter().map(|from| vec![self.edge(*from, &all, to)]).collect();
        self.graph.nodes[to].ways.push(Way::All(places));
    }

    fn end(mut self, last: NodeIx, choice: usize) -> Graph<usize> {
        self.route(last, choice, END);
        self.graph
    }
}

fn chain(nodes: usize) -> Graph<usize> {
    let mut build = Builder::new(nodes);
    let mut at = START;
    while build.has_room_for(1) {
        let next = build.node(1);
        build.route(at, 0, next);
        at = next;
    }
    build.end(at, 0)
}

/// The graph that the bench of compile times wires: ten nodes to a block, in which there is one of everything.
fn blocks(nodes: usize) -> Graph<usize> {
    let mut build = Builder::new(nodes);
    let mut from = START;
    while build.has_room_for(10) {
        let [first, second, left, right, tail] = [1; 5].map(|choices| build.node(choices));
        let (router, yes, no) = (build.node(2), build.node(1), build.node(1));
        let [merged, last] = [1; 2].map(|choices| build.node(choices));
        build.route(from, 0, first);
        build.route(first, 0, second);
        build.route(second, 0, left);
        build.route(second, 0, right);
        build.join(&[left, right], tail);
        build.route(tail, 0, router);
        build.route(router, 0, yes);
        build.route(router, 1, no);
        build.route(yes, 0, merged);
        build.route(no, 0, merged);
        build.route(merged, 0, last);
        from = last;
    }
    build.end(from, 0)
}

fn wide(nodes: usize) -> Graph<usize> {
    let mut build = Builder::new(nodes);
    let mut branches = Vec::new();
    while build.has_room_for(2) {
        let branch = build.node(1);
        build.route(START, 0, branch);
        branches.push(branch);
    }
    let join = build.node(1);
    build.join(&branches, join);
    build.end(join, 0)
}

fn routed(nodes: usize) -> Graph<usize> {
    let mut build = Builder::new(nodes);
    let arms = nodes - 4;
    let router = build.node(arms);
    build.route(START, 0, router);
    let join = build.node(1);
    for arm in 0..arms {
        let branch = build.node(1);
        build.route(router, arm, branch);
        build.route(branch, 0, join);
    }
    build.end(join, 0)
}

fn optional(nodes: usize) -> Graph<usize> {
    let mut build = Builder::new(nodes);
    let arms = nodes - 4;
    let router = build.node(arms);
    build.route(START, 0, router);
    let mut branches = Vec::new();
    for branch in 0..arms {
        let node = build.node(1);
        let taken: Vec<usize> = (0..arms).filter(|arm| arm & 1 == branch & 1 || arm == &branch).collect();
        let edge = build.edge(router, &taken, node);
        build.graph.nodes[node].ways.push(Way::Plain(edge));
        branches.push(node);
    }
    let join = build.node(1);
    build.join(&branches, join);
    build.end(join, 0)
}

fn diamonds(nodes: usize) -> Graph<usize> {
    let mut build = Builder::new(nodes);
    let mut at = START;
    while build.has_room_for(3) {
        let (left, right, join) = (build.node(1), build.node(1), build.node(1));
        build.route(at, 0, left);
        build.route(at, 0, right);
        build.join(&[left, right], join);
        at = join;
    }
    build.end(at, 0)
}

fn routes(nodes: usize) -> Graph<usize> {
    let mut build = Builder::new(nodes);
    let mut at = START;
    while build.has_room_for(4) {
        let (router, left, right, join) = (build.node(3), build.node(1), build.node(1), build.node(1));
        build.route(at, 0, router);
        for (branch, choices) in [(left, [0, 2]), (right, [1, 2])] {
            let edge = build.edge(router, &choices, branch);
            build.graph.nodes[branch].ways.push(Way::Plain(edge));
        }
        build.join(&[left, right], join);
        at = join;
    }
    build.end(at, 0)
}

fn nested(nodes: usize) -> Graph<usize> {
    let mut build = Builder::new(nodes);
    let depth = (nodes - 2) / 2;
    let heads: Vec<NodeIx> = (0..depth).map(|_| build.node(1)).collect();
    let mut at = (START, 0);
    for head in &heads {
        build.route(at.0, at.1, *head);
        at = (*head, 0);
    }
    for head in heads.into_iter().rev() {
        let tail = build.node(2);
        build.route(at.0, at.1, tail);
        build.route(tail, 0, head);
        at = (tail, 1);
    }
    build.end(at.0, at.1)
}

fn nested_exits(nodes: usize) -> Graph<usize> {
    let mut build = Builder::new(nodes);
    let depth = (nodes - 3) / 2;
    let heads: Vec<NodeIx> = (0..depth).map(|_| build.node(2)).collect();
    let out = build.node(1);
    let mut at = (START, 0);
    for head in &heads {
        build.route(at.0, at.1, *head);
        build.route(*head, 1, out);
        at = (*head, 0);
    }
    for head in heads.into_iter().rev() {
        let tail = build.node(3);
        build.route(at.0, at.1, tail);
        build.route(tail, 0, head);
        build.route(tail, 2, out);
        at = (tail, 1);
    }
    build.route(at.0, at.1, out);
    build.end(out, 0)
}

fn loops(nodes: usize) -> Graph<usize> {
    let mut build = Builder::new(nodes);
    let mut at = (START, 0);
    while build.has_room_for(3) {
        let (head, tail, log) = (build.node(1), build.node(2), build.node(1));
        build.route(at.0, at.1, head);
        build.route(head, 0, tail);
        build.route(tail, 0, head);
        build.route(tail, 0, log);
        at = (tail, 1);
    }
    build.end(at.0, at.1)
}

fn agents(nodes: usize) -> Graph<usize> {
    let mut build = Builder::new(nodes);
    let count = nodes - 3;
    let router = build.node(count);
    build.route(START, 0, router);
    let agents: Vec<NodeIx> = (0..count).map(|_| build.node(4)).collect();
    for (at, agent) in agents.iter().enumerate() {
        build.route(router, at, *agent);
        let mut others: Vec<NodeIx> = [1, 7, 31].map(|step| agents[(at + step) % count]).to_vec();
        others.retain(|other| other != agent);
        others.dedup();
        others.sort_unstable();
        others.dedup();
        for (choice, other) in others.into_iter().enumerate() {
            build.route(*agent, choice, other);
        }
        build.route(*agent, 3, END);
        for choice in &mut build.graph.nodes[*agent].choices {
            if choice.edges.is_empty() {
                choice.edges = vec![build.graph.edges.len() - 1];
            }
        }
    }
    build.graph
}

fn layers(nodes: usize) -> Graph<usize> {
    let mut build = Builder::new(nodes);
    let width = 8.min(nodes - 3);
    let mut before = vec![START];
    while build.has_room_for(width + 1) {
        let layer: Vec<NodeIx> = (0..width).map(|_| build.node(1)).collect();
        layer.iter().for_each(|node| build.join(&before, *node));
        before = layer;
    }
    let join = build.node(1);
    build.join(&before, join);
    build.end(join, 0)
}
