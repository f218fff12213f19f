//! Every small graph that the analysis accepts, along every choice of routes: analysis, judge, oracle and engine agree.

use std::collections::BTreeSet;

use graphweft_graph::{NodeIx, START, analyse};
use graphweft_judge::judge::judge;
use graphweft_judge::{notation, small_graphs};

use super::behaviour::Routing;
use super::check::judged;
use super::oracle;
use super::scenario::{Flow, Scenario};
use super::story::Story;

/// How many choices of routes of one graph are played at most; loops have a great many.
const ROUTES: usize = 40;

#[derive(Debug, Default)]
struct Counts {
    graphs: u64,
    with_loops: u64,
    runs: u64,
}

fn run_every_graph(nodes: usize, edges: usize) {
    let mut counts = Counts::default();
    small_graphs::every_graph(nodes, edges, &mut |graph| {
        if analyse(graph).is_err() {
            return;
        }
        let flow = Flow { graph: notation::write(graph), ..Flow::default() };
        if let Err(why) = run_every_route(&flow, &mut counts) {
            panic!("{}\n  {why}", flow.graph);
        }
    });
    println!("{nodes} nodes, at most {edges} edges: {counts:?}");
    assert!(counts.graphs > 0);
}

fn run_every_route(flow: &Flow, counts: &mut Counts) -> Result<(), String> {
    let proven = flow.prove().ok_or("what was written and read back is refused")?;
    let verdict = judge(&proven.graph)?;
    counts.graphs += 1;
    counts.with_loops += u64::from(!proven.plan.loops.is_empty());
    let mut fired: BTreeSet<(NodeIx, usize, u64)> = BTreeSet::new();
    let mut is_all = true;
    for choice in 0..proven.graph.nodes[START].choices.len() as u64 {
        // A routed START chooses by its input.
        let mut scenario = Scenario { chance: choice << 15, flow: flow.clone(), ..Scenario::default() };
        for played in 0.. {
            let story = takes_first_routes(&mut scenario);
            judged(&scenario).map_err(|why| format!("by the routes {:?}: {why}", scenario.routes))?;
            counts.runs += 1;
            fired.extend(story.fired.iter().copied());
            if !takes_other_routes(&mut scenario, &story) {
                break;
            }
            if played == ROUTES {
                is_all = false;
                break;
            }
        }
    }
    let seen: BTreeSet<(NodeIx, usize, u64)> = (verdict.fired.iter().enumerate())
        .flat_map(|(node, ways)| ways.iter().enumerate().map(move |(way, places)| (node, way, places)))
        .flat_map(|(node, way, places)| places.iter().map(move |places| (node, way, *places)))
        .collect();
    if let Some(unseen) = fired.difference(&seen).next() {
        return Err(format!("the judge has not seen {unseen:?} fire"));
    }
    if let Some(missing) = seen.difference(&fired).next().filter(|_| is_all) {
        return Err(format!("the judge has seen {missing:?} fire, and no run does"));
    }
    Ok(())
}

/// Has nodes without a route in the scenario take their first choice.
fn takes_first_routes(scenario: &mut Scenario) -> Story {
    loop {
        let story = oracle::tell(scenario, &BTreeSet::new());
        let is_unsaid = |(path, _, _): &&(String, Routing, usize)| !scenario.routes.contains_key(path);
        let mut unsaid = story.routes.iter().filter(is_unsaid);
        match unsaid.find_map(|(path, routing, choice)| {
            let first = routing.free().into_iter().next()?;
            (first != *choice).then(|| (path.clone(), first))
        }) {
            Some((path, first)) => _ = scenario.routes.insert(path, first),
            None => return story,
        }
    }
}

/// The next choice of routes, in their order; `false` behind the last.
fn takes_other_routes(scenario: &mut Scenario, story: &Story) -> bool {
    for (at, (path, routing, choice)) in story.routes.iter().enumerate().rev() {
        if let Some(next) = routing.free().into_iter().find(|next| next > choice) {
            let before = story.routes[..at].iter().map(|(path, _, choice)| (path.clone(), *choice));
            scenario.routes = before.chain([(path.clone(), next)]).collect();
            return true;
        }
    }
    false
}

/// The number for a build with optimisations, or a smaller one for one without.
const fn sized(optimised: usize, otherwise: usize) -> usize {
    if cfg!(debug_assertions) { otherwise } else { optimised }
}

#[test]
fn every_accepted_graph_of_one_node_runs_along_every_route() {
    run_every_graph(1, 4);
}

#[test]
fn every_accepted_small_graph_of_two_nodes_runs_along_every_route() {
    run_every_graph(2, sized(6, 4));
}

#[test]
fn every_accepted_small_graph_of_three_nodes_runs_along_every_route() {
    run_every_graph(3, sized(5, 4));
}
