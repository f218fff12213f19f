//! Random larger graphs: the analysis and the judge agree, on acceptance and on all of the plan.
//!
//! `GRAPHWEFT_GRAPHS` says how many are compared (100,000, or 3,000 without optimisations), `GRAPHWEFT_SEED` where to
//! begin; graph `n` of a search depends on the
//! seed plus `n` alone.

use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::compare::{Agreed, compare};
use crate::random_graphs::{self, Random};
use crate::{notation, shrink};

#[test]
fn the_analysis_and_the_judge_agree_on_random_graphs() {
    let number = |name: &str, default: u64| match std::env::var(name) {
        Ok(text) => text.parse().expect("a number"),
        Err(_) => default,
    };
    let graphs = number("GRAPHWEFT_GRAPHS", if cfg!(debug_assertions) { 3_000 } else { 100_000 });
    let first = number("GRAPHWEFT_SEED", 1);
    let mut counts = Counts::default();
    for seed in first..first + graphs {
        let graph = random_graphs::graph(&mut Random::new(seed));
        let compared = catch_unwind(AssertUnwindSafe(|| compare(&graph))).unwrap_or(Err("a panic".into()));
        match compared {
            Ok(agreed) => counts.add(agreed),
            Err(why) => {
                let disagree =
                    |graph: &_| catch_unwind(AssertUnwindSafe(|| compare(graph))).map_or(true, |at| at.is_err());
                let small = shrink::shrink(graph.clone(), disagree);
                let still = catch_unwind(AssertUnwindSafe(|| compare(&small))).unwrap_or(Err("a panic".into()));
                panic!(
                    "seed {seed}: {why}\n  {}\nshrunk: {still:?}\n  {}\n{small:?}",
                    notation::write(&graph),
                    notation::write(&small)
                );
            }
        }
    }
    println!("seeds {first}..{}: {counts:?}", first + graphs);
    assert!(graphs < 1000 || counts.accepted * 4 > graphs, "too few sound graphs to mean much");
}

#[derive(Debug, Default)]
struct Counts {
    refused: u64,
    accepted: u64,
    with_loops: u64,
    with_nested_loops: u64,
    with_side_branches: u64,
    with_many_heads: u64,
    with_optional_places: u64,
}

impl Counts {
    fn add(&mut self, agreed: Agreed) {
        match agreed {
            Agreed::Refused => self.refused += 1,
            Agreed::Accepted { loops, nested, on_side, many_heads, optional } => {
                self.accepted += 1;
                self.with_loops += u64::from(loops > 0);
                self.with_nested_loops += u64::from(nested);
                self.with_side_branches += u64::from(on_side);
                self.with_many_heads += u64::from(many_heads);
                self.with_optional_places += u64::from(optional);
            }
        }
    }
}
