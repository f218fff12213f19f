//! What is told of statements and heads that cannot be read.

mod common;

use common::tells;

#[test]
fn options_in_a_graph_is_told() {
    tells(
        "START => fetch(timeout = \"5s\") => b",
        &[
            "(timeout = \"5s\"): `fetch` is named without parentheses in a graph",
            "  help: options are given by a `let` before it is used: `let fetch = fetch(timeout = \"5s\");`",
        ],
    );
}

#[test]
fn a_thin_arrow_is_told() {
    tells("START -> a", &["->: an edge is written `=>`"]);
}

#[test]
fn an_arrow_to_nowhere_is_told() {
    tells("START => a => ;", &["=>: this `=>` leads nowhere", "  help: write a node behind it, or `END`"]);
}

#[test]
fn a_missing_arrow_is_told() {
    tells("START => a <ok: b, err: c>", &["<: `=>` is missing between `a` and `<`", "  help: `a => <..>`"]);
}

#[test]
fn a_missing_semicolon_is_told() {
    tells(
        "START => a a => b",
        &[
            "a: `=>` or `;` is missing before `a`",
            "  help: `=>` leads on to the next node, and `;` begins another statement",
        ],
    );
}

#[test]
fn a_comma_for_a_semicolon_is_told() {
    tells("START => a, a => b", &[",: statements are separated by `;`, not by `,`"]);
}

#[test]
fn an_unclosed_route_map_is_told() {
    tells(
        "START => a => <ok: b, err: c; b => d",
        &["<: this `<` is never closed", "  help: a route map reads `<ok: a, err: b>`"],
    );
}

#[test]
fn an_arrow_behind_a_label_is_told() {
    tells("START => a => <ok => b, err: c>", &["=>: a label is followed by `:`", "  help: `<ok: a, err: b>`"]);
}

#[test]
fn an_arm_without_a_label_is_told() {
    tells("START => a => <b, x: c>", &["b: `b` leads nowhere", "  help: an arm is a label and a node: `b: node`"]);
}

#[test]
fn an_arm_without_a_node_is_told() {
    tells(
        "START => a => <x: , y: c>",
        &[":: a node is missing behind this label", "  help: `label: node`, or `label: END`"],
    );
}

#[test]
fn a_label_with_a_payload_is_told() {
    tells(
        "START => a => <Ok(x): b, err: c>",
        &["(x): label `Ok` is written without what it carries", "  help: the node that it leads to takes the payload"],
    );
}

#[test]
fn a_label_with_a_path_is_told() {
    tells(
        "START => a => <Verdict::Good: b, _: c>",
        &["Verdict: a label is the variant's name alone", "  help: write `Good`"],
    );
}

#[test]
fn a_guard_is_told() {
    tells(
        "START => a => <x if y: b, _: c>",
        &["if: a route map has no guards", "  help: decide in the node, and let it return a label for each way"],
    );
}

#[test]
fn a_semicolon_between_arms_is_told() {
    tells("START => a => <x: b; y: c>", &[";: arms are separated by `,`, not by `;`"]);
}

#[test]
fn a_missing_comma_between_arms_is_told() {
    tells(
        "START => a => <x: b y: c>",
        &["y: `,` or `=>` is missing before `y`", "  help: a route map reads `<ok: a, err: b>`"],
    );
}

#[test]
fn a_keyword_as_a_node_is_told() {
    tells(
        "START => loop",
        &["loop: `loop` is a keyword and not a node", "  help: a node is named by the path of a `#[node]` function"],
    );
}

#[test]
fn a_wildcard_as_a_node_is_told() {
    tells("START => _", &["_: `_` is a label and not a node", "  help: name the node that runs here"]);
}

#[test]
fn a_literal_as_a_node_is_told() {
    tells(
        "START => \"a\"",
        &[
            "\"a\": a node is expected behind `=>`, not `\"a\"`",
            "  help: a node is named by its path alone: `charge`, `billing::charge`",
        ],
    );
}

#[test]
fn a_node_with_generics_is_told() {
    tells(
        "START => a::<u8> => b",
        &[
            "<: a node is named without generics",
            "  help: give the type a name in a `let`: `let batch: Batch<Item> = Batch::new();`",
        ],
    );
}

#[test]
fn a_path_that_stops_is_told() {
    tells("START => shop:: => b", &["::: the path stops here", "  help: write the node's name behind `::`"]);
}

#[test]
fn an_empty_group_is_told() {
    tells("START => ()", &["(): an empty group", "  help: write what runs at once: `(a, b)`"]);
}

#[test]
fn an_empty_each_of_is_told() {
    tells("START => []", &["[]: an empty `[]`", "  help: write what runs for every item: `[node]`"]);
}

#[test]
fn a_doc_comment_on_a_statement_is_told() {
    tells(
        "/// Docs.\nSTART => a",
        &[
            "/// Docs.: docs and attributes belong to a workflow with a name",
            "  help: `pub checkout(Order) -> Receipt { START => .. }`",
        ],
    );
}

