//! Writes a program to measure what the state proofs cost the compiler: 500 nodes in blocks of a router, two branches and
//! a join, of which some read ten keys each and others write them, and one constant for each reader and writer.
//!
//! ```sh
//! cargo run -q --release -p graphweft-graph --example state_cost -- 500 50 > checked.rs
//! cargo run -q --release -p graphweft-graph --example state_cost -- 500 0 > without.rs
//! rustc --edition 2024 --crate-type lib --emit metadata --extern graphweft_graph=.. -L .. checked.rs
//! ```

use graphweft_graph::state_proof::{NodeRoles, StateGraph};
use graphweft_graph::{Choice, END, Graph, NodeIx, START, Way, analyse};

struct NoRoles;

impl NodeRoles for NoRoles {
    fn is_failure(&self, _: NodeIx, _: usize) -> bool {
        false
    }

    fn runs_for_items(&self, _: NodeIx) -> bool {
        false
    }
}

/// So many keys for each reader.
const KEYS: usize = 10;

fn main() {
    let mut arguments = std::env::args().skip(1).map(|text| text.parse::<usize>().expect("a number"));
    let (nodes, readers) = (arguments.next().unwrap_or(500), arguments.next().unwrap_or(50));
    let graph = blocks(nodes / 4);
    let plan = analyse(&graph).expect("blocks are sound");
    let numbers = StateGraph::encode(&graph, &plan, &NoRoles);
    let blocks = graph.nodes.len() / 4;

    println!("use graphweft_graph::state_proof::*;");
    for key in 0..KEYS {
        println!("const KEY_{key}: StateKeyFact = StateKeyFact::overwrite(\"key_{key}\");");
    }
    let keys: String = (0..KEYS).map(|key| format!("KEY_{key}, ")).collect();
    println!("const KEYS: &[StateKeyFact] = &[{keys}];");
    println!("const READS: StateFacts = StateFacts {{ reads: KEYS, ..StateFacts::NONE }};");
    println!("const WRITES: StateFacts = StateFacts {{ writes: KEYS, ..StateFacts::NONE }};");
    println!("const GRAPH: &[u32] = &{numbers:?};");
    // The branches of the first blocks write, and joins read.
    let every = (blocks / readers.max(1)).max(1);
    let is_reader =
        |node: usize| readers > 0 && node > 5 && (node - 2) % 4 == 3 && ((node - 2) / 4).is_multiple_of(every);
    let is_writer = |node: usize| readers > 0 && node < 2 + 4 * 5 && [1, 2].contains(&((node.wrapping_sub(2)) % 4));
    let facts = |node: usize| match node {
        _ if is_reader(node) => "READS, ",
        _ if is_writer(node) => "WRITES, ",
        _ => "StateFacts::NONE, ",
    };
    println!("const FACTS: &[StateFacts] = &[{}];", (0..graph.nodes.len()).map(facts).collect::<String>());
    for node in 2..graph.nodes.len() {
        println!("const _: () = assert!(unwritten_read(GRAPH, FACTS, &[], {node}).is_none());");
        println!("const _: () = assert!(overlapping_write(GRAPH, FACTS, {node}).is_none());");
    }
}

/// `router => <left, right>; (left, right) => join`, one after the other.
fn blocks(count: usize) -> Graph<usize> {
    let mut graph = Graph::new(0, 1);
    let mut last = START;
    for _ in 0..count {
        let [router, left, right, join] = [2, 1, 1, 1].map(|choices| {
            let node = graph.add_node(graph.nodes.len());
            graph.nodes[node].choices = vec![Choice::default(); choices];
            node
        });
        graph.connect(last, router);
        let mut into = Vec::new();
        for (choice, branch) in [left, right].into_iter().enumerate() {
            let edge = graph.add_edge(router, branch);
            graph.nodes[router].choices[choice].edges.push(edge);
            graph.nodes[branch].ways.push(Way::Plain(edge));
            let edge = graph.add_edge(branch, join);
            graph.nodes[branch].choices[0].edges.push(edge);
            into.push(vec![edge]);
        }
        graph.nodes[join].ways.push(Way::All(into));
        last = join;
    }
    graph.connect(last, END);
    graph
}
