use std::time::Duration;

use super::sim::{next_run, workflow};
use crate::core::RunEnd;
use crate::fault::Fault;
use crate::options::{NodeOptions, RetryPolicy};

fn three_attempts(options: &mut NodeOptions) {
    options.retry = RetryPolicy { max_attempts: 3, ..RetryPolicy::default() };
}

#[test]
fn a_failure_names_the_node_its_attempts_and_the_cause() {
    let mut run = workflow("START>a; a>END").start();
    run.fails("w/a");
    assert_eq!(run.failure().to_string(), "node `w/a` failed after 1 attempt: boom");
}

#[test]
fn a_failing_node_cancels_its_siblings_and_the_run_ends_when_they_have_stopped() {
    let mut run = workflow("START>a; START>b; (a,b)>END").start();
    run.fails("w/a");
    assert_eq!(run.stopping, ["w/b"]);
    assert!(run.end.is_none());
    run.stops("w/b");
    assert_eq!(run.failure().path, "w/a");
}

#[test]
fn what_a_sibling_gives_after_the_failure_starts_nothing() {
    let mut run = workflow("START>a; START>b; b>c; (a,c)>END").start();
    run.fails("w/a");
    run.done("w/b", 1);
    assert!(!run.started.contains(&"w/c".to_owned()));
    assert_eq!(run.failure().path, "w/a");
}

#[test]
fn the_first_failure_is_the_one_that_is_reported() {
    let mut run = workflow("START>a; START>b; (a,b)>END").start();
    run.fails("w/b");
    run.fails("w/a");
    assert_eq!(run.failure().path, "w/b");
}

#[test]
fn a_failed_attempt_is_followed_by_another_after_the_delay() {
    let mut run = workflow("START>a; a>END").options("a", three_attempts).start();
    run.fails("w/a");
    assert_eq!(run.time_passes(), Duration::from_secs(1));
    assert_eq!(run.started, ["w/a", "w/a!2"]);
}

#[test]
fn delays_follow_the_formula_and_the_random_number() {
    let mut run = workflow("START>a; a>END").options("a", three_attempts).start();
    run.random = 0.5;
    run.fails("w/a");
    assert_eq!(run.time_passes(), Duration::from_millis(1500));
    run.fails("w/a");
    assert_eq!(run.time_passes(), Duration::from_secs(3));
}

#[test]
fn when_no_attempt_is_left_the_run_fails_with_their_number() {
    let mut run = workflow("START>a; a>END").options("a", three_attempts).start();
    run.fails("w/a");
    run.time_passes();
    run.fails("w/a");
    run.time_passes();
    run.fails("w/a");
    assert_eq!(run.failure().attempts, 3);
}

#[test]
fn an_error_that_is_not_worth_another_attempt_gets_none() {
    let mut run = workflow("START>a; a>END").options("a", three_attempts).start();
    run.fails_for_good("w/a");
    assert_eq!(run.failure().attempts, 1);
}

#[test]
fn a_routed_error_goes_by_its_arm_after_the_last_attempt() {
    let mut run = workflow("START>a; a>ok:END; a>err:b; b>END").options("a", three_attempts).start();
    run.fails_by("w/a", "err");
    run.time_passes();
    run.fails_by("w/a", "err");
    run.time_passes();
    assert!(!run.started.contains(&"w/b".to_owned()));
    run.fails_by("w/a", "err");
    run.done("w/b", 6);
    assert_eq!(run.output(), 6);
}

#[test]
fn a_fault_fails_the_run_where_no_arm_takes_it() {
    let mut run = workflow("START>a; a>ok:END; a>err:b; b>END").start();
    run.faults("w/a", Fault::Panic { message: "oh".to_owned() });
    assert_eq!(run.failure().cause.fault, Some(Fault::Panic { message: "oh".to_owned() }));
}

#[test]
fn a_fault_goes_by_the_arm_that_takes_it() {
    let mut run = workflow("START>a; a>ok:END; a>err:b; b>END").start();
    run.routes.insert("a".to_owned(), "err");
    run.faults("w/a", Fault::Panic { message: "oh".to_owned() });
    assert_eq!(run.running(), ["w/b"]);
}

#[test]
fn a_delay_is_cut_short_when_a_sibling_fails() {
    let mut run = workflow("START>a; START>b; (a,b)>END").options("a", three_attempts).start();
    run.fails("w/a");
    run.fails("w/b");
    assert_eq!(run.failure().path, "w/b");
}

#[test]
fn a_cancelled_run_ends_when_its_nodes_have_stopped() {
    let mut run = workflow("START>a; START>b; (a,b)>END").start();
    run.cancel();
    run.stops("w/a");
    assert!(run.end.is_none());
    run.stops("w/b");
    assert_eq!(run.end, Some(RunEnd::Cancelled));
}

#[test]
fn a_failing_run_that_is_cancelled_still_failed() {
    let mut run = workflow("START>a; START>b; (a,b)>END").start();
    run.fails("w/a");
    run.cancel();
    run.stops("w/b");
    assert_eq!(run.failure().path, "w/a");
}

#[test]
fn a_run_that_waits_for_a_delay_is_cancelled_at_once() {
    let mut run = workflow("START>a; a>END").options("a", three_attempts).start();
    run.fails("w/a");
    run.cancel();
    assert_eq!(run.end, Some(RunEnd::Cancelled));
}

#[test]
fn a_run_starts_over_when_all_others_have_stopped() {
    let mut run = workflow("START>a; START>b; START>c; (a,b,c)>END").options("c", three_attempts).start();
    run.fails("w/c");
    run.starts_over("w/a", 7);
    assert!(run.end.is_none());
    run.stops("w/b");
    assert_eq!(run.end, Some(RunEnd::StartsOver(next_run(7))));
}

#[test]
fn a_run_starts_over_from_an_item_of_a_graph_inside() {
    let mut run = workflow("START>[b]; [b]>END").each("[b]", "START>b; b>END").start();
    run.enters("w/[b]", &[1, 2, 3]);
    run.starts_over("w/b[1]", 7);
    run.stops("w/b[0]");
    assert!(run.end.is_none());
    run.stops("w/b[2]");
    assert_eq!(run.end, Some(RunEnd::StartsOver(next_run(7))));
}

#[test]
fn a_cancellation_comes_before_the_next_run() {
    let mut run = workflow("START>a; START>b; (a,b)>END").start();
    run.starts_over("w/a", 7);
    run.cancel();
    run.stops("w/b");
    assert_eq!(run.end, Some(RunEnd::Cancelled));
}

#[test]
fn of_two_nodes_that_start_over_the_first_counts() {
    let mut run = workflow("START>a; START>b; (a,b)>END").start();
    run.starts_over("w/a", 7);
    run.starts_over("w/b", 8);
    assert_eq!(run.end, Some(RunEnd::StartsOver(next_run(7))));
}

#[test]
fn a_run_that_is_failing_does_not_start_over() {
    let mut run = workflow("START>a; START>b; (a,b)>END").start();
    run.fails("w/b");
    run.starts_over("w/a", 7);
    assert_eq!(run.failure().path, "w/b");
}
