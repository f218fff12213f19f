use std::time::Duration;

use super::sim::workflow;
use crate::core::RunEnd;
use crate::fault::Fault;

const OUTER: &str = "START>a; a>n; n>END";
const INNER: &str = "START>x; x>y; y>END";

#[test]
fn a_nested_workflow_is_a_node_with_paths_of_its_own() {
    let mut run = workflow(OUTER).nested("n", INNER).start();
    run.done("w/a", 1);
    run.enters("w/n", &[1]);
    run.done("w/n/x", 2);
    run.done("w/n/y", 3);
    assert_eq!(run.output(), 3);
}

#[test]
fn a_nested_failure_names_the_node_inside() {
    let mut run = workflow(OUTER).nested("n", INNER).start();
    run.done("w/a", 1);
    run.enters("w/n", &[1]);
    run.fails("w/n/x");
    assert_eq!(run.failure().path, "w/n/x");
}

#[test]
fn a_nested_failure_is_tried_again_by_the_options_of_the_node() {
    let mut run = workflow(OUTER).nested("n", INNER).options("n", |of| of.retry.max_attempts = 2).start();
    run.done("w/a", 1);
    run.enters("w/n", &[1]);
    run.fails("w/n/x");
    run.time_passes();
    run.enters("w/n", &[1]);
    run.done("w/n/x", 1);
    run.done("w/n/y", 4);
    assert_eq!(run.output(), 4);
}

#[test]
fn a_nested_failure_goes_by_the_arm_that_takes_it() {
    let mut run = workflow("START>n; n>ok:END; n>err:b; b>END").nested("n", INNER).start();
    run.routes.insert("n".to_owned(), "err");
    run.enters("w/n", &[1]);
    run.fails("w/n/x");
    assert_eq!(run.running(), ["w/b"]);
}

#[test]
fn a_nested_workflow_that_takes_too_long_is_stopped_and_has_failed() {
    let limit = Duration::from_secs(5);
    let mut run = workflow(OUTER).nested("n", INNER).options("n", |of| of.timeout = Some(limit)).start();
    run.done("w/a", 1);
    run.enters("w/n", &[1]);
    assert_eq!(run.time_passes(), limit);
    run.stops("w/n/x");
    assert_eq!(run.failure().path, "w/n");
    assert_eq!(run.failure().cause.fault, Some(Fault::Timeout { after: limit }));
}

#[test]
fn the_time_limit_of_a_nested_workflow_ends_with_it() {
    let limit = Duration::from_secs(5);
    let mut run = workflow(OUTER).nested("n", INNER).options("n", |of| of.timeout = Some(limit)).start();
    run.done("w/a", 1);
    run.enters("w/n", &[1]);
    run.done("w/n/x", 1);
    run.done("w/n/y", 1);
    assert_eq!(run.output(), 1);
}

#[test]
fn cancelling_reaches_the_nodes_inside() {
    let mut run = workflow(OUTER).nested("n", INNER).start();
    run.done("w/a", 1);
    run.enters("w/n", &[1]);
    run.cancel();
    run.stops("w/n/x");
    assert_eq!(run.end, Some(RunEnd::Cancelled));
}

#[test]
fn a_failing_sibling_cancels_the_nodes_inside() {
    let mut run = workflow("START>n; START>b; (n,b)>END").nested("n", INNER).start();
    run.enters("w/n", &[1]);
    run.fails("w/b");
    run.stops("w/n/x");
    assert_eq!(run.failure().path, "w/b");
}

#[test]
fn a_nested_workflow_in_vain_is_cancelled() {
    let mut run = workflow("START>n; START>b; n|b>first; first>END").nested("n", INNER).start();
    run.enters("w/n", &[1]);
    run.done("w/b", 1);
    run.done("w/first", 3);
    run.stops("w/n/x");
    assert_eq!(run.output(), 3);
}

#[test]
fn a_nested_workflow_whose_time_is_up_when_a_sibling_fails_ends_with_it() {
    let mut run = workflow("START>n; START>b; (n,b)>END").nested("n", "START>x; x>END");
    run = run.options("n", |of| of.timeout = Some(Duration::from_secs(5)));
    let mut run = run.start();
    run.enters("w/n", &[1]);
    run.time_passes();
    run.at_once(|run| {
        run.stops("w/n/x");
        run.fails("w/b");
    });
    assert_eq!(run.failure().path, "w/b");
}
