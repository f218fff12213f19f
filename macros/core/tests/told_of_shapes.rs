//! What is told of shapes and names that mean nothing.

mod common;

use common::tells;

#[test]
fn a_routed_start_without_a_signature_is_told() {
    tells(
        "START => <x: a, y: b>",
        &[
            "START: START is routed, and the type of the input is not written",
            "  help: give the workflow a signature: `(Order) -> Receipt { START => <..>; }`",
        ],
    );
}

#[test]
fn a_bar_in_a_chain_is_told() {
    tells(
        "START => a => b | c => d",
        &[
            "|: `|` is only allowed at the beginning of a statement",
            "  help: end the statement before it, and begin the next one with `b | c => ..`",
        ],
    );
}

#[test]
fn a_bar_in_a_group_is_told() {
    tells(
        "START => a => (b | c) => d",
        &[
            "|: `|` is only allowed at the beginning of a statement",
            "  help: `a | b => d;` is a statement of its own, in which `d` runs for each that arrives",
        ],
    );
}

#[test]
fn a_bar_in_an_arm_is_told() {
    tells(
        "START => a => <x: b | c, y: d>",
        &[
            "|: `|` is only allowed at the beginning of a statement",
            "  help: an arm that leads to several nodes reads `label: (a, b)`",
        ],
    );
}

#[test]
fn a_bar_between_shapes_is_told() {
    tells(
        "START => (a, b, c); (a, b) | c => d",
        &[
            "(a, b): `|` joins nodes, and `(a, b)` is not a node",
            "  help: lead it to a node first, and name that node here: `(a, b) => node; node | ..`",
        ],
    );
}

#[test]
fn a_collecting_node_with_another_way_in_is_told() {
    tells(
        "START => (a, b, c); a | b => d; c => d",
        &["d: `d` collects what comes from `a | b`, and `c` leads there on its own", "  help: `a | b | c => d`"],
    );
}

#[test]
fn end_that_collects_is_told() {
    tells(
        "START => (a, b); a | b => END",
        &[
            "=>: END takes one output, and these come one by one",
            "  help: put a collecting node between: `a | b => collect => END`",
        ],
    );
}

#[test]
fn a_group_into_a_route_map_is_told() {
    tells(
        "START => (a, b) => <x: c, y: d>",
        &[
            "<x: c, y: d>: a route map goes by the label of one node, but the group `(a, b)` leads here",
            "  help: put a node between that joins them: `(a, b) => join => <..>`",
        ],
    );
}

#[test]
fn a_group_into_each_of_is_told() {
    tells(
        "START => (a, b) => [c]",
        &[
            "[c]: `[..]` runs for every item of a `Vec`, but the group `(a, b)` leads here",
            "  help: put a node between that joins them: `(a, b) => join => [..]`",
        ],
    );
}

#[test]
fn several_nodes_into_a_route_map_is_told() {
    tells(
        "START => a => <ok: b, err: c> => <x: d, y: e>",
        &[
            "<x: d, y: e>: a route map goes by the label of one node, but `b` and `c` lead here",
            "  help: put a node between that takes whichever comes: `.. => node => <..>`",
        ],
    );
}

#[test]
fn a_route_map_as_a_target_of_an_arm_is_told() {
    tells(
        "START => a => <ok: <x: b, y: c>, err: d>",
        &[
            "<x: b, y: c>: two labels in a row, and one node gives one label",
            "  help: put a node between that looks at what the first label carries: `ok: node => <..>`",
        ],
    );
}

#[test]
fn an_arm_that_ends_where_the_map_leads_is_told() {
    tells(
        "START => a => <x: b, y: d> => d",
        &[
            "d: `d` would lead to itself: an arm before it ends at `d`, and this arrow leads on from there",
            "  help: lead the other arms there on their own: `<x: a => d, y: d>`",
        ],
    );
}

#[test]
fn a_lonely_node_in_a_group_is_told() {
    tells("START => a; (a => b, c)", &["c: `c` leads nowhere", "  help: `c => next`, or `c => END`"]);
}

#[test]
fn a_group_in_a_group_is_told() {
    tells(
        "START => ((a, b), c) => d",
        &[
            "(a, b): a place of a group holds one value, and this one is a group itself",
            "  help: put a node in it that joins the inner one: `((a, b) => join, c)`",
        ],
    );
}

#[test]
fn a_group_that_an_arm_puts_into_a_group_is_told() {
    tells(
        "START => s => (a => <ok: (b, c), err: d>, e) => f",
        &[
            "<ok: (b, c), err: d>: a place of a group holds one value, and this one is a group itself",
            "  help: put a node in it that joins the inner one: `((a, b) => join, c)`",
        ],
    );
}

