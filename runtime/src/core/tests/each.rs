use super::sim::workflow;
use crate::core::RunEnd;

const OUTER: &str = "START>[b]; [b]>END";
const ITEM: &str = "START>b; b>END";

#[test]
fn each_item_runs_at_once_and_the_outputs_keep_the_order_of_the_inputs() {
    let mut run = workflow(OUTER).each("[b]", ITEM).start();
    run.enters("w/[b]", &[1, 2, 3]);
    assert_eq!(run.running(), ["w/b[0]", "w/b[1]", "w/b[2]"]);
    run.done("w/b[2]", 3);
    run.done("w/b[0]", 1);
    run.done("w/b[1]", 2);
    assert_eq!(run.output(), 123);
}

#[test]
fn items_that_nobody_watches_begin_in_order_and_fail_as_others_do() {
    let mut run = workflow(OUTER).each("[b]", ITEM).unwatched().start();
    run.enters("w/[b]", &[1, 2, 3]);
    assert_eq!(run.started, ["w/[b]", "w/b[0]", "w/b[1]", "w/b[2]"]);
    run.done("w/b[2]", 3);
    run.done("w/b[0]", 1);
    run.done("w/b[1]", 2);
    assert_eq!(run.output(), 123);
    let mut run = workflow(OUTER).each("[b]", ITEM).unwatched().start();
    run.enters("w/[b]", &[1, 2, 3]);
    run.fails("w/b[1]");
    assert_eq!(run.stopping, ["w/b[2]"]);
    run.stops("w/b[2]");
    run.done("w/b[0]", 1);
    assert_eq!(run.failure().path, "w/b[1]");
}

#[test]
fn no_items_give_an_empty_output() {
    let mut run = workflow(OUTER).each("[b]", ITEM).start();
    run.enters("w/[b]", &[]);
    assert_eq!(run.output(), 0);
}

#[test]
fn a_failed_item_cancels_those_above_it_and_not_those_below() {
    let mut run = workflow(OUTER).each("[b]", ITEM).start();
    run.enters("w/[b]", &[1, 2, 3]);
    run.fails("w/b[1]");
    assert_eq!(run.stopping, ["w/b[2]"]);
    run.stops("w/b[2]");
    assert!(run.end.is_none());
    run.done("w/b[0]", 1);
    assert_eq!(run.failure().path, "w/b[1]");
}

#[test]
fn the_failure_of_the_lowest_index_is_reported_whenever_it_comes() {
    let mut run = workflow(OUTER).each("[b]", ITEM).start();
    run.enters("w/[b]", &[1, 2, 3]);
    run.fails("w/b[2]");
    run.fails("w/b[0]");
    run.stops("w/b[1]");
    assert_eq!(run.failure().path, "w/b[0]");
}

#[test]
fn max_parallel_of_a_node_inside_is_how_many_items_are_in_it() {
    let outer = workflow(OUTER).each("[b]", "START>a; a>b; b>END");
    let mut run = outer.options("b", |of| of.max_parallel = Some(1)).start();
    run.enters("w/[b]", &[1, 2, 3]);
    run.done_all(&["w/a[0]", "w/a[1]", "w/a[2]"]);
    assert_eq!(run.running(), ["w/b[0]"]);
    run.done("w/b[0]", 1);
    assert_eq!(run.running(), ["w/b[1]"]);
}

#[test]
fn max_parallel_of_the_brackets_is_how_many_items_are_under_way() {
    let mut run = workflow(OUTER).each("[b]", ITEM).options("[b]", |of| of.max_parallel = Some(2)).start();
    run.enters("w/[b]", &[1, 2, 3]);
    assert_eq!(run.running(), ["w/b[0]", "w/b[1]"]);
    run.done("w/b[1]", 2);
    assert_eq!(run.running(), ["w/b[0]", "w/b[2]"]);
}

#[test]
fn an_item_stays_in_its_node_while_it_waits_for_another_attempt() {
    let outer = workflow(OUTER).each("[b]", ITEM);
    let mut run = outer
        .options("b", |of| {
            of.max_parallel = Some(1);
            of.retry.max_attempts = 2;
        })
        .start();
    run.enters("w/[b]", &[1, 2]);
    run.fails("w/b[0]");
    assert!(run.running().is_empty());
    run.time_passes();
    assert_eq!(run.running(), ["w/b[0]"]);
}

#[test]
fn items_that_have_not_begun_never_do_after_a_failure() {
    let mut run = workflow(OUTER).each("[b]", ITEM).options("b", |of| of.max_parallel = Some(1)).start();
    run.enters("w/[b]", &[1, 2, 3]);
    run.fails("w/b[0]");
    assert_eq!(run.started, ["w/[b]", "w/b[0]"]);
    assert_eq!(run.failure().path, "w/b[0]");
}

#[test]
fn routes_and_loops_go_inside_the_brackets() {
    let mut run = workflow(OUTER).each("[b]", "START>h; h>again:h; h>done:END").start();
    run.enters("w/[b]", &[1, 2]);
    run.takes("w/h[0]", "again");
    run.takes("w/h[1]", "done");
    run.takes("w/h[0]#2", "done");
    assert_eq!(run.output(), 11);
}

#[test]
fn cancelling_reaches_every_item() {
    let mut run = workflow(OUTER).each("[b]", ITEM).start();
    run.enters("w/[b]", &[1, 2]);
    run.cancel();
    run.stops("w/b[0]");
    run.stops("w/b[1]");
    assert_eq!(run.end, Some(RunEnd::Cancelled));
}

#[test]
fn an_item_that_only_waits_before_one_that_has_failed_is_cancelled() {
    let mut run = workflow(OUTER).each("[b]", ITEM).start();
    run.enters("w/[b]", &[1, 2]);
    run.fails("w/b[1]");
    assert!(run.only_waits("w/b[0]", |_| {}));
    run.stops("w/b[0]");
    assert_eq!(run.failure().path, "w/b[1]");
}

/// Between the moment when it is found and the report, the driver takes back what others have polled.
#[test]
fn an_item_that_only_waits_is_left_alone_if_its_node_is_being_stopped_or_over_since() {
    let both = || workflow("START>[b]; START>c; ([b],c)>END").each("[b]", ITEM);
    let mut run = both().start();
    run.enters("w/[b]", &[1, 2]);
    run.fails("w/b[1]");
    assert!(!run.only_waits("w/b[0]", |run| run.fails("w/c")));
    run.stops("w/b[0]");
    assert_eq!(run.failure().path, "w/c");
    let mut run = both().start();
    run.enters("w/[b]", &[1, 2]);
    run.fails("w/b[1]");
    let is_cancelled = run.only_waits("w/b[0]", |run| {
        run.fails("w/c");
        run.stops("w/b[0]");
    });
    assert!(!is_cancelled);
    assert_eq!(run.failure().path, "w/c");
}
