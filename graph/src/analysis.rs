//! The exact analysis: a graph is sound, or refused with every reason.
//!
//! It accepts a graph if and only if, whatever its nodes choose, no node runs twice in one turn of its loop, no join
//! waits for ever, and END is given exactly one value; where every node can be reached and every loop can be left. The
//! meaning of a graph is that of tagged-token dataflow (Arvind and Culler, 1986) with dead-path elimination (WS-BPEL
//! 2.0, section 11.6.2): a finished node puts a live or a dead token on each of its edges, a join waits for a token on
//! every edge and needs only one of them live.
//!
//! That last rule makes it cheap. A node runs if a path leads to it, so every question is about two paths at most: can
//! these two edges be live together ([`pairs`]), can this one be live while that one is dead ([`presence`])?
//! One choice for each node settles both, and paths through an acyclic graph can be followed node by node. The loops
//! are taken apart until each turn is acyclic ([`nest`]), and proven from the inside out ([`scopes`]). In the loop
//! around it, a loop is represented by its last turn.

mod closing;
mod components;
mod nest;
mod net;
mod output;
mod pairs;
mod presence;
mod scopes;
mod sides;
mod stopping;
mod ways;
mod wiring;

use crate::{Graph, Plan, Problem};
pub use components::component_of_each;

use closing::Detail;
use net::Net;

/// Proves a graph, or returns every problem of it.
///
/// The result depends on the graph alone. Problems come in the same order each time, and one that only follows from
/// another is left out: a node behind an unreachable one, say, or a missing output behind a loop that cannot be left.
///
/// ```
/// use graphweft_graph::{analyse, Graph, END, START};
///
/// let mut graph = Graph::new("START", "END");
/// let [fetch, rank] = ["fetch", "rank"].map(|name| graph.add_node(name));
/// graph.connect(START, fetch);
/// graph.connect(fetch, rank);
/// graph.connect(rank, END);
/// assert!(analyse(&graph).is_ok());
///
/// graph.connect(rank, fetch); // round for ever
/// assert!(analyse(&graph).is_err());
/// ```
///
/// # Errors
/// Every [`Problem`] that was found; never an empty list.
///
/// # Panics
/// On a table that contradicts itself: an edge, a choice or a way that names a node or an edge which is not there.
pub fn analyse<Id>(graph: &Graph<Id>) -> Result<Plan, Vec<Problem>> {
    let choices: Vec<_> = graph.nodes.iter().map(|node| node.choices.as_slice()).collect();
    let ways: Vec<_> = graph.nodes.iter().map(|node| node.ways.as_slice()).collect();
    prove(&Net::new(&graph.edges, choices, ways))
}

fn prove(net: &Net<'_>) -> Result<Plan, Vec<Problem>> {
    let mut problems = Vec::new();
    let plan = pass(net, Detail::Ends, &mut problems);
    if problems.is_empty() {
        return Ok(plan);
    }
    problems.clear();
    pass(net, Detail::Routes, &mut problems);
    Err(problems)
}

fn pass(net: &Net<'_>, detail: Detail, problems: &mut Vec<Problem>) -> Plan {
    wiring::check(net, problems);
    let endless = stopping::check(net, problems);
    let nest = nest::take_apart(net, problems);
    scopes::prove(net, nest, detail, &endless, problems)
}
