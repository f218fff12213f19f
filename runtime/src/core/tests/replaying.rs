//! Runs that go on from records: limits hold there as they do in a run that nothing has disturbed.

use super::sim::workflow;
use crate::options::NodeOptions;

#[test]
fn an_item_that_waits_for_a_slot_when_the_records_end_stands_at_its_gate_once() {
    let run = workflow("START>a; START>e; (a,e)>END").each("e", "START>x; x>END");
    let mut run = run.options("x", |of| of.max_parallel = Some(1)).max_concurrency(1).replay();
    run.started("w/a");
    run.started("w/e");
    run.enters("w/e", &[1, 2]);
    run.replayed();
    assert_eq!(run.running(), ["w/a"]);
    run.done("w/a", 1);
    assert_eq!(run.running(), ["w/x[0]"]);
    run.done_all(&["w/x[0]", "w/x[1]"]);
    assert!(run.end.is_some());
}

#[test]
fn places_that_became_free_in_the_records_let_in_no_more_than_there_are_places() {
    let run = workflow("START>e; e>END").each("e", "START>x; x>END");
    let mut run = run.options("x", |of| of.max_parallel = Some(1)).replay();
    run.started("w/e");
    run.enters("w/e", &[1, 2, 3, 4, 5]);
    for path in ["w/x[0]", "w/x[1]"] {
        run.started(path);
        run.done(path, 1);
    }
    run.replayed();
    assert_eq!(run.running(), ["w/x[2]"]);
    run.done_all(&["w/x[2]", "w/x[3]", "w/x[4]"]);
    assert!(run.end.is_some());
}

#[test]
fn an_item_that_is_about_to_be_tried_again_when_the_records_end_stands_at_its_gate_once() {
    let run = workflow("START>a; START>e; (a,e)>END").each("e", "START>x; x>END").max_concurrency(1);
    let options = |of: &mut NodeOptions| (of.max_parallel, of.retry.max_attempts) = (Some(1), 2);
    let mut run = run.options("x", options).replay();
    run.started("w/e");
    run.enters("w/e", &[1]);
    run.started("w/x[0]");
    run.is_tried_again("w/x[0]");
    run.started("w/a");
    run.time_passes();
    run.replayed();
    run.done("w/a", 1);
    assert_eq!(run.running(), ["w/x[0]"]);
    run.done("w/x[0]", 1);
    assert!(run.end.is_some());
}