#[test]
fn a_place_without_a_value_is_told() {
    tells(
        "START => (a => END, b) => c",
        &[
            "END: this branch ends at END, and there is nothing to join",
            "  help: leave it out of the group, and give it a statement of its own",
        ],
    );
}

#[test]
fn a_route_map_without_a_node_is_told() {
    tells(
        "START => a; <x: b> => c",
        &["<x: b>: a route map follows the node whose label it matches", "  help: `node => <ok: a, err: b>`"],
    );
}

#[test]
fn each_of_without_a_node_is_told() {
    tells(
        "START => a; [b] => c",
        &[
            "[b]: nothing leads into this `[..]`",
            "  help: it runs for every item of what the node before it gives: `node => [..]`",
        ],
    );
}

#[test]
fn each_of_with_start_is_told() {
    tells(
        "START => a => [START => b]",
        &["START: `[..]` holds no START", "  help: each item enters at the first node of `[..]`"],
    );
}

#[test]
fn each_of_with_end_is_told() {
    tells(
        "START => a => [b => END]",
        &[
            "END: `[..]` holds no END",
            "  help: what the last node gives is what `[..]` gives for the item: leave it out",
        ],
    );
}

#[test]
fn each_of_that_begins_with_a_group_is_told() {
    tells(
        "START => a => [(b, c) => d]",
        &[
            "[(b, c) => d]: `[..]` has one way in, and this one begins with `(b, c)`",
            "  help: put a node in front: `[node => (b, c) ..]`",
        ],
    );
}

#[test]
fn each_of_with_a_comma_is_told() {
    tells(
        "START => a => [b, c]",
        &[
            ",: `[..]` has one way in and gives one value",
            "  help: several nodes at once come after the first: `[node => (a, b) => join]`",
        ],
    );
}

#[test]
fn each_of_with_an_outside_name_is_told() {
    tells(
        "START => a => [a]",
        &[
            "a: `a` is already outside this `[..]`, and what is inside is private",
            "  help: for a second node, give it a second name: `let a2 = a();`",
        ],
    );
}

#[test]
fn an_inside_name_outside_is_told() {
    tells(
        "START => [a] => a",
        &[
            "a: `a` is inside `[..]`, and what is inside is private",
            "  help: for a second node, give it a second name: `let a2 = a();`",
        ],
    );
}

#[test]
fn an_inside_name_inside_again_is_told() {
    tells(
        "START => [a] => [a]",
        &[
            "a: `a` is already in another `[..]`, and what is inside is private",
            "  help: for a second node, give it a second name: `let a2 = a();`",
        ],
    );
}

#[test]
fn two_nodes_of_one_name_is_told() {
    tells(
        "START => x::fetch => y::fetch",
        &[
            "y::fetch: two nodes are called `fetch`: `x::fetch` and `y::fetch`",
            "  help: for two nodes, give one a name of its own: `let fetch2 = y::fetch();`",
            "  help: for one node, write the same path everywhere",
        ],
    );
}

#[test]
fn two_lets_of_one_name_is_told() {
    tells(
        "let m = a(); let m = b(); START => m",
        &["m: two `let`s are called `m`", "  help: names are unique in a workflow: choose another one"],
    );
}

#[test]
fn a_let_of_a_let_is_told() {
    tells(
        "let m = a(); let n = m(); START => n",
        &["m: `m` is the name of a `let`, not of a node", "  help: name its node instead: `let n = a(..);`"],
    );
}

#[test]
fn a_let_that_is_not_used_is_told() {
    tells(
        "let fetcher = a(); START => fetch",
        &[
            "fetcher: `fetcher` is never reached: no statement names it",
            "  help: a node with a similar name is there: `fetch`",
        ],
    );
}

#[test]
fn a_let_without_a_type_is_told() {
    tells(
        "let m = Batch::new(10).wide(); START => m",
        &["Batch::new(10).wide(): the type of `m` is not written", "  help: `let m: Batch = ..;`"],
    );
}

#[test]
fn a_let_without_parentheses_is_told() {
    tells(
        "let m = a; START => m",
        &[
            "a: `a` needs parentheses, or `m` its type",
            "  help: for a node under a second name: `let m = a();`",
            "  help: for a value: `let m: Type = a;`",
        ],
    );
}

#[test]
fn a_let_called_start_is_told() {
    tells("let START = a(); START => b", &["START: `START` has a meaning already", "  help: choose another name"]);
}

#[test]
fn a_let_without_a_value_is_told() {
    tells(
        "let m; START => b",
        &["m: missing value after `let m =`", "  help: write a node behind `=`: `let m = fetch();`"],
    );
}

#[test]
fn a_let_within_each_of_is_told() {
    tells(
        "START => [let m = a(); b => m]",
        &[
            "m: a `let` is not allowed inside `[..]`",
            "  help: move it to the workflow's own statements: what it names can be used in here",
        ],
    );
}
