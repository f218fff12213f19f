use super::sim::{join, workflow};
use crate::core::Arrived;

#[test]
fn going_back_begins_the_next_turn() {
    let mut run = workflow("START>draft; draft>review; review>redo:draft; review>good:END").start();
    run.done("w/draft", 1);
    run.takes("w/review", "redo");
    assert_eq!(run.running(), ["w/draft#2"]);
}

#[test]
fn leaving_the_loop_ends_it() {
    let mut run = workflow("START>draft; draft>review; review>redo:draft; review>good:publish; publish>END").start();
    run.done("w/draft", 1);
    run.takes("w/review", "redo");
    run.done("w/draft#2", 1);
    run.takes("w/review#2", "good");
    run.done("w/publish", 8);
    assert_eq!(run.output(), 8);
}

#[test]
fn an_edge_out_of_the_loop_is_dead_only_after_the_last_turn() {
    let text = "START>h; h>go:h; h>left:l; h>right:r; l>END; r>END";
    let mut run = workflow(text).start();
    run.takes("w/h", "go");
    assert!(!run.noted("w/l: skipped"));
    run.takes("w/h#2", "right");
    assert!(run.noted("w/l: skipped"));
}

#[test]
fn a_loop_that_is_never_entered_is_skipped_with_all_that_it_leads_to() {
    let text = "START>a; a>in:h; a>out:END; h>x; x>again:h; x>done:after; after>END";
    let mut run = workflow(text).start();
    run.takes("w/a", "out");
    for node in ["h", "x", "after"] {
        assert!(run.noted(&format!("w/{node}: skipped")), "{node}: {:?}", run.notes);
    }
    assert_eq!(run.output(), 1);
}

#[test]
fn a_planner_joins_its_workers_at_the_head_of_each_turn() {
    let mut run = workflow("START>h; h>go:x; h>go:y; (x,y)>h; h>done:END").start();
    run.takes("w/h", "go");
    run.done("w/x", 2);
    assert_eq!(run.running(), ["w/y"]);
    run.done("w/y", 3);
    assert!(matches!(&run.arrived["w/h#2"], Arrived::Join { way: 1, places } if *places == [Some(2), Some(3)]));
    run.takes("w/h#2", "done");
    assert_eq!(run.output(), 1);
}

#[test]
fn a_branch_on_the_side_runs_once_for_each_turn() {
    let mut run = workflow("START>h; h>again:h; h>done:END; h>log").start();
    run.takes("w/h", "again");
    run.takes("w/h#2", "done");
    assert_eq!(run.running(), ["w/log", "w/log#2"]);
}

#[test]
fn a_run_waits_for_the_side_branches_of_turns_that_are_over() {
    let mut run = workflow("START>h; h>again:h; h>done:END; h>log").start();
    run.takes("w/h", "again");
    run.takes("w/h#2", "done");
    run.done("w/log#2", 1);
    assert!(run.end.is_none());
    run.done("w/log", 1);
    assert_eq!(run.output(), 1);
}

#[test]
fn turns_never_mix() {
    let mut run = workflow("START>h; h>again:h; h>done:END; h>x; h>y; (x,y)>log").start();
    run.takes("w/h", "again");
    run.takes("w/h#2", "done");
    run.done("w/x", 1);
    run.done("w/y#2", 20);
    assert!(!run.arrived.contains_key("w/log") && !run.arrived.contains_key("w/log#2"));
    run.done("w/y", 2);
    assert_eq!(run.arrived["w/log"], join(&[Some(1), Some(2)]));
}

#[test]
fn an_inner_loop_begins_anew_in_each_turn_of_the_outer_one() {
    let text = "START>o; o>i; i>more:i; i>up:t; t>again:o; t>done:END";
    let mut run = workflow(text).start();
    run.done("w/o", 1);
    run.takes("w/i", "more");
    run.takes("w/i#1.2", "up");
    run.takes("w/t", "again");
    run.done("w/o#2", 1);
    assert_eq!(run.running(), ["w/i#2.1"]);
    run.takes("w/i#2.1", "up");
    run.takes("w/t#2", "done");
    assert_eq!(run.output(), 1);
}

#[test]
fn a_live_token_leaves_two_loops_at_once() {
    let text = "START>o; o>i; i>more:i; i>up:t; i>out:END; t>again:o; t>done:END";
    let mut run = workflow(text).start();
    run.done("w/o", 1);
    run.takes("w/i", "out");
    assert_eq!(run.output(), 1);
}

#[test]
fn an_inner_loop_may_lead_back_to_the_head_of_the_outer_one() {
    let text = "START>o; o>i; i>more:i; i>redo:o; i>out:END";
    let mut run = workflow(text).start();
    run.done("w/o", 1);
    run.takes("w/i", "more");
    run.takes("w/i#1.2", "redo");
    assert_eq!(run.running(), ["w/o#2"]);
    run.done("w/o#2", 1);
    run.takes("w/i#2.1", "out");
    assert_eq!(run.output(), 1);
}

#[test]
fn agents_hand_over_to_each_other() {
    let text = "START>sales:s; START>tech:t; s>t:t; s>done:END; t>s:s; t>done:END";
    let mut run = workflow(text).start();
    run.takes("w/s", "t");
    assert_eq!(run.running(), ["w/t#2"]);
    run.takes("w/t#2", "s");
    run.takes("w/s#3", "done");
    assert_eq!(run.output(), 1);
}

#[test]
fn a_loop_of_many_turns_does_not_grow() {
    let mut run = workflow("START>h; h>again:h; h>done:END; h>log").start();
    for turn in 1..=10_000 {
        let tag = if turn == 1 { String::new() } else { format!("#{turn}") };
        run.takes(&format!("w/h{tag}"), "again");
        run.done(&format!("w/log{tag}"), 1);
    }
    assert!(run.frames() <= 4, "{} frames", run.frames());
}

#[test]
fn a_loop_may_wait_inside_its_turn_for_two_branches() {
    let text = "START>h; h>a; h>b; (a,b)>j; j>again:h; j>done:END";
    let mut run = workflow(text).start();
    run.done("w/h", 1);
    run.done("w/a", 1);
    run.done("w/b", 2);
    run.takes("w/j", "again");
    run.done("w/h#2", 1);
    run.done("w/b#2", 5);
    run.done("w/a#2", 6);
    assert_eq!(run.arrived["w/j#2"], join(&[Some(6), Some(5)]));
}

#[test]
fn two_arms_may_lead_back() {
    let text = "START>h; h>x:a; h>y:b; a>h; b>h; h>done:END";
    let mut run = workflow(text).start();
    run.takes("w/h", "x");
    run.done("w/a", 1);
    run.takes("w/h#2", "y");
    run.done("w/b#2", 7);
    assert_eq!(run.arrived["w/h#3"], Arrived::One(7));
    run.takes("w/h#3", "done");
    assert_eq!(run.output(), 1);
}

#[test]
fn what_follows_a_loop_may_join_what_ran_beside_it() {
    let text = "START>h; START>b; h>again:h; h>done:c; (b,c)>d; d>END";
    let mut run = workflow(text).start();
    run.done("w/b", 4);
    run.takes("w/h", "again");
    run.takes("w/h#2", "done");
    run.done("w/c", 5);
    assert_eq!(run.arrived["w/d"], join(&[Some(4), Some(5)]));
}
