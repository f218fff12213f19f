//! The collecting nodes that come with graphweft: the first of several, and the first k of n.

use graphweft::prelude::*;
use graphweft::{First, FirstN};
use graphweft_tests::{failure, paths, records_of, seconds_since};

#[node]
async fn one(n: u32) -> u32 {
    n + 1
}

#[node]
async fn two(n: u32) -> u32 {
    n + 2
}

#[node]
async fn never(_n: u32) -> u32 {
    std::future::pending().await
}

#[node]
async fn some(n: u32) -> Option<u32> {
    (n > 0).then_some(n)
}

#[node]
async fn nothing() -> u32 {
    0
}

workflow! {
    race(u32) -> u32 {
        let fastest: First<u32> = First::new();
        START => (never, two);
        never | two => fastest;
    }
}

#[tokio::test]
async fn the_first_arrival_wins() {
    assert_eq!(race(1).await.unwrap(), 3);
}

#[tokio::test]
async fn the_losers_are_cancelled() {
    let stopped = paths(&records_of::<race>(1).await, |kind| *kind == graphweft::EventKind::NodeCancelled);
    assert_eq!(stopped, ["race/never"]);
}

#[tokio::test]
async fn k_arrivals_are_enough() {
    let flow = workflow! {
        let two_of_three: FirstN<u32> = FirstN::new(2);
        START => (one, never, two);
        one | never | two => two_of_three
    };
    let mut values = flow.run(0).await.unwrap();
    values.sort_unstable();
    assert_eq!(values, [1, 2]);
}

#[tokio::test]
async fn fewer_than_k_arrivals_fail_the_run_by_the_nodes_name() {
    workflow! {
        quorum(u32) -> Vec<u32> {
            let both: FirstN<u32> = FirstN::new(2);
            START => (one, some);
            some => <some: two, none: nothing>;
            one | two => both => END;
        }
    }
    assert_eq!(failure(quorum(0).await).path, "quorum/both");
}

#[tokio::test(start_paused = true)]
async fn a_question_may_race_against_the_clock() {
    #[node]
    async fn timeout(_n: u32) -> u32 {
        tokio::time::sleep(std::time::Duration::from_secs(60)).await;
        0
    }
    let flow = workflow! {
        let first: First<u32> = First::new();
        START => (never, timeout);
        never | timeout => first
    };
    let start = tokio::time::Instant::now();
    flow.run(1).await.unwrap();
    assert_eq!(seconds_since(start), 60);
}
