use std::time::{Duration, SystemTime};

use super::sim::workflow;
use crate::core::RunEnd;
use crate::fault::Fault;

const WIDE: &str = "START>a; START>b; START>c; (a,b,c)>END";

#[test]
fn no_more_attempts_than_max_concurrency_are_under_way() {
    let run = workflow(WIDE).max_concurrency(2).start();
    assert_eq!(run.running(), ["w/a", "w/b"]);
}

#[test]
fn the_first_that_waits_is_the_first_that_goes() {
    let mut run = workflow(WIDE).max_concurrency(1).start();
    run.done("w/a", 1);
    assert_eq!(run.running(), ["w/b"]);
    run.done("w/b", 1);
    run.done("w/c", 1);
    assert_eq!(run.output(), 3);
}

#[test]
fn a_delay_takes_no_place() {
    let mut run = workflow(WIDE).max_concurrency(1).options("a", |of| of.retry.max_attempts = 2).start();
    run.fails("w/a");
    assert_eq!(run.running(), ["w/b"]);
}

#[test]
fn a_graph_inside_takes_no_place_but_its_nodes_do() {
    let mut run = workflow("START>n; START>b; (n,b)>END").nested("n", "START>x; x>END").max_concurrency(1).start();
    run.enters("w/n", &[1]);
    assert_eq!(run.running(), ["w/b"]);
    run.done("w/b", 1);
    assert_eq!(run.running(), ["w/n/x"]);
}

#[test]
fn what_waits_for_a_place_is_cancelled_at_once() {
    let mut run = workflow(WIDE).max_concurrency(1).start();
    run.cancel();
    run.stops("w/a");
    assert_eq!(run.end, Some(RunEnd::Cancelled));
    assert_eq!(run.started, ["w/a"]);
}

#[test]
fn no_more_nodes_of_a_graph_than_its_max_parallel_are_under_way() {
    let mut run = workflow(WIDE).max_parallel("w", 2).start();
    assert_eq!(run.running(), ["w/a", "w/b"]);
    run.done("w/b", 1);
    assert_eq!(run.running(), ["w/a", "w/c"]);
    run.done_all(&["w/a", "w/c"]);
    assert_eq!(run.output(), 3);
}

#[test]
fn a_nested_workflow_is_one_node_of_the_graph_around_it() {
    let graph = "START>n; START>a; a>b; a>c; (n,b,c)>END";
    let mut run = workflow(graph).nested("n", "START>x; START>y; (x,y)>END").max_parallel("w", 2).start();
    run.enters("w/n", &[1]);
    run.done("w/a", 1);
    assert_eq!(run.running(), ["w/b", "w/n/x", "w/n/y"]);
    run.done_all(&["w/n/x", "w/n/y"]);
    assert_eq!(run.running(), ["w/b", "w/c"]);
}

#[test]
fn a_nested_workflow_limits_its_own_nodes() {
    let graph = "START>n; START>b; (n,b)>END";
    let mut run = workflow(graph).nested("n", "START>x; START>y; (x,y)>END").max_parallel("n", 1).start();
    run.enters("w/n", &[1]);
    assert_eq!(run.running(), ["w/b", "w/n/x"]);
    run.done("w/n/x", 1);
    assert_eq!(run.running(), ["w/b", "w/n/y"]);
}

#[test]
fn what_a_node_says_of_the_workflow_that_it_is_comes_before_what_that_says() {
    let graph = "START>n; n>END";
    let inside = "START>x; START>y; START>z; (x,y,z)>END";
    let mut run =
        workflow(graph).nested("n", inside).max_parallel("n", 1).options("n", |of| of.max_parallel = Some(2)).start();
    run.enters("w/n", &[1]);
    assert_eq!(run.running(), ["w/n/x", "w/n/y"]);
}

#[test]
fn each_item_has_a_graph_of_its_own_with_places_of_its_own() {
    let mut run = workflow("START>e; e>END").each("e", "START>x; START>y; (x,y)>END").max_parallel("e", 1).start();
    run.enters("w/e", &[1, 2]);
    assert_eq!(run.running(), ["w/x[0]", "w/x[1]"]);
}

#[test]
fn a_node_that_waits_for_its_next_attempt_keeps_its_place_in_the_graph() {
    let mut run = workflow(WIDE).max_parallel("w", 1).options("a", |of| of.retry.max_attempts = 2).start();
    run.fails("w/a");
    assert_eq!(run.running(), [""; 0]);
}

#[test]
fn places_of_a_graph_are_counted_again_after_a_crash() {
    let mut run = workflow(WIDE).max_parallel("w", 2).start();
    run.done("w/a", 1);
    run.crashes();
    assert_eq!(run.running(), ["w/b", "w/c"]);
}

#[test]
fn a_run_whose_time_is_up_fails_when_its_nodes_have_stopped() {
    let limit = Duration::from_secs(60);
    let mut run = workflow("START>a; START>b; (a,b)>END").timeout(limit).start();
    run.done("w/a", 1);
    run.time_is_up();
    assert_eq!(run.end, None);
    run.stops("w/b");
    let Some(RunEnd::Failed(failure)) = &run.end else { panic!("{:?}", run.end) };
    assert_eq!((failure.path.as_str(), &failure.cause.fault), ("w", &Some(Fault::Timeout { after: limit })));
}

#[test]
fn a_run_that_is_ending_has_no_time_limit_any_more() {
    let mut run = workflow("START>a; a>END").timeout(Duration::from_secs(60)).start();
    assert_eq!(run.limit(), Some(SystemTime::UNIX_EPOCH + Duration::from_secs(60)));
    run.cancel();
    assert_eq!(run.limit(), None);
    run.time_is_up();
    run.stops("w/a");
    assert_eq!(run.end, Some(RunEnd::Cancelled));
}

#[test]
fn a_run_keeps_its_time_limit_over_a_crash() {
    let mut run = workflow("START>a; a>END").timeout(Duration::from_secs(60)).start();
    run.crashes();
    assert_eq!(run.limit(), Some(SystemTime::UNIX_EPOCH + Duration::from_secs(60)));
}
