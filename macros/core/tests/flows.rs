//! Loops, ends and names: the graph that they become. [`common::print`] says how to read it.

mod common;

use common::means;

#[test]
fn naming_an_earlier_node_makes_a_loop() {
    means(
        "START => draft => review => <redo: draft, done: END>",
        &["START > draft", "review > END", "START; review > draft > review", "draft > review > redo: draft, done: END"],
    );
}

#[test]
fn an_arm_that_goes_back_is_worth_nothing_to_what_follows() {
    means(
        "START => draft => review => <redo: draft, good: publish> => notify",
        &[
            "START > draft",
            "notify > END",
            "START; review > draft > review",
            "draft > review > redo: draft, good: publish",
            "review > publish > notify",
            "publish > notify > END",
        ],
    );
}

#[test]
fn a_chain_that_goes_back_is_worth_nothing_either() {
    means(
        "START => draft => review => <redo: fix => draft, good: publish> => notify",
        &[
            "START > draft",
            "notify > END",
            "START; fix > draft > review",
            "draft > review > redo: fix, good: publish",
            "review > fix > draft",
            "review > publish > notify",
            "publish > notify > END",
        ],
    );
}

#[test]
fn going_back_is_seen_across_statements() {
    means(
        "START => draft; review => <redo: draft, good: publish> => notify; draft => review",
        &[
            "START > draft",
            "notify > END",
            "START; review > draft > review",
            "draft > review > redo: draft, good: publish",
            "review > publish > notify",
            "publish > notify > END",
        ],
    );
}

#[test]
fn an_inner_arm_goes_back_past_the_outer_map() {
    means(
        "START => draft => review => <ok: check => <redo: draft, good: publish>, err: repair> => notify",
        &[
            "START > draft",
            "notify > END",
            "START; check > draft > review",
            "draft > review > ok: check, err: repair",
            "review > check > redo: draft, good: publish",
            "check > publish > notify",
            "review > repair > notify",
            "publish; repair > notify > END",
        ],
    );
}

#[test]
fn a_node_ahead_in_the_loop_is_no_way_back() {
    means(
        "START => a => <ok: b, err: c> => d => <again: a, fin: e>",
        &[
            "START > a",
            "e > END",
            "START; d > a > ok: b, err: c",
            "a > b > d",
            "a > c > d",
            "b; c > d > again: a, fin: e",
            "d > e > END",
        ],
    );
}

#[test]
fn planner_and_workers() {
    means(
        "START => h => <go: (x, y), done: END>; (x, y) => h",
        &["START > h", "h > END", "START; (x, y) > h > go: x+y, done: END", "h > x > h", "h > y > h"],
    );
}

#[test]
fn terminal_nodes_lead_to_end() {
    means(
        "START => a => <x: b, y: c>",
        &["START > a", "b; c > END", "START > a > x: b, y: c", "a > b > END", "a > c > END"],
    );
}

#[test]
fn beside_a_written_end_terminals_are_side_branches() {
    means(
        "START => a => (b, log); b => END",
        &["START > a", "b > END", "START > a > b+log", "a > b > END", "a > log >"],
    );
}

#[test]
fn without_an_output_everything_may_end_anywhere() {
    means("f(A) { START => a => (b, c); }", &["START > a+END", "START > END", "START > a > b+c", "a > b >", "a > c >"]);
}

#[test]
fn without_an_output_end_is_no_edge() {
    means(
        "f(A) { START => h => <go: (x, log), done: END>; x => h }",
        &["START > h+END", "START > END", "START; x > h > go: x+log, done:", "h > x > h", "h > log >"],
    );
}

#[test]
fn start_may_be_routed() {
    means(
        "(A) -> B { START => <x: a, y: b> }",
        &["START > x: a, y: b", "a; b > END", "START > a > END", "START > b > END"],
    );
}

#[test]
fn a_routed_start_may_end_at_once_without_an_output() {
    means("f(A) { START => <x: a, y: END>; }", &["START > x: a+END, y: END", "START > END", "START > a >"]);
}

#[test]
fn without_an_output_a_written_end_may_meet_itself() {
    means(
        "f(A) { START => (a, b); a => END; b => END; }",
        &["START > a+b+END", "START > END", "START > a >", "START > b >"],
    );
}

#[test]
fn arms_that_end_share_an_edge() {
    means(
        "START => a => <x: END, y: END, z: b => END>",
        &["START > a", "a; b > END", "START > a > x: END, y: END, z: b", "a > b > END"],
    );
}

#[test]
fn start_may_lead_to_end() {
    means("START => END", &["START > END", "START > END"]);
}

#[test]
fn a_group_of_chains_may_be_a_statement() {
    means(
        "START => (a, b); (a => c, b => d); (c, d) => END",
        &["START > a+b", "(c, d) > END", "START > a > c", "START > b > d", "a > c > END", "b > d > END"],
    );
}

#[test]
fn a_let_names_a_node() {
    means(
        "let mirror = fetch(timeout = \"5s\"); let batch = Batch { size: 10 }; START => (fetch, mirror) => compare => batch",
        &[
            "START > fetch+mirror",
            "batch > END",
            "START > fetch > compare",
            "START > mirror > compare",
            "(fetch, mirror) > compare > batch",
            "compare > batch > END",
        ],
    );
}

#[test]
fn a_let_may_set_options_only() {
    means(
        "let charge = charge(timeout = \"5s\"); START => charge => b",
        &["START > charge", "b > END", "START > charge > b", "charge > b > END"],
    );
}

#[test]
fn a_macros_glue_is_no_hindrance() {
    means("@crate $crate_path::x; START => a", &["START > a", "a > END", "START > a > END"]);
}
