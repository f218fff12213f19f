//! What is told of a graph that is not sound, at which tokens, and with which mend.

mod common;

use common::tells;

#[test]
fn no_start_is_told() {
    tells("a => b => c", &["a: the workflow does not say where it begins", "  help: begin with `START => a`"]);
}

#[test]
fn start_leads_nowhere_is_told() {
    tells("START", &["START: `START` leads nowhere", "  help: `START => next`, or `START => END`"]);
}

#[test]
fn an_empty_workflow_is_told() {
    tells("", &["(everything): an empty workflow", "  help: write its statements, `START => first => second`"]);
}

#[test]
fn an_empty_graph_is_told() {
    tells("f(A) -> B { }", &["f: the workflow does not say where it begins", "  help: begin with `START => node`"]);
}

#[test]
fn an_edge_into_start_is_told() {
    tells(
        "START => a => <x: START, y: END>",
        &[
            "START: an edge leads into START",
            "  help: START is the workflow's input: for a loop, lead back to the first node",
        ],
    );
}

#[test]
fn start_in_the_middle_is_told() {
    tells(
        "START => a; b => START => c",
        &[
            "START: an edge leads into START",
            "  help: START is the workflow's input: for a loop, lead back to the first node",
        ],
    );
}

#[test]
fn nothing_leads_on_from_end_is_told() {
    tells("START => a => END => b", &["=>: nothing leads on from END", "  help: END is the workflow's output"]);
}

#[test]
fn every_arm_ends_is_told() {
    tells(
        "START => a => <x: END, y: END> => b",
        &[
            "=>: nothing flows on here: every arm before it ends at END or goes back to the beginning of its loop",
            "  help: lead one arm to another node, or remove what follows the route map",
        ],
    );
}

#[test]
fn unreachable_with_a_near_name_is_told() {
    tells(
        "START => fetch => b; fecth => c => d",
        &[
            "fecth: `fecth` is never reached: no route from START leads to it",
            "  help: a node with a similar name is reached: `fetch`",
        ],
    );
}

#[test]
fn unreachable_without_a_near_name_is_told() {
    tells(
        "START => fetch => b; other => c",
        &["other: `other` is never reached: no route from START leads to it", "  help: lead to it: `.. => other`"],
    );
}

#[test]
fn an_island_of_two_is_told() {
    tells(
        "START => fetch; other => <x: more, y: END>; more => other; fetch => END",
        &["other: `other` is never reached: no route from START leads to it", "  help: lead to it: `.. => other`"],
    );
}

#[test]
fn a_route_that_never_reaches_end_is_told() {
    tells(
        "START => a => <x: b, y: END>",
        &["x: END is never reached when `a` takes `x`", "  help: this route ends at `b`: write `b => END`"],
    );
}

#[test]
fn a_route_that_never_reaches_end_further_on_is_told() {
    tells(
        "START => a => <x: b => <p: c, q: END>, y: END>",
        &[
            "p: END is never reached when `a` takes `x` and `b` takes `p`",
            "  help: this route ends at `c`: write `c => END`",
        ],
    );
}

#[test]
fn two_defaults_is_told() {
    tells(
        "START => a => <_: b, _: c>",
        &["_: `a` has two defaults", "  help: `_` takes whatever no other label takes: keep one, as the last arm"],
    );
}

#[test]
fn a_default_that_is_not_last_is_told() {
    tells(
        "START => a => <_: b, x: c>",
        &[
            "_: `_` comes before other labels of `a`, which would never be taken",
            "  help: move it to the end of the last route map",
        ],
    );
}

#[test]
fn a_default_beside_labels_is_told() {
    tells(
        "START => a => <x | _: b>",
        &["_: `_` takes all remaining labels, so it must be alone", "  help: leave out the labels beside it, or `_`"],
    );
}

#[test]
fn a_duplicate_label_is_told() {
    tells(
        "START => a => <x: b, x: c>",
        &["x: `a` is already routed for label `x`", "  help: for several targets write `x: (a, b)`"],
    );
}

