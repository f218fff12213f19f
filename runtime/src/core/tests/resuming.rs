//! Runs that go on from their events: limits hold there as they do in a run that nothing has disturbed.

use super::sim::workflow;
use crate::options::NodeOptions;

#[test]
fn an_item_that_waits_for_a_slot_when_the_process_dies_takes_one_place_in_its_node() {
    let run = workflow("START>a; START>e; (a,e)>END").each("e", "START>x; x>END");
    let mut run = run.options("x", |of| of.max_parallel = Some(1)).max_concurrency(1).start();
    run.enters("w/e", &[1, 2]);
    run.crashes();
    assert_eq!(run.running(), ["w/a"]);
    run.done("w/a", 1);
    assert_eq!(run.running(), ["w/x[0]"]);
    run.done_all(&["w/x[0]", "w/x[1]"]);
    assert!(run.end.is_some());
}

#[test]
fn places_that_became_free_before_a_crash_let_in_no_more_than_there_are_places() {
    let run = workflow("START>e; e>END").each("e", "START>x; x>END");
    let mut run = run.options("x", |of| of.max_parallel = Some(1)).start();
    run.enters("w/e", &[1, 2, 3, 4, 5]);
    run.done_all(&["w/x[0]", "w/x[1]"]);
    run.crashes();
    assert_eq!(run.running(), ["w/x[2]"]);
    run.done_all(&["w/x[2]", "w/x[3]", "w/x[4]"]);
    assert!(run.end.is_some());
}

#[test]
fn an_item_that_is_about_to_be_tried_again_when_the_process_dies_keeps_its_place() {
    let run = workflow("START>e; e>END").each("e", "START>x; x>END");
    let options = |of: &mut NodeOptions| (of.max_parallel, of.retry.max_attempts) = (Some(1), 2);
    let mut run = run.options("x", options).start();
    run.enters("w/e", &[1, 2]);
    run.fails("w/x[0]");
    run.crashes();
    assert!(run.running().is_empty(), "{:?}", run.running());
    run.time_passes();
    assert_eq!(run.running(), ["w/x[0]"]);
    run.done("w/x[0]", 1);
    assert_eq!(run.running(), ["w/x[1]"]);
    run.done("w/x[1]", 1);
    assert!(run.end.is_some());
}

#[test]
fn the_items_of_a_bounded_node_go_on_where_they_were() {
    let run = workflow("START>e; e>END").each("e", "START>x; x>END").options("e", |of| of.max_parallel = Some(2));
    let mut run = run.start();
    run.enters("w/e", &[1, 2, 3, 4]);
    run.done("w/x[0]", 1);
    run.crashes();
    assert_eq!(run.running(), ["w/x[1]", "w/x[2]"]);
    run.done_all(&["w/x[1]", "w/x[2]", "w/x[3]"]);
    assert!(run.end.is_some());
}

#[test]
fn what_was_told_to_stop_when_the_process_dies_has_stopped() {
    let mut run = workflow("START>a; START>b; (a,b)>END").start();
    run.fails("w/a");
    assert_eq!(run.stopping, ["w/b"]);
    run.crashes();
    assert_eq!(run.failure().path, "w/a");
}