#[test]
fn two_loops_in_one_another_meet_is_told() {
    tells(
        "START => h => <go: x, done: END>; x => k => <again: k2, out: h>; k2 => k; k => side; h => side",
        &[
            "side: `k` and `h` cannot meet at `side`: `k` comes once for each turn of the loop at `k`, and `h` does not",
            "  help: join them inside the loop, before the route that decides whether it continues",
            "  help: or put what `side` takes from `k` on a route that ends the loop",
        ],
    );
}

#[test]
fn three_outputs_of_which_a_route_skips_one_is_told() {
    tells(
        "START => a => (b, r); r => <x: c, y: d>",
        &[
            "c: the workflow would have two outputs: when `r` takes `x`, both `b` and `c` end it",
            "  help: `(b, c, d) => END` waits for both and gives them together",
            "  help: `b => END` makes `b` the output, and drops that of `c`",
        ],
    );
}

#[test]
fn a_doc_comment_within_is_told() {
    tells("START => a; /// Docs.\na => b", &["/// Docs.: a doc comment documents nothing here", "  help: write `//`"]);
}

#[test]
fn a_workflow_with_fn_is_told() {
    tells(
        "pub async fn f(A) -> B { START => a }",
        &[
            "async: a workflow is written without `async`",
            "  help: its head is a name and types: `pub checkout(Order) -> Receipt { .. }`",
        ],
    );
}

#[test]
fn a_workflow_with_generics_is_told() {
    tells(
        "pub f<T>(A) -> B { START => a }",
        &["<: workflow `f` has generics, and a workflow can have none", "  help: write the types out"],
    );
}

#[test]
fn a_workflow_without_inputs_is_told() {
    tells(
        "pub f { START => a }",
        &[
            "f: workflow `f` does not say what it takes",
            "  help: write its input behind the name: `f(Order)`, or `f()` where it takes none",
        ],
    );
}

#[test]
fn a_workflow_with_named_inputs_is_told() {
    tells(
        "f(order: A) -> B { START => a }",
        &["order: the inputs of a workflow have types and no names", "  help: write the type alone, `checkout(Order)`"],
    );
}

#[test]
fn a_workflow_that_gives_an_impl_is_told() {
    tells(
        "f(A) -> impl B { START => a }",
        &[
            "impl B: a workflow cannot take or give an `impl Trait`",
            "  help: name the type: it is written to the run's record",
        ],
    );
}

#[test]
fn a_workflow_without_a_type_behind_its_arrow_is_told() {
    tells(
        "f(A) -> { START => a }",
        &["->: a type is missing behind `->`", "  help: a workflow that gives nothing is written without `->`"],
    );
}

#[test]
fn a_workflow_with_the_wrong_arrow_is_told() {
    tells(
        "f(A) => B { START => a }",
        &["=>: the output of a workflow is written after `->`", "  help: `f(..) -> Receipt { .. }`"],
    );
}

#[test]
fn a_workflow_without_a_graph_is_told() {
    tells(
        "f(A) -> B",
        &["B: the graph of `f` is missing", "  help: write it behind the signature: `{ START => first => second; }`"],
    );
}

#[test]
fn a_workflow_with_something_behind_it_is_told() {
    tells(
        "f(A) -> B { START => a } g",
        &["g: nothing may follow the graph of `f`", "  help: each workflow has a `workflow!` of its own"],
    );
}

#[test]
fn a_visibility_without_a_name_is_told() {
    tells(
        "pub (A) -> B { START => a }",
        &[
            "(A): a workflow with attributes or a visibility needs a name",
            "  help: `pub checkout(Order) -> Receipt { .. }`",
        ],
    );
}

#[test]
fn syntax_and_graph_in_one_go_is_told() {
    tells(
        "START => a => b => a; c => ; START => d => <x: e, x: f>",
        &[
            "=>: this `=>` leads nowhere",
            "  help: write a node behind it, or `END`",
            "x: `d` is already routed for label `x`",
            "  help: for several targets write `x: (a, b)`",
            "a: `a => b => a` goes round for ever: no route leads out of it",
            "  help: let a label of `b` decide when it is done: `b => <again: a, done: END>`",
        ],
    );
}

#[test]
fn a_name_alone_is_told() {
    tells(
        "checkout",
        &[
            "checkout: `checkout` alone is no workflow",
            "  help: one with a name has a head and a graph: `checkout(Order) -> Receipt { START => first => second; }`",
            "  help: in an expression it is a graph: `START => checkout`",
        ],
    );
}

#[test]
fn a_name_alone_with_a_visibility_is_told_once() {
    tells(
        "pub checkout",
        &[
            "checkout: workflow `checkout` does not say what it takes",
            "  help: write its input behind the name: `checkout(Order)`, or `checkout()` where it takes none",
        ],
    );
}
