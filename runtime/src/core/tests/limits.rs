use super::sim::workflow;
use crate::core::RunEnd;

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
