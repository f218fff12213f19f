//! A loop with parallel work inside: a planner that sends workers out and goes on with what they bring.

use graphweft::prelude::*;
use graphweft_tests::{records_of, started};

#[value]
#[derive(Route)]
enum Plan {
    Go(u32),
    Done(u32),
}

#[node]
async fn plan(a: u32, b: u32) -> Plan {
    if a + b < 20 { Plan::Go(a + b) } else { Plan::Done(a + b) }
}

#[node]
async fn left(n: u32) -> u32 {
    n + 1
}

#[node]
async fn right(n: u32) -> u32 {
    n * 2
}

workflow! {
    planner(u32, u32) -> u32 {
        START => plan => <go: (left, right), done: END>;
        (left, right) => plan;
    }
}

#[tokio::test]
async fn a_planner_goes_on_with_what_both_workers_gave() {
    // (1, 1) -> 2 -> (3, 4) -> 7 -> (8, 14) -> 22
    assert_eq!(planner(1, 1).await.unwrap(), 22);
}

#[tokio::test]
async fn the_workers_of_a_turn_are_joined_under_that_turn() {
    let events = records_of::<planner>((1, 1)).await;
    let plans: Vec<String> = started(&events).into_iter().filter(|path| path.contains("/plan")).collect();
    assert_eq!(plans, ["planner/plan", "planner/plan#2", "planner/plan#3"]);
}

#[tokio::test]
async fn a_planner_may_be_done_at_once() {
    assert_eq!(planner(10, 10).await.unwrap(), 20);
}

#[tokio::test]
async fn a_planner_may_take_one_worker_in_one_turn_and_both_in_another() {
    #[value]
    #[derive(Route)]
    enum Step {
        Both(u32),
        Left(u32),
        Done(String),
    }
    #[node]
    async fn choose(a: u32, b: Option<u32>) -> Step {
        match (a, b) {
            (0, _) => Step::Both(0),
            (a, Some(_)) => Step::Left(a),
            (a, None) => Step::Done(format!("{a}")),
        }
    }
    let flow = workflow! {
        (u32, Option<u32>) -> String {
            START => choose => <both: (left, right), left: left, done: END>;
            (left, right) => choose;
        }
    };
    assert_eq!(flow.run((0, None)).await.unwrap(), "2");
}
