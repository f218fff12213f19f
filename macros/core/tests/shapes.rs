//! What each shape means: the graph that it becomes. [`common::print`] says how to read it.

mod common;

use common::means;

#[test]
fn an_item_has_docs_a_name_and_a_signature_around_its_graph() {
    means(
        "/// Docs.\npub checkout(Order) -> String { START => validate => <ok: charge, err: refuse> => notify; }",
        &[
            "START > validate",
            "notify > END",
            "START > validate > ok: charge, err: refuse",
            "validate > charge > notify",
            "validate > refuse > notify",
            "charge; refuse > notify > END",
        ],
    );
}

#[test]
fn then() {
    means("START => a => b", &["START > a", "b > END", "START > a > b", "a > b > END"]);
}

#[test]
fn all_of_runs_at_once_and_is_waited_for() {
    means(
        "START => a => (b, c) => d",
        &["START > a", "d > END", "START > a > b+c", "a > b > d", "a > c > d", "(b, c) > d > END"],
    );
}

#[test]
fn one_of_leads_on_from_whichever_ran() {
    means(
        "START => a => <ok: b, err: c> => d",
        &["START > a", "d > END", "START > a > ok: b, err: c", "a > b > d", "a > c > d", "b; c > d > END"],
    );
}

#[test]
fn a_join_of_routed_nodes_is_a_group() {
    means(
        "START => a => <ok: b, err: c>; (b, c) => join",
        &[
            "START > a",
            "join > END",
            "START > a > ok: b, err: c",
            "a > b > join",
            "a > c > join",
            "(b, c) > join > END",
        ],
    );
}

#[test]
fn each_of_is_a_node_with_a_flow_of_its_own() {
    means(
        "START => a => [b => c] => d",
        &[
            "START > a",
            "d > END",
            "START > a > [b => c]",
            "a > [b => c] > d { START > b ~ c > END ~ START > b > c ~ b > c > END }",
            "[b => c] > d > END",
        ],
    );
}

#[test]
fn each_of_may_route_and_loop() {
    means(
        "START => [draft => review => <redo: draft, good: publish>] => notify",
        &[
            "START > [draft => review => <redo: draft, good: publish>]",
            "notify > END",
            "START > [draft => review => <redo: draft, good: publish>] > notify { START > draft ~ publish > END ~ START; review > draft > review ~ draft > review > redo: draft, good: publish ~ review > publish > END }",
            "[draft => review => <redo: draft, good: publish>] > notify > END",
        ],
    );
}

#[test]
fn each_of_may_hold_statements() {
    means(
        "START => [a => <ok: b, err: c>; (b, c) => d]",
        &[
            "START > [a => <ok: b, err: c>; (b, c) => d]",
            "[a => <ok: b, err: c>; (b, c) => d] > END",
            "START > [a => <ok: b, err: c>; (b, c) => d] > END { START > a ~ d > END ~ START > a > ok: b, err: c ~ a > b > d ~ a > c > d ~ (b, c) > d > END }",
        ],
    );
}

#[test]
fn each_of_may_stand_in_each_of() {
    means(
        "START => [[a] => b]",
        &[
            "START > [[a] => b]",
            "[[a] => b] > END",
            "START > [[a] => b] > END { START > [a] ~ b > END ~ START > [a] > b { START > a ~ a > END ~ START > a > END } ~ [a] > b > END }",
        ],
    );
}

#[test]
fn any_is_one_way_in_for_all_its_members() {
    means(
        "START => (a, b); a | b => c => d",
        &["START > a+b", "d > END", "START > a > c", "START > b > c", "a|b > c > d", "c > d > END"],
    );
}

#[test]
fn parentheses_around_one_shape_mean_nothing() {
    means(
        "START => (a) => (b => c) => d",
        &["START > a", "d > END", "START > a > b", "a > b > c", "b > c > d", "c > d > END"],
    );
}

#[test]
fn a_group_leads_to_every_target() {
    means(
        "START => a => (b, c) => (d, e); (d, e) => END",
        &[
            "START > a",
            "(d, e) > END",
            "START > a > b+c",
            "a > b > d+e",
            "a > c > d+e",
            "(b, c) > d > END",
            "(b, c) > e > END",
        ],
    );
}

