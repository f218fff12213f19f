use serde_json::json;

use super::sim::workflow;
use crate::core::{WriteSet, Writes};
use crate::fault::Fault;
use crate::state_write::{StateOp, StateWrite};

fn writes(ops: Vec<(&str, StateOp)>) -> Writes {
    let shared = ops.into_iter().map(|(key, op)| StateWrite { key: key.to_owned(), op }).collect();
    Writes(Some(Box::new(WriteSet { shared, local: Vec::new() })))
}

fn set(key: &str, value: u32) -> Writes {
    writes(vec![(key, StateOp::Set(json!(value)))])
}

#[test]
fn a_write_is_there_when_the_node_is_done() {
    let mut run = workflow("START>a; a>b; b>END").start();
    run.done_writing("w/a", set("k", 1));
    assert_eq!(run.state()["k"], json!(1));
}

#[test]
fn two_nodes_that_replace_a_key_at_the_same_time_are_an_error_with_both_names() {
    let mut run = workflow("START>a; START>b; (a,b)>END").start();
    run.done_writing("w/a", set("k", 1));
    run.done_writing("w/b", set("k", 2));
    let (key, first, second) = ("k".into(), "w/a".into(), "w/b".into());
    assert_eq!(run.failure().cause.fault, Some(Fault::StateConflict { key, first, second }));
}

#[test]
fn items_that_begin_one_after_the_other_have_begun_at_once() {
    let run = workflow("START>[b]; [b]>END").each("[b]", "START>b; b>END").unwatched();
    let mut run = run.max_concurrency(1).start();
    run.enters("w/[b]", &[1, 2]);
    run.done_writing("w/b[0]", set("k", 1));
    assert!(run.seen["w/b[1]"].is_empty());
    run.done_writing("w/b[1]", set("k", 2));
    let (key, first, second) = ("k".into(), "w/b[0]".into(), "w/b[1]".into());
    assert_eq!(run.failure().cause.fault, Some(Fault::StateConflict { key, first, second }));
}

#[test]
fn another_attempt_that_has_seen_the_write_may_replace_it() {
    let mut run = workflow("START>a; START>b; (a,b)>END").options("b", |of| of.retry.max_attempts = 2).start();
    run.done_writing("w/a", set("k", 1));
    run.done_writing("w/b", set("k", 2));
    run.time_passes();
    run.done_writing("w/b", set("k", 2));
    assert_eq!(run.state()["k"], json!(2));
}

#[test]
fn a_node_that_follows_may_replace_what_the_one_before_wrote() {
    let mut run = workflow("START>a; a>b; b>END").start();
    run.done_writing("w/a", set("k", 1));
    run.done_writing("w/b", set("k", 2));
    assert_eq!(run.output(), 1);
}

#[test]
fn writes_that_merge_never_lose_one_another() {
    let mut run = workflow("START>a; START>b; (a,b)>END").start();
    let ops = |at: u32| {
        writes(vec![
            ("list", StateOp::Append(vec![json!(at)])),
            ("sum", StateOp::Add(at.into())),
            ("least", StateOp::Min(at.into())),
            ("greatest", StateOp::Max(at.into())),
            ("set", StateOp::Union(vec![json!("x"), json!(at)])),
            ("map", StateOp::Merge([(at.to_string(), json!(at))].into_iter().collect())),
        ])
    };
    run.done_writing("w/b", ops(2));
    run.done_writing("w/a", ops(1));
    let all = json!({"list": [2, 1], "sum": 3, "least": 1, "greatest": 2, "set": ["x", 2, 1], "map": {"1": 1, "2": 2}});
    assert_eq!(serde_json::Value::Object((**run.state()).clone()), all);
}

#[test]
fn the_writes_of_a_node_are_taken_all_or_none() {
    let mut run = workflow("START>a; a>b; b>END").start();
    run.done_writing("w/a", set("k", 1));
    run.done_writing("w/b", writes(vec![("other", StateOp::Set(json!(1))), ("k", StateOp::Append(vec![json!(1)]))]));
    assert!(run.failure().to_string().contains("state key `k` holds 1, which is not a list"));
    assert!(!run.state().contains_key("other"));
}

