//! What is searched, and for how long.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::Ordering;

use super::check::judged;
use super::crashes::{Counts, SignalCounts, at_every_commit};
use super::disk::Takeovers;
use super::scenario::Scenario;
use super::{draw, shrink};
use crate::driver::THAWED;

fn number(name: &str, default: u64) -> u64 {
    match std::env::var(name) {
        Ok(text) => text.parse().unwrap_or_else(|_| panic!("{name} is a number")),
        Err(_) => default,
    }
}

/// Plays it; a panic breaks something as well.
fn tried(scenario: &Scenario) -> Result<super::play::Played, String> {
    catch_unwind(AssertUnwindSafe(|| judged(scenario))).unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().map(String::as_str).or(panic.downcast_ref::<&str>().copied());
        Err(format!("a panic: {}", text.unwrap_or_default()))
    })
}

/// Says what breaks, in as small a scenario as can be found.
fn fail(seed: u64, scenario: &Scenario, why: &str) -> ! {
    // To make it smaller may take a while.
    eprintln!("seed {seed}: {why}");
    let small = shrink::shrink(scenario.clone(), |smaller| tried(smaller).is_err());
    let still = tried(&small).err().unwrap_or_default();
    panic!(
        "seed {seed}: {why}\n\nagain:\n  GRAPHWEFT_SEED={seed} GRAPHWEFT_RUNS=1 cargo test -p graphweft --lib sim::tests\n\n\
         shrunk: {still}\n\nagain:\n  GRAPHWEFT_SCENARIO='{}' cargo test -p graphweft --lib sim::tests::one\n",
        serde_json::to_string(&small).expect("a scenario is data")
    );
}

fn keep_every_promise(draw: fn(u64) -> Scenario, runs: u64) -> Counts {
    let (first, runs) = (number("GRAPHWEFT_SEED", 1), number("GRAPHWEFT_RUNS", runs));
    let mut counts = Counts::default();
    for seed in first..first + runs {
        let scenario = draw(seed);
        match tried(&scenario) {
            Ok(played) => counts.add(&played),
            Err(why) => fail(seed, &scenario, &why),
        }
    }
    println!("seeds {first}..{}: {counts:?}", first + runs);
    counts
}

/// What is drawn really happens: in one of so many runs, or more.
fn happens(what: &str, count: u64, counts: &Counts, in_so_many: u64) {
    assert!(count >= counts.runs / in_so_many, "of {} runs, {count} {what}", counts.runs);
}

#[test]
fn random_runs_keep_every_promise() {
    _ = keep_every_promise(draw::scenario, 200);
}

#[test]
fn random_runs_are_resumed_from_their_snapshots() {
    let before = THAWED.load(Ordering::Relaxed);
    let counts = keep_every_promise(draw::scenario, 100);
    happens("were resumed from a snapshot", (THAWED.load(Ordering::Relaxed) - before) as u64, &counts, 4);
}

#[test]
fn random_runs_that_are_retried_keep_every_promise() {
    _ = keep_every_promise(draw::retried, 200);
}

#[test]
fn random_runs_that_are_retried_from_a_node_keep_every_promise() {
    _ = keep_every_promise(draw::again, 60);
}

#[test]
fn random_runs_whose_retry_is_requested_keep_every_promise() {
    let counts = keep_every_promise(draw::requested, 120);
    happens("were retried by request", counts.requested.0, &counts, 3);
    happens("were asked for more before the retry", counts.requested.1, &counts, 60);
}

#[test]
fn a_run_whose_retry_is_requested_outlives_the_failure_of_any_commit() {
    outlives(|seed| Scenario { forks: Vec::new(), ..draw::requested(seed) }, 20);
}

#[test]
fn random_items_that_a_retry_reopens_keep_every_promise() {
    keep_every_promise(draw::reopened_items, 60);
}

#[test]
fn random_child_workflows_in_retried_runs_keep_every_promise() {
    _ = keep_every_promise(draw::retried_child_workflows, 60);
}

#[test]
fn random_runs_that_are_forked_keep_every_promise() {
    _ = keep_every_promise(draw::forked, 40);
}

#[test]
fn random_runs_that_are_taken_over_from_a_process_that_lives_keep_every_promise() {
    let counts = keep_every_promise(draw::taken_over, 80);
    let Takeovers { taken, taken_back, refused } = counts.takeovers;
    happens("were taken over", taken, &counts, 2);
    happens("were taken back", taken_back, &counts, 20);
    happens("appends were refused", refused, &counts, 4);
    happens("attempts were repeated", counts.repeated, &counts, 4);
}

#[test]
fn random_runs_of_graphs_with_time_limits_keep_every_promise() {
    let counts = keep_every_promise(draw::limited, 60);
    happens("graphs were timed out", counts.timed_out, &counts, 6);
}

