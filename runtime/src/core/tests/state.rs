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