#[test]
fn a_duplicate_label_in_another_spelling_is_told() {
    tells(
        "START => a => <HTTPError: b, http_error: c>",
        &[
            "http_error: `a` is already routed for label `http_error`, which was written `HTTPError`",
            "  help: for several targets write `http_error: (a, b)`",
        ],
    );
}

#[test]
fn a_duplicate_label_in_another_statement_is_told() {
    tells(
        "START => a => <x: b, y: c>; a => <y: d>",
        &["y: `a` is already routed for label `y`", "  help: for several targets write `y: (a, b)`"],
    );
}

#[test]
fn an_empty_route_map_is_told() {
    tells("START => a => <>", &["<>: an empty route map", "  help: write an arm for every label: `<ok: a, err: b>`"]);
}

#[test]
fn a_duplicate_edge_is_told() {
    tells("START => a => b; a => b", &["b: `a => b` is written twice", "  help: leave one of them out"]);
}

#[test]
fn a_duplicate_group_is_told() {
    tells(
        "START => (a, b); (a, b) => c; (a, b) => c",
        &["c: `(a, b) => c` is written twice", "  help: leave one of them out"],
    );
}

#[test]
fn a_circle_is_told() {
    tells(
        "START => a => b => c => a",
        &[
            "a: `a => b => c => a` goes round for ever: no route leads out of it",
            "  help: let a label of `c` decide when it is done: `c => <again: a, done: END>`",
        ],
    );
}

#[test]
fn a_circle_of_one_is_told() {
    tells(
        "START => a => a",
        &[
            "a: `a => a` goes round for ever: no route leads out of it",
            "  help: let a label of `a` decide when it is done: `a => <again: a, done: END>`",
        ],
    );
}

#[test]
fn a_loop_without_a_way_out_is_told() {
    tells(
        "START => a => b => <x: a, y: b>",
        &[
            "a: the loop of `a` and `b` has no way out: every route in it stays inside",
            "  help: give a node of it an arm that leads out, for example `done: END`",
        ],
    );
}

#[test]
fn a_node_that_only_leads_to_itself_is_told() {
    tells(
        "START => a => <x: a, y: a>",
        &[
            "a: `a => a` has no way out: every route of it leads back",
            "  help: give a node of it an arm that leads out, for example `done: END`",
        ],
    );
}

#[test]
fn a_join_that_mixes_ways_back_is_told() {
    tells(
        "START => w; (w, b) => h; h => <x: b, y: END>",
        &[
            "h: `h` would wait for ever: when `h` takes `x`, `w` never runs again: `(w, b) => h` joins what comes before the loop with what comes from inside it",
            "  help: `w => h; b => h` begins a turn with whichever comes",
            "  help: what every turn needs is joined inside the loop, behind `h`",
        ],
    );
}

#[test]
fn a_node_that_would_run_twice_is_told() {
    tells(
        "START => a => <x: (b, c), y: b>; b => d; c => d",
        &[
            "d: `d` would run twice: when `a` takes `x`, both `b` and `c` lead here",
            "  help: `(b, c) => d` runs it once, when both have come",
            "  help: `b | c => d` runs it for each as it comes, until it yields an output",
        ],
    );
}

#[test]
fn a_node_that_would_run_three_times_is_told() {
    tells(
        "START => (a, b, c); a => d; b => d; c => d",
        &[
            "d: `d` would run twice: both `a` and `b` lead here",
            "  help: `(a, b, c) => d` runs it once, when all have come",
            "  help: `a | b | c => d` runs it for each as it comes, until it yields an output",
        ],
    );
}

#[test]
fn a_group_and_a_plain_way_that_meet_is_told() {
    tells(
        "START => (a, b, c); (a, b) => d; c => d",
        &[
            "d: `d` would run twice: both `(a, b)` and `c` lead here",
            "  help: let only one of these ways lead there, or put a node with another name at the end of one",
        ],
    );
}

