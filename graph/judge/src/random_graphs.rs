//! Random graphs, a good share of them sound, others nearly so.

use graphweft_graph::{Choice, END, EdgeIx, Graph, NodeIx, START, Way};

/// SplitMix64 (Steele, Lea and Flood, 2014).
pub struct Random(u64);

impl Random {
    /// The same seed gives the same numbers.
    pub fn new(seed: u64) -> Self {
        Random(seed)
    }

    /// The next 64 bits.
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below `end`.
    pub fn below(&mut self, end: usize) -> usize {
        (self.bits() % end as u64) as usize
    }

    /// Whether it is one of so many in a hundred.
    pub fn in_percent(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    fn shuffle<T>(&mut self, items: &mut [T]) {
        for at in (1..items.len()).rev() {
            items.swap(at, self.below(at + 1));
        }
    }
}

/// A random graph of at most 64 nodes and edges.
pub fn graph(random: &mut Random) -> Graph<String> {
    loop {
        let graph = match random.below(10) {
            0..2 => scattered(random),
            2..5 => grown(random),
            _ => {
                let mut graph = grown(random);
                for _ in 0..1 + random.below(3) {
                    disturb(random, &mut graph);
                }
                graph
            }
        };
        if graph.nodes.len() <= 40 && graph.edges.len() <= 60 {
            return graph;
        }
    }
}

/// Edges between anything and anything.
fn scattered(random: &mut Random) -> Graph<String> {
    let mut graph = Graph::new("START".to_string(), "END".to_string());
    for _ in 0..1 + random.below(6) {
        node(&mut graph, if random.in_percent(50) { 1 } else { 2 + random.below(2) });
    }
    if random.in_percent(15) {
        graph.nodes[START].choices = vec![Choice::default(); 2];
    }
    for from in (0..graph.nodes.len()).filter(|node| *node != END) {
        for choice in 0..graph.nodes[from].choices.len() {
            for _ in 0..1 + usize::from(random.in_percent(25)) {
                let to = 1 + random.below(graph.nodes.len() - 1);
                let known =
                    (0..graph.edges.len()).find(|at| graph.edges[*at].from == from && graph.edges[*at].to == to);
                match known {
                    Some(edge) if !random.in_percent(5) => {
                        let edges = &mut graph.nodes[from].choices[choice].edges;
                        if !edges.contains(&edge) {
                            edges.push(edge);
                        }
                    }
                    _ => _ = edge(&mut graph, (from, Some(choice)), to),
                }
            }
        }
    }
    for to in 1..graph.nodes.len() {
        let mut into: Vec<EdgeIx> = (0..graph.edges.len()).filter(|edge| graph.edges[*edge].to == to).collect();
        random.shuffle(&mut into);
        while !into.is_empty() {
            let some = into.split_off(into.len() - 1 - random.below(into.len()));
            let way = random_way(random, some);
            graph.nodes[to].ways.extend(way);
        }
    }
    graph
}

fn random_way(random: &mut Random, edges: Vec<EdgeIx>) -> Vec<Way> {
    match random.below(10) {
        0..4 => edges.into_iter().map(Way::Plain).collect(),
        4..7 => vec![Way::All(edges.into_iter().map(|edge| vec![edge]).collect())],
        7 => vec![Way::Any(edges)],
        _ => vec![Way::All(places(random, edges))],
    }
}

fn places(random: &mut Random, edges: Vec<EdgeIx>) -> Vec<Vec<EdgeIx>> {
    let mut places: Vec<Vec<EdgeIx>> = Vec::new();
    for edge in edges {
        if places.is_empty() || random.in_percent(50) {
            places.push(vec![edge]);
        } else {
            let at = random.below(places.len());
            places[at].push(edge);
        }
    }
    places
}

/// Where a token comes from: a node, and one choice of it or all.
type From = (NodeIx, Option<usize>);

fn node(graph: &mut Graph<String>, choices: usize) -> NodeIx {
    let node = graph.add_node(format!("n{}", graph.nodes.len()));
    graph.nodes[node].choices = vec![Choice::default(); choices];
    node
}

fn edge(graph: &mut Graph<String>, (from, choice): From, to: NodeIx) -> EdgeIx {
    let edge = graph.add_edge(from, to);
    for (at, taken) in graph.nodes[from].choices.iter_mut().enumerate() {
        if choice.is_none_or(|choice| choice == at) {
            taken.edges.push(edge);
        }
    }
    edge
}

fn then(graph: &mut Graph<String>, from: From, to: NodeIx) {
    let edge = edge(graph, from, to);
    graph.nodes[to].ways.push(Way::Plain(edge));
}

/// How several tokens relate that are to come together.
#[derive(Clone, Copy, PartialEq)]
enum Meeting {
    Exclusive,
    Together,
}

fn meet(random: &mut Random, graph: &mut Graph<String>, from: &[From], to: NodeIx, how: Meeting) {
    let edges: Vec<EdgeIx> = from.iter().map(|from| edge(graph, *from, to)).collect();
    let odd = random.in_percent(4);
    let ways = match (how, random.below(10)) {
        _ if odd => random_way(random, edges),
        (Meeting::Exclusive, 0..6) => edges.into_iter().map(Way::Plain).collect(),
        (Meeting::Exclusive, 6..8) => vec![Way::All(places(random, edges))],
        (Meeting::Exclusive, 8) if edges.len() > 2 => {
            let (one, others) = edges.split_at(1);
            vec![Way::Plain(one[0]), Way::All(others.iter().map(|edge| vec![*edge]).collect())]
        }
        (Meeting::Together, 0) if graph.nodes[to].ways.is_empty() => vec![Way::Any(edges)],
        _ => vec![Way::All(edges.into_iter().map(|edge| vec![edge]).collect())],
    };
    graph.nodes[to].ways.extend(ways);
}

/// A graph that is put together from shapes that are sound by themselves.
fn grown(random: &mut Random) -> Graph<String> {
    let mut graph = Graph::new("START".to_string(), "END".to_string());
    let mut fuel = 3 + random.below(12);
    let mut at: From = (START, None);
    if random.in_percent(20) {
        let ends = route(random, &mut graph, &mut fuel, START);
        if random.in_percent(40) {
            meet(random, &mut graph, &ends, END, Meeting::Exclusive);
            return graph;
        }
        let join = node(&mut graph, 1);
        meet(random, &mut graph, &ends, join, Meeting::Exclusive);
        at = (join, None);
    }
    while fuel > 0 {
        at = shape(random, &mut graph, &mut fuel, at);
    }
    if random.in_percent(20) {
        let ends = [(at.0, at.1), shape(random, &mut graph, &mut fuel, at)];
        meet(random, &mut graph, &ends, END, Meeting::Together);
    } else {
        then(&mut graph, at, END);
    }
    graph
}

fn shape(random: &mut Random, graph: &mut Graph<String>, fuel: &mut usize, from: From) -> From {
    if *fuel == 0 {
        let step = node(graph, 1);
        then(graph, from, step);
        return (step, None);
    }
    *fuel -= 1;
    match random.below(16) {
        0..2 => {
            let step = node(graph, 1);
            then(graph, from, step);
            (step, None)
        }
        2..5 => fork(random, graph, fuel, from),
        5..8 => {
            let choices = 2 + random.below(2);
            let router = node(graph, choices);
            then(graph, from, router);
            let ends = route(random, graph, fuel, router);
            let join = node(graph, 1);
            meet(random, graph, &ends, join, Meeting::Exclusive);
            (join, None)
        }
        8..12 => round(random, graph, fuel, from),
        12..14 => hand_over(random, graph, fuel, from),
        14 => planner(random, graph, fuel, from),
        _ => optional(random, graph, fuel, from),
    }
}

/// Several branches at once, and a join.
fn fork(random: &mut Random, graph: &mut Graph<String>, fuel: &mut usize, from: From) -> From {
    let fork = node(graph, 1);
    then(graph, from, fork);
    let mut ends: Vec<From> = Vec::new();
    for _ in 0..2 + random.below(2) {
        ends.push(shape(random, graph, fuel, (fork, None)));
    }
    if random.in_percent(10) {
        ends.pop();
    }
    let join = node(graph, 1);
    meet(random, graph, &ends, join, Meeting::Together);
    (join, None)
}

/// One branch for each choice of a router.
fn route(random: &mut Random, graph: &mut Graph<String>, fuel: &mut usize, router: NodeIx) -> Vec<From> {
    let choices = graph.nodes[router].choices.len().max(2);
    graph.nodes[router].choices.resize(choices, Choice::default());
    (0..choices).map(|choice| shape(random, graph, fuel, (router, Some(choice)))).collect()
}

/// Branches that a route may skip, and a join that takes what there is.
fn optional(random: &mut Random, graph: &mut Graph<String>, fuel: &mut usize, from: From) -> From {
    let branches = 2 + random.below(2);
    let choices = 2 + random.below(2);
    let router = node(graph, choices);
    then(graph, from, router);
    let mut ends = Vec::new();
    for branch in 0..branches {
        let step = node(graph, 1);
        let taken: Vec<bool> =
            (0..choices).map(|choice| choice % branches == branch || random.in_percent(40)).collect();
        if taken.iter().any(|taken| *taken) {
            let edge = graph.add_edge(router, step);
            graph.nodes[step].ways.push(Way::Plain(edge));
            for (choice, _) in taken.iter().enumerate().filter(|(_, taken)| **taken) {
                graph.nodes[router].choices[choice].edges.push(edge);
            }
            ends.push(shape(random, graph, fuel, (step, None)));
        }
    }
    let join = node(graph, 1);
    let edges: Vec<EdgeIx> = ends.iter().map(|end| edge(graph, *end, join)).collect();
    graph.nodes[join].ways.push(Way::All(edges.into_iter().map(|edge| vec![edge]).collect()));
    (join, None)
}

/// A loop with one head, perhaps with a branch on its side.
fn round(random: &mut Random, graph: &mut Graph<String>, fuel: &mut usize, from: From) -> From {
    let head = node(graph, 1);
    then(graph, from, head);
    let end = if random.in_percent(70) { shape(random, graph, fuel, (head, None)) } else { (head, None) };
    let router = node(graph, 2 + usize::from(random.in_percent(30)));
    then(graph, end, router);
    then(graph, (router, Some(0)), head);
    if random.in_percent(35) {
        let from = (router, if random.in_percent(50) { Some(0) } else { None });
        let side = shape(random, graph, fuel, from);
        if random.in_percent(30) {
            let other = shape(random, graph, fuel, (head, None));
            let join = node(graph, 1);
            meet(random, graph, &[side, other], join, Meeting::Together);
        }
    }
    if graph.nodes[router].choices.len() > 2 {
        let ends = [shape(random, graph, fuel, (router, Some(1))), (router, Some(2))];
        let join = node(graph, 1);
        meet(random, graph, &ends, join, Meeting::Exclusive);
        return (join, None);
    }
    (router, Some(1))
}

/// Agents that hand over to each other, entered at any of them.
fn hand_over(random: &mut Random, graph: &mut Graph<String>, fuel: &mut usize, from: From) -> From {
    let count = 2 + random.below(2);
    let router = node(graph, count);
    then(graph, from, router);
    let agents: Vec<NodeIx> = (0..count).map(|_| node(graph, count)).collect();
    for (at, agent) in agents.iter().enumerate() {
        if at < 2 || random.in_percent(60) {
            then(graph, (router, Some(at)), *agent);
        } else {
            then(graph, (router, Some(at)), agents[0]);
        }
        let others: Vec<NodeIx> = agents.iter().copied().filter(|other| other != agent).collect();
        for (choice, other) in others.into_iter().enumerate() {
            then(graph, (*agent, Some(choice)), other);
        }
    }
    if random.in_percent(20) {
        let side = (agents[0], Some(0));
        shape(random, graph, fuel, side);
    }
    let ends: Vec<From> = agents.iter().map(|agent| (*agent, Some(count - 1))).collect();
    if random.in_percent(30) {
        return (agents[0], Some(count - 1));
    }
    let join = node(graph, 1);
    meet(random, graph, &ends, join, Meeting::Exclusive);
    (join, None)
}

/// A planner with workers, whose join leads back to it.
fn planner(random: &mut Random, graph: &mut Graph<String>, fuel: &mut usize, from: From) -> From {
    let head = node(graph, 2);
    then(graph, from, head);
    let workers = 1 + random.below(3);
    let ends: Vec<From> = (0..workers).map(|_| shape(random, graph, fuel, (head, Some(0)))).collect();
    meet(random, graph, &ends, head, Meeting::Together);
    (head, Some(1))
}

/// Changes one thing.
fn disturb(random: &mut Random, graph: &mut Graph<String>) {
    let nodes = graph.nodes.len();
    match random.below(8) {
        // An edge between anything and anything, as a way of its own or in one that is there.
        0..3 => {
            let from = (0..1000).map(|_| random.below(nodes)).find(|node| *node != END).unwrap_or(START);
            let to = 1 + random.below(nodes - 1);
            let choice = random.below(graph.nodes[from].choices.len() + 1);
            let edge = edge(graph, (from, choice.checked_sub(1)), to);
            let ways = &mut graph.nodes[to].ways;
            let place = random.below(ways.len() + 2);
            match ways.get_mut(place) {
                Some(Way::All(places)) => places.push(vec![edge]),
                Some(Way::Any(edges)) => edges.push(edge),
                Some(way @ Way::Plain(_)) => {
                    let other = way.edges().next().unwrap_or(edge);
                    *way = Way::All(vec![vec![other], vec![edge]]);
                }
                None => ways.push(Way::Plain(edge)),
            }
        }
        // An edge in one more choice, or in one less.
        3 => {
            if let Some(edge) = random_edge(random, graph) {
                let from = graph.edges[edge].from;
                let choice = random.below(graph.nodes[from].choices.len());
                let taken = &mut graph.nodes[from].choices[choice].edges;
                if !taken.contains(&edge) {
                    taken.push(edge);
                }
            }
        }
        4 => {
            if let Some(edge) = random_edge(random, graph) {
                crate::shrink::without_edge(graph, edge);
            }
        }
        // A node gets one more choice, with the edges of one that it has, or with none.
        5 => {
            let node = (0..1000).map(|_| random.below(nodes)).find(|node| *node != END).unwrap_or(START);
            let like = random.below(graph.nodes[node].choices.len());
            let choice =
                if random.in_percent(50) { graph.nodes[node].choices[like].clone() } else { Choice::default() };
            graph.nodes[node].choices.push(choice);
        }
        // The ways into a node are parted anew.
        _ => {
            let to = 1 + random.below(nodes - 1);
            let mut edges: Vec<EdgeIx> = graph.nodes[to].ways.iter().flat_map(Way::edges).collect();
            random.shuffle(&mut edges);
            graph.nodes[to].ways = if edges.is_empty() { vec![] } else { random_way(random, edges) };
        }
    }
}

fn random_edge(random: &mut Random, graph: &Graph<String>) -> Option<EdgeIx> {
    (!graph.edges.is_empty()).then(|| random.below(graph.edges.len()))
}