#[test]
fn nodes_inside_a_node_see_what_others_inside_have_written_and_those_around_it_do_not() {
    let mut run = workflow("START>n; START>a; a>b; (b,n)>END").nested("n", "START>x; x>y; y>END").start();
    run.enters("w/n", &[1]);
    run.done_writing("w/n/x", set("k", 1));
    run.done_writing("w/a", set("other", 2));
    let seen = |path: &str| run.seen[path].keys().cloned().collect::<Vec<_>>();
    assert_eq!((seen("w/n/y"), seen("w/b")), (vec!["k".to_owned()], vec!["other".to_owned()]));
}

#[test]
fn what_was_written_inside_a_node_is_there_when_it_is_done() {
    let mut run = workflow("START>n; n>b; b>END").nested("n", "START>x; x>END").start();
    run.enters("w/n", &[1]);
    run.done_writing("w/n/x", set("k", 1));
    assert_eq!(run.seen["w/b"]["k"], json!(1));
}

#[test]
fn what_was_written_inside_an_attempt_that_failed_is_discarded() {
    let run = workflow("START>n; n>END").nested("n", "START>x; x>y; y>END");
    let mut run = run.options("n", |of| of.retry.max_attempts = 2).start();
    run.enters("w/n", &[1]);
    run.done_writing("w/n/x", set("k", 1));
    run.fails("w/n/y");
    run.time_passes();
    run.enters("w/n", &[1]);
    assert!(run.seen["w/n/x"].is_empty());
}

#[test]
fn what_was_written_inside_a_node_that_failed_is_not_there_behind_its_err_arm() {
    let mut run = workflow("START>n; n>ok:END; n>err:b; b>END").nested("n", "START>x; x>y; y>END").start();
    run.routes.insert("n".to_owned(), "err");
    run.enters("w/n", &[1]);
    run.done_writing("w/n/x", set("k", 1));
    run.fails("w/n/y");
    assert!(run.seen["w/b"].is_empty());
}

#[test]
fn a_node_inside_which_a_key_was_replaced_that_another_has_replaced_since_it_began_has_failed() {
    let mut run = workflow("START>n; START>a; (n,a)>END").nested("n", "START>x; x>END").start();
    run.enters("w/n", &[1]);
    run.done_writing("w/a", set("k", 1));
    run.done_writing("w/n/x", set("k", 2));
    let (key, first, second) = ("k".into(), "w/a".into(), "w/n/x".into());
    assert_eq!(run.failure().cause.fault, Some(Fault::StateConflict { key, first, second }));
}

#[test]
fn a_sum_is_what_the_nodes_inside_have_seen_to_the_last_digit() {
    let add = |number: f64| {
        let number = serde_json::Number::from_f64(number).unwrap();
        writes(vec![("sum", StateOp::Add(number))])
    };
    let mut run = workflow("START>a; a>n; n>b; b>END").nested("n", "START>x; x>y; y>z; z>END").start();
    run.done_writing("w/a", add(0.1));
    run.enters("w/n", &[1]);
    run.done_writing("w/n/x", add(0.2));
    run.done_writing("w/n/y", add(0.3));
    run.done("w/n/z", 1);
    assert_eq!(run.seen["w/n/z"]["sum"], json!(0.1 + 0.2 + 0.3));
    assert_eq!(run.seen["w/b"]["sum"], run.seen["w/n/z"]["sum"]);
    assert_ne!(run.seen["w/b"]["sum"], json!(0.1 + (0.2 + 0.3)));
}

#[test]
fn what_two_nodes_have_merged_inside_is_all_there() {
    let add = |number: u32| writes(vec![("sum", StateOp::Add(number.into()))]);
    let run = workflow("START>n; START>m; (n,m)>b; b>END").nested("n", "START>x; x>END");
    let mut run = run.nested("m", "START>y; y>END").start();
    run.enters("w/n", &[1]);
    run.enters("w/m", &[1]);
    run.done_writing("w/n/x", add(1));
    run.done_writing("w/m/y", add(2));
    assert_eq!(run.seen["w/b"]["sum"], json!(3));
}
