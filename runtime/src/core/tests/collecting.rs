use serde_json::json;

use super::sim::workflow;
use crate::core::{WriteSet, Writes};
use crate::fault::Fault;
use crate::state_write::{StateOp, StateWrite};

fn nothing() -> Writes {
    Writes::default()
}

const RACE: &str = "START>a; START>b; a|b>first; first>END";

#[test]
fn a_collecting_node_runs_for_its_first_arrival_while_others_still_work() {
    let mut run = workflow(RACE).start();
    run.done("w/b", 2);
    assert_eq!(run.running(), ["w/a", "w/first"]);
}

#[test]
fn the_first_output_completes_it_and_later_arrivals_are_dropped() {
    let mut run = workflow("START>a; START>b; a|b>first; b>log; first>END").start();
    run.done("w/a", 1);
    run.done("w/first", 5);
    run.done("w/b", 2);
    run.done("w/log", 1);
    assert_eq!(run.started.iter().filter(|path| *path == "w/first").count(), 1);
    assert_eq!(run.output(), 5);
}

#[test]
fn arrivals_are_taken_one_at_a_time_in_order() {
    let mut run = workflow("START>a; START>b; START>c; a|b|c>all; all>END").start();
    run.done("w/c", 3);
    run.done("w/a", 1);
    assert_eq!(run.started.iter().filter(|path| *path == "w/all").count(), 1);
    run.waits("w/all", nothing());
    assert_eq!(run.arrived["w/all"], crate::core::Arrived::One(1));
}

#[test]
fn what_could_only_arrive_there_is_cancelled() {
    let mut run = workflow(RACE).start();
    run.done("w/a", 1);
    run.done("w/first", 5);
    assert_eq!(run.stopping, ["w/b"]);
    run.stops("w/b");
    assert_eq!(run.output(), 5);
}

#[test]
fn what_has_another_way_on_is_not_cancelled() {
    let mut run = workflow("START>a; START>b; a|b>first; b>log; first>END").start();
    run.done("w/a", 1);
    run.done("w/first", 5);
    assert!(run.stopping.is_empty());
}

#[test]
fn what_has_not_started_and_could_only_arrive_there_is_skipped() {
    let mut run = workflow("START>a; START>b; b>c; b>log; a|c>first; first>END").start();
    run.done("w/a", 1);
    run.done("w/first", 5);
    run.done("w/b", 1);
    assert!(run.noted("w/c: skipped"));
    assert_eq!(run.running(), ["w/log"]);
}

#[test]
fn a_loop_that_could_only_lead_there_is_cancelled_in_its_turn() {
    let mut run = workflow("START>a; START>h; h>more:h; h>out:x; a|x>first; first>END").start();
    run.takes("w/h", "more");
    run.done("w/a", 1);
    run.done("w/first", 5);
    assert_eq!(run.stopping, ["w/h#2"]);
    run.stops("w/h#2");
    assert_eq!(run.output(), 5);
}

#[test]
fn a_delay_before_another_attempt_is_cut_short_as_well() {
    let mut run = workflow(RACE).options("b", |of| of.retry.max_attempts = 3).start();
    run.fails("w/b");
    run.done("w/a", 1);
    run.done("w/first", 5);
    assert_eq!(run.output(), 5);
}

#[test]
fn in_a_loop_a_turn_that_was_decided_does_not_decide_the_next() {
    let text = "START>h; h>a; h>b; a|b>first; first>again:h; first>done:END";
    let mut run = workflow(text).start();
    run.done("w/h", 1);
    run.done("w/a", 1);
    run.takes("w/first", "again");
    run.stops("w/b");
    assert_eq!(run.running(), ["w/h#2"]);
    run.done("w/h#2", 1);
    assert_eq!(run.running(), ["w/a#2", "w/b#2"]);
}

#[test]
fn no_output_after_the_last_arrival_fails_the_run_by_name() {
    let mut run = workflow(RACE).start();
    run.done("w/a", 1);
    run.waits("w/first", nothing());
    run.done("w/b", 2);
    run.waits("w/first", nothing());
    assert_eq!(run.failure().path, "w/first");
    assert_eq!(run.failure().cause.fault, Some(Fault::NothingCollected { arrivals: 2 }));
}

#[test]
fn a_last_branch_that_is_skipped_ends_the_wait_too() {
    let mut run = workflow("START>a; START>r; r>x:b; r>y:side; a|b>first; first>END").start();
    run.done("w/a", 1);
    run.waits("w/first", nothing());
    run.takes("w/r", "y");
    assert!(!run.started.contains(&"w/side".to_owned()), "the run fails before anything else begins");
    assert_eq!(run.failure().cause.fault, Some(Fault::NothingCollected { arrivals: 1 }));
}

#[test]
fn it_is_skipped_where_nothing_arrives() {
    let text = "START>r; r>x:a; r>x:b; r>y:END; a|b>first; first>END";
    let mut run = workflow(text).start();
    run.takes("w/r", "y");
    assert!(run.noted("w/first: skipped"));
    assert_eq!(run.output(), 1);
}

#[test]
fn what_it_keeps_for_itself_is_there_at_the_next_arrival() {
    let mut run = workflow(RACE).start();
    run.done("w/a", 1);
    let write = StateWrite { key: "seen".to_owned(), op: StateOp::Append(vec![json!(1)]) };
    let writes = Writes(Some(Box::new(WriteSet { shared: Vec::new(), local: vec![write] })));
    run.waits("w/first", writes);
    run.done("w/b", 2);
    assert_eq!(run.local["w/first"].get("seen"), Some(&json!([1])));
}
