use super::sim::{join, workflow};
use crate::core::Arrived;

#[test]
fn a_chain_runs_one_node_after_another() {
    let mut run = workflow("START>a; a>b; b>END").start();
    run.done("w/a", 2);
    assert_eq!(run.arrived["w/b"], Arrived::One(2));
    run.done("w/b", 3);
    assert_eq!(run.output(), 3);
}

#[test]
fn a_fan_out_starts_all_its_targets_at_once() {
    let mut run = workflow("START>a; a>b; a>c; (b,c)>d; d>END").start();
    run.done("w/a", 1);
    assert_eq!(run.running(), ["w/b", "w/c"]);
}

#[test]
fn a_join_fires_when_its_last_branch_has_come_and_gets_each_in_its_place() {
    let mut run = workflow("START>a; a>b; a>c; (b,c)>d; d>END").start();
    run.done("w/a", 1);
    run.done("w/c", 3);
    assert!(!run.arrived.contains_key("w/d"));
    run.done("w/b", 2);
    assert_eq!(run.arrived["w/d"], join(&[Some(2), Some(3)]));
}

#[test]
fn a_join_takes_none_for_the_branch_that_a_route_skipped() {
    let mut run = workflow("START>a; START>b; a>ok:c; a>no:side; (b,c)>d; d>END").start();
    run.takes("w/a", "no");
    run.done("w/b", 2);
    assert_eq!(run.arrived["w/d"], join(&[Some(2), None]));
}

#[test]
fn a_join_of_exclusive_branches_gets_the_one_that_ran() {
    let mut run = workflow("START>a; a>x:b; a>y:c; a>z:END; (b,c)>d; d>END").start();
    run.takes("w/a", "y");
    run.done("w/c", 5);
    assert_eq!(run.arrived["w/d"], Arrived::One(5));
}

#[test]
fn a_join_none_of_whose_branches_live_is_skipped() {
    let mut run = workflow("START>a; a>x:b; a>y:c; a>z:END; (b,c)>d; d>END").start();
    run.takes("w/a", "z");
    assert!(run.noted("w/d: skipped"));
    assert_eq!(run.output(), 1);
}

#[test]
fn a_place_may_be_fed_by_edges_that_exclude_each_other() {
    let mut run = workflow("START>a; START>d; a>x:b; a>y:c; (b/c,d)>e; e>END").start();
    run.takes("w/a", "y");
    run.done("w/c", 4);
    run.done("w/d", 5);
    assert_eq!(run.arrived["w/e"], join(&[Some(4), Some(5)]));
}

#[test]
fn a_skipped_node_skips_what_hangs_on_it() {
    let mut run = workflow("START>a; a>ok:b; a>err:c; b>d; d>e; e>END; c>END").start();
    run.takes("w/a", "err");
    assert!(run.noted("w/b: skipped") && run.noted("w/d: skipped") && run.noted("w/e: skipped"));
}

#[test]
fn whichever_of_two_ways_in_comes_fires_the_node() {
    let mut run = workflow("START>a; a>ok:b; a>err:c; b>d; c>d; d>END").start();
    run.takes("w/a", "err");
    run.done("w/c", 3);
    assert_eq!(run.arrived["w/d"], Arrived::One(3));
}

#[test]
fn plain_edges_are_taken_whatever_the_route() {
    let mut run = workflow("START>a; a>ok:b; a>err:c; a>log; b>END; c>END").start();
    run.takes("w/a", "err");
    assert_eq!(run.running(), ["w/c", "w/log"]);
}

#[test]
fn a_routed_start_takes_one_arm() {
    let run = workflow("START>x:a; START>y:b; a>END; b>END").start();
    assert_eq!(run.running(), ["w/a"]);
}

#[test]
fn the_run_waits_for_a_branch_on_the_side_and_drops_its_output() {
    let mut run = workflow("START>a; a>END; a>log").start();
    run.done("w/a", 4);
    assert!(run.end.is_none());
    run.done("w/log", 9);
    assert_eq!(run.output(), 4);
}

#[test]
fn a_join_at_end_gives_all_its_places() {
    let mut run = workflow("START>a; START>b; (a,b)>END").start();
    run.done("w/a", 1);
    run.done("w/b", 2);
    assert_eq!(run.output(), 3);
}

#[test]
fn a_graph_of_many_nodes_is_skipped_without_recursion() {
    let mut text = String::from("START>a; a>ok:n0; a>err:END;");
    for at in 0..3000 {
        text.push_str(&format!("n{at}>n{};", at + 1));
    }
    text.push_str("n3000>END");
    let mut run = workflow(&text).start();
    run.takes("w/a", "err");
    assert_eq!(run.output(), 1);
}