#[test]
fn a_group_may_hold_chains() {
    means(
        "START => (a => b, c) => d",
        &["START > a+c", "d > END", "START > a > b", "a > b > d", "START > c > d", "(b, c) > d > END"],
    );
}

#[test]
fn a_place_may_be_fed_by_routes() {
    means(
        "START => s => (a => <ok: b, err: c>, d) => e",
        &[
            "START > s",
            "e > END",
            "START > s > a+d",
            "s > a > ok: b, err: c",
            "a > b > e",
            "a > c > e",
            "s > d > e",
            "(b/c, d) > e > END",
        ],
    );
}

#[test]
fn a_group_as_an_arms_target_is_one_of_two_ways_in() {
    means(
        "START => a => <ok: (b, c), err: d> => e",
        &[
            "START > a",
            "e > END",
            "START > a > ok: b+c, err: d",
            "a > b > e",
            "a > c > e",
            "a > d > e",
            "(b, c); d > e > END",
        ],
    );
}

#[test]
fn start_may_be_a_place_of_a_group() {
    means("START => a; (START, a) => b", &["START > a+b", "b > END", "START > a > b", "(START, a) > b > END"]);
}

#[test]
fn arms_with_the_same_target_share_an_edge() {
    means("START => a => <x: d, y: d>", &["START > a", "d > END", "START > a > x: d, y: d", "a > d > END"]);
}

#[test]
fn labels_share_an_arm() {
    means(
        "START => a => <low | medium: auto, high: human>",
        &[
            "START > a",
            "auto; human > END",
            "START > a > low | medium: auto, high: human",
            "a > auto > END",
            "a > human > END",
        ],
    );
}

#[test]
fn braces_are_angles() {
    means(
        "START => a => {Ok: b, Err: c}",
        &["START > a", "b; c > END", "START > a > Ok: b, Err: c", "a > b > END", "a > c > END"],
    );
}

#[test]
fn literals_and_ranges_are_labels() {
    means(
        "START => a => <0..=9: b, ..=-1: c, 10..: d, 'x': e, \"s\": f, true: g, _: h>",
        &[
            "START > a",
            "b; c; d; e; f; g; h > END",
            "START > a > 0..=9: b, ..=-1: c, 10..: d, 'x': e, \"s\": f, true: g, _: h",
            "a > b > END",
            "a > c > END",
            "a > d > END",
            "a > e > END",
            "a > f > END",
            "a > g > END",
            "a > h > END",
        ],
    );
}

#[test]
fn a_negative_label_stands_right_behind_the_angle() {
    means(
        "START => a =><-1: b, _: c>",
        &["START > a", "b; c > END", "START > a > -1: b, _: c", "a > b > END", "a > c > END"],
    );
}

#[test]
fn keywords_are_labels() {
    means(
        "START => a => <loop: b, r#match: c, type: d>",
        &[
            "START > a",
            "b; c; d > END",
            "START > a > loop: b, r#match: c, type: d",
            "a > b > END",
            "a > c > END",
            "a > d > END",
        ],
    );
}

#[test]
fn angles_close_without_a_space() {
    means(
        "START => a => <x: b => <y: c, z: d>>=> e",
        &["START > a", "e > END", "START > a > x: b", "a > b > y: c, z: d", "b > c > e", "b > d > e", "c; d > e > END"],
    );
}

#[test]
fn a_leading_path_separator_may_follow_a_label() {
    means(
        "START => a => <x: ::shop::b, y:::shop::c>",
        &["START > a", "b; c > END", "START > a > x: b, y: c", "a > b > END", "a > c > END"],
    );
}

#[test]
fn route_maps_of_one_node_are_one() {
    means(
        "START => a => <x: b>; a => <y: c>; (b, c) => d",
        &["START > a", "d > END", "START > a > x: b, y: c", "a > b > d", "a > c > d", "(b, c) > d > END"],
    );
}

#[test]
fn a_plain_edge_stands_in_every_choice() {
    means(
        "START => a => <x: b, y: c>; a => log; (b, c) => END",
        &["START > a", "(b, c) > END", "START > a > x: b+log, y: c+log", "a > b > END", "a > c > END", "a > log >"],
    );
}