#[test]
fn a_place_that_would_be_filled_twice_is_told() {
    tells(
        "START => s => (a => <ok: b, err: c>, d) => e; START => b",
        &[
            "b: `b` would run twice: when `a` takes `ok`, both `a` and `START` lead here",
            "  help: `(a, START) => b` runs it once, when both have come",
            "  help: `a | START => b` runs it for each as it comes, until it yields an output",
            "c: a place of `(b | c, d) => e` would be filled twice: when `a` takes `err`, both `b` and `c` lead there",
            "  help: give each a place of its own: `(b, c, ..) => e`",
        ],
    );
}

#[test]
fn two_tokens_in_a_hand_over_is_told() {
    tells(
        "START => a => <x: alice, y: bob>; alice => <p: (bob, alice), q: END>; bob => <p: alice, q: END>",
        &[
            "alice: `alice` hands over to both `bob` and `alice`, in a loop that is entered at `alice` and `bob`",
            "  help: a loop with several ways in holds one token: hand over to one of them",
            "  help: a loop that begins each turn at one node can run nodes at once",
        ],
    );
}

#[test]
fn a_join_in_a_hand_over_is_told() {
    tells(
        "START => a => <x: alice, y: bob>; alice => <p: bob, q: END>; bob => <p: carl, q: END>; (carl, a) => alice",
        &[
            "alice: `alice` would wait for ever: `(carl, a) => alice` joins `carl`, which is in a loop that is entered at `alice` and `bob`",
            "  help: a loop with several ways in holds one token, so no two branches of it run at once: join them behind the loop, or begin each turn at one node",
        ],
    );
}

#[test]
fn branches_of_different_loops_is_told() {
    tells(
        "START => draft => review => <redo: draft, good: publish>; (log, publish) => join; draft => log",
        &[
            "join: `log` and `publish` cannot meet at `join`: `log` comes once for each turn of the loop at `draft`, and `publish` does not",
            "  help: join them inside the loop, before the route that decides whether it continues",
            "  help: or put what `join` takes from `log` on a route that ends the loop",
        ],
    );
}

#[test]
fn end_on_the_side_of_a_loop_is_told() {
    tells(
        "START => draft => review => <redo: draft, good: publish>; draft => log => END; publish => END",
        &[
            "END: `log => END` would come once for each turn: `draft => log` leaves the loop while it continues at `draft` when `review` takes `redo`",
            "  help: END is reached once: lead to it from a route that ends the loop",
            "  help: without `=> END`, what `log` begins runs on the side once for each turn",
        ],
    );
}

#[test]
fn two_outputs_is_told() {
    tells(
        "START => a => (b, c)",
        &[
            "c: the workflow would have two outputs: both `b` and `c` end it",
            "  help: `(b, c) => END` waits for both and gives them together",
            "  help: `b => END` makes `b` the output, and drops that of `c`",
        ],
    );
}

#[test]
fn two_outputs_on_a_route_is_told() {
    tells(
        "START => a => <x: (b, c), y: b>",
        &[
            "c: the workflow would have two outputs: when `a` takes `x`, both `b` and `c` end it",
            "  help: `(b, c) => END` waits for both and gives them together",
            "  help: `b => END` makes `b` the output, and drops that of `c`",
        ],
    );
}

#[test]
fn three_outputs_is_told() {
    tells(
        "START => (a, b, c)",
        &[
            "b: the workflow would have two outputs: both `a` and `b` end it",
            "  help: `(a, b, c) => END` waits for both and gives them together",
            "  help: `a => END` makes `a` the output, and drops that of `b`",
        ],
    );
}

#[test]
fn two_written_outputs_is_told() {
    tells(
        "START => (a, b); a => END; b => END",
        &[
            "END: the workflow would have two outputs: both `a` and `b` lead to END",
            "  help: `(a, b) => END` waits for both and gives them together",
        ],
    );
}

#[test]
fn two_outputs_of_an_item_is_told() {
    tells(
        "START => [a => (b, c)]",
        &["c: an item would have two outputs: both `b` and `c` end its run", "  help: join them: `(b, c) => join`"],
    );
}
