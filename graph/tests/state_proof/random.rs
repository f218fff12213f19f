//! Random larger graphs with readers, writers and failures: the proofs and the judge agree.
//!
//! `GRAPHWEFT_GRAPHS` says how many sound ones are compared (100,000, about a minute, or 300 without optimisations), `GRAPHWEFT_SEED`
//! where to begin; a case depends on its seed alone.

use graphweft_graph::{END, START, analyse};
use graphweft_judge::judge::KeyUse;
use graphweft_judge::random_graphs::{self, Random};
use graphweft_judge::shrink;

use crate::case::{Agreed, Case};

#[test]
fn proofs_and_judge_agree_on_random_graphs() {
    let number = |name: &str, default: u64| match std::env::var(name) {
        Ok(text) => text.parse().expect("a number"),
        Err(_) => default,
    };
    let wanted = number("GRAPHWEFT_GRAPHS", if cfg!(debug_assertions) { 300 } else { 100_000 });
    let first = number("GRAPHWEFT_SEED", 1);
    let (mut total, mut cases, mut seed) = (Agreed::default(), 0, first);
    while cases < wanted {
        let case = case(seed);
        seed += 1;
        let Some(case) = case else { continue };
        match case.compare(MOST_STATES) {
            Ok(agreed) => {
                let agreed = agreed.unwrap_or_default();
                cases += 1 - agreed.unplayed;
                total.add(agreed);
            }
            Err(why) => {
                let small = smallest(case.clone());
                let still = small.compare(MOST_STATES);
                panic!("seed {}: {why}\n  {}\nshrunk: {still:?}\n  {}", seed - 1, case.text(), small.text());
            }
        }
    }
    println!("seeds {first}..{seed}: {cases} cases, {total:?}");
    assert!(cases < 1000 || total.unplayed * 5 < cases, "too few cases were played");
    assert!(cases < 1000 || (total.unwritten * 20 > total.reads && total.unwritten * 20 < total.reads * 19));
}

const MOST_STATES: usize = 1_000;

/// A sound graph, with what its nodes do; `None` if this seed gives none.
fn case(seed: u64) -> Option<Case> {
    let mut random = Random::new(seed);
    let graph = random_graphs::graph(&mut random);
    if graph.nodes.len() > 12 || analyse(&graph).is_err() {
        return None;
    }
    let (reading, writing) = (30 + random.below(40), 10 + random.below(50));
    let mut uses = vec![KeyUse::default(); graph.nodes.len()];
    for node in (0..graph.nodes.len()).filter(|node| *node != START && *node != END) {
        let mut keys = |percent: usize| (0..3).fold(0, |keys, key| keys | u8::from(random.in_percent(percent)) << key);
        uses[node].reads = keys(reading);
        uses[node].writes = keys(writing);
        let choices = graph.nodes[node].choices.len();
        if choices > 1 && random.in_percent(40) {
            uses[node].failures = vec![false; choices];
            uses[node].failures[random.below(choices)] = true;
        }
    }
    for _ in 0..4 {
        let node = random.below(graph.nodes.len());
        uses[node].is_watched = node > END;
    }
    Some(Case { graph, uses })
}

/// Takes away what a disagreement does not need.
fn smallest(mut case: Case) -> Case {
    loop {
        let smaller = smaller(&case).into_iter().find(|case| case.compare(MOST_STATES).is_err());
        match smaller {
            Some(smaller) => case = smaller,
            None => return case,
        }
    }
}

fn smaller(case: &Case) -> Vec<Case> {
    let mut all = Vec::new();
    for node in 0..case.uses.len() {
        let KeyUse { reads, writes, failures, is_watched } = &case.uses[node];
        let mut other = |change: &dyn Fn(&mut KeyUse)| {
            let mut smaller = case.clone();
            change(&mut smaller.uses[node]);
            all.push(smaller);
        };
        for key in 0..3 {
            if reads & 1 << key != 0 {
                other(&|uses| uses.reads &= !(1 << key));
            }
            if writes & 1 << key != 0 {
                other(&|uses| uses.writes &= !(1 << key));
            }
        }
        if !failures.is_empty() {
            other(&|uses| uses.failures.clear());
        }
        if *is_watched {
            other(&|uses| uses.is_watched = false);
        }
    }
    for graph in shrink::smaller(&case.graph) {
        let use_of = |name: &String| {
            let before = case.graph.nodes.iter().position(|node| node.id == *name);
            before.map_or_else(KeyUse::default, |node| case.uses[node].clone())
        };
        let uses = graph.nodes.iter().map(|node| use_of(&node.id)).collect();
        all.push(Case { graph, uses });
    }
    all
}