#[test]
fn random_runs_that_are_forked_before_they_are_over_keep_every_promise() {
    let counts = keep_every_promise(draw::forked_early, 60);
    happens("were forked before they were over", counts.forked_early.0, &counts, 3);
    happens("were forked while they waited", counts.forked_early.1, &counts, 20);
}

#[test]
fn random_runs_whose_forks_are_requested_keep_every_promise() {
    let counts = keep_every_promise(draw::requested_forks, 80);
    happens("forks were requested", counts.requested_forks.0, &counts, 2);
    happens("were asked for more before they were carried out", counts.requested_forks.1, &counts, 30);
    happens("were forked by request while they waited", counts.forked_early.1, &counts, 30);
}

#[test]
fn a_run_whose_fork_is_requested_outlives_the_failure_of_any_commit() {
    outlives(draw::requested_forks, 15);
}

#[test]
fn random_runs_that_wait_for_signals_keep_every_promise() {
    let counts = keep_every_promise(draw::signalled, 200);
    let SignalCounts { delivered, again, rejected, early } = counts.signals;
    happens("signals were delivered", delivered, &counts, 1);
    happens("signals were delivered again", again, &counts, 20);
    happens("signals were rejected", rejected, &counts, 10);
    happens("signals came before their waits", early, &counts, 4);
}

#[test]
fn random_runs_that_start_over_keep_every_promise() {
    let counts = keep_every_promise(draw::started_over, 150);
    happens("started over", counts.started_over, &counts, 3);
}

#[test]
fn a_run_that_starts_over_outlives_the_failure_of_any_commit() {
    outlives(draw::started_over, 40);
}

#[test]
fn a_run_that_waits_for_signals_outlives_the_failure_of_any_commit() {
    outlives(draw::signalled, 40);
}

#[test]
fn a_run_that_is_forked_before_it_is_over_outlives_the_failure_of_any_commit() {
    outlives(draw::forked_early, 20);
}

#[test]
fn a_graph_with_a_time_limit_outlives_the_failure_of_any_commit() {
    outlives(draw::limited, 20);
}

#[test]
fn one_scenario_gives_one_run_to_the_byte() {
    let first = number("GRAPHWEFT_SEED", 1);
    for seed in first..first + number("GRAPHWEFT_RUNS", 200) / 10 {
        let scenario = draw::scenario(seed);
        let [one, other] = [(); 2].map(|()| judged(&scenario).map(|played| played.log).unwrap_or_default());
        let differs = one.iter().zip(&other).find(|(one, other)| one != other);
        assert!(one == other, "seed {seed} gives two runs, and they part at {differs:#?}");
    }
}

/// Lets the store fail at every commit of scenarios that are drawn like this, until so many processes have died.
fn outlives(draw: fn(u64) -> Scenario, crashes: u64) {
    let (first, crashes) = (number("GRAPHWEFT_SEED", 1), number("GRAPHWEFT_CRASHES", crashes));
    let mut counts = Counts::default();
    let mut seed = first;
    while counts.crashes < crashes {
        let scenario = draw(seed);
        if let Err(broken) = at_every_commit(&scenario, &mut counts) {
            let (scenario, why) = *broken;
            fail(seed, &scenario, &why);
        }
        seed += 1;
    }
    println!("seeds {first}..{seed}: {counts:?}");
}

#[test]
fn a_run_outlives_the_failure_of_any_commit() {
    outlives(draw::scenario, 50);
}

#[test]
fn a_child_workflow_outlives_the_failure_of_any_commit() {
    outlives(draw::child_workflows, 50);
}

#[test]
fn a_child_workflow_in_a_retried_run_outlives_the_failure_of_any_commit() {
    outlives(draw::retried_child_workflows, 15);
}

#[test]
fn a_retried_run_outlives_the_failure_of_any_commit() {
    outlives(draw::retried, 50);
}

#[test]
fn a_run_that_is_retried_from_a_node_outlives_the_failure_of_any_commit() {
    outlives(draw::again, 15);
}

#[test]
fn items_that_a_retry_reopens_outlive_the_failure_of_any_commit() {
    outlives(draw::reopened_items, 15);
}

#[test]
fn a_forked_run_outlives_the_failure_of_any_commit() {
    outlives(draw::forked, 15);
}

/// Plays what a failing search has printed.
#[test]
fn one() {
    let Ok(text) = std::env::var("GRAPHWEFT_SCENARIO") else { return };
    let scenario: Scenario = serde_json::from_str(&text).expect("a scenario");
    match judged(&scenario) {
        Ok(played) => println!("{}\n{:?}", played.log.join("\n"), played.runs),
        Err(why) => panic!("{why}"),
    }
}
