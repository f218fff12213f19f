//! What an editor reads of a workflow, with and without rust-analyzer's identifier at the cursor. `tests/editor` asks
//! rust-analyzer itself.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::str::FromStr;

use graphweft_macros_core::{expand_workflow, node, node_view, workflow_view};
use proc_macro2::{Group, Ident, Span, TokenStream, TokenTree};
use quote::quote;

const MARKER: &str = "raCompletionMarker";

const SAMPLES: [&str; 5] = [
    "#[timeout = \"1h\"] pub(crate) checkout(Order) -> Result<String, E> { START => validate => <ok: charge, err: refuse> => notify; }",
    "let mirror = fetch(timeout = \"5s\", retry(max_attempts = 3)); let batch: Batch = Batch::new(10); START => (fetch, mirror) => batch",
    "START => a => <low | medium (at most 3): b => c, 0..=9: (d, e), -1: shop::f, _: ::g::h> => i; (d, e) => i",
    "START => a => [b => <ok: c, err: (d, e) => f>; c => [g]] => h => END",
    "f(A) { START => h => {go: (x, y), done: END}; (x, y) => h; h => log }",
];

/// In front of how many of their tokens something can be written that has a place of its own in the view.
const PLACES: [usize; 5] = [19, 16, 53, 37, 30];

/// The tokens of the view of a `workflow! { .. }`.
fn view(written: TokenStream) -> Vec<String> {
    tokens(workflow_view(quote!({ @item @crate ::graphweft; #written } {} {})))
}

fn tokens(stream: TokenStream) -> Vec<String> {
    let each = |token| match token {
        TokenTree::Group(group) => {
            let mut inside = vec![format!("{:?}", group.delimiter())];
            inside.extend(tokens(group.stream()));
            inside
        }
        token => vec![token.to_string()],
    };
    stream.into_iter().flat_map(each).collect()
}

/// The tokens with the identifier put before the one at `left`, counted through all groups.
fn with_cursor(stream: TokenStream, left: &mut usize) -> TokenStream {
    let mut all = Vec::new();
    for token in stream {
        if *left == 0 {
            all.push(TokenTree::Ident(Ident::new(MARKER, Span::call_site())));
        }
        *left = left.wrapping_sub(1);
        all.push(match token {
            TokenTree::Group(group) => {
                TokenTree::Group(Group::new(group.delimiter(), with_cursor(group.stream(), left)))
            }
            token => token,
        });
    }
    all.into_iter().collect()
}

/// Where the identifier is in the view, whose tokens before it are those of the view without it.
#[track_caller]
fn place(written: &str) -> String {
    let marked = view(TokenStream::from_str(&written.replace('|', MARKER)).unwrap());
    let plain = view(TokenStream::from_str(&written.replace('|', "")).unwrap());
    let at = marked.iter().position(|token| token.contains(MARKER)).unwrap();
    assert_eq!(marked[..at], plain[..at], "{written}");
    marked[..at].iter().rev().take_while(|token| *token != "{" && *token != ";").next().unwrap().clone()
}

#[test]
fn what_comes_before_the_cursor_is_the_same_in_both_expansions() {
    for (text, expected) in SAMPLES.into_iter().zip(PLACES) {
        let written = TokenStream::from_str(text).unwrap();
        let plain = view(written.clone());
        let mut places = 0;
        for at in 0..tokens(written.clone()).len() {
            let marked_tokens = with_cursor(written.clone(), &mut at.clone());
            let marked = view(marked_tokens.clone());
            let found = marked.iter().position(|token| token == MARKER);
            let is_slot = |at: &usize| plain.get(*at).is_some_and(|token| token.starts_with("__the_name"));
            if let Some(found) = found.filter(is_slot) {
                assert_eq!(marked[..found], plain[..found], "{marked_tokens}");
                places += 1;
            }
            expand_workflow(marked_tokens);
        }
        assert_eq!(places, expected, "{text}");
    }
}

#[test]
fn rustc_compiles_the_same_with_and_without_a_cursor_that_has_a_place_in_the_view() {
    let code = |text: &str| {
        let expanded = tokens(expand_workflow(TokenStream::from_str(text).unwrap()));
        expanded.into_iter().filter(|token| !token.contains(MARKER)).collect::<Vec<_>>()
    };
    let written = "f(A) -> B { START => a => <ok: b, err: c>; }";
    assert_eq!(code(written), code(&written.replace("<ok", &format!("<{MARKER} ok"))));
}

#[test]
fn a_node_that_is_being_written_has_its_place_among_types() {
    for written in
        ["START => |", "|", "START => a => <ok: |>", "START => [|]", "START => (a, |) => b", "let again = |;"]
    {
        assert_eq!(place(written), "<", "{written}");
    }
}

#[test]
fn a_label_or_an_option_that_is_being_written_has_its_place_among_fields() {
    let each = [
        "START => a => <|>",
        "START => a => <go|: b>",
        "START => a => <ok: b, |>",
        "START => a => {|: b}",
        "let again = a(time|); START => again",
        "let again = a(retry(max_attempts = 3, |)); START => again",
    ];
    for written in each {
        assert_eq!(place(written), "Brace", "{written}");
    }
}

#[test]
fn what_is_whole_is_rust() {
    let generic = "let batch = Batch<u32> { size: 1 }; START => batch => <low: END, high: again>; let again = a();";
    for text in SAMPLES.into_iter().chain([generic]) {
        let written = TokenStream::from_str(text).unwrap();
        let view = workflow_view(quote!({ @item #written } {} {}));
        assert!(syn::parse2::<syn::File>(view.clone()).is_ok(), "{view}");
    }
}

#[test]
fn a_type_that_is_being_written_stays_where_it_is() {
    let expanded = tokens(expand_workflow(quote!(f(raCompletionMarker) -> B { START => a; })));
    assert!(expanded.iter().any(|token| token == MARKER));
    assert_eq!(place("let batch: Ba| = Batch::new(); START => batch"), ":");
}

#[test]
fn an_attribute_expands_to_the_same_with_and_without_a_cursor_among_its_options() {
    let expanded = |args| {
        tokens(node(
            args,
            quote!(
                async fn a() {}
            ),
        ))
    };
    let marked = expanded(quote!(timeout = "1s", raCompletionMarker));
    let plain = expanded(quote!(timeout = "1s",));
    assert_eq!(marked.into_iter().filter(|token| token != MARKER).collect::<Vec<_>>(), plain);
}

#[test]
fn the_view_of_a_node_says_its_options_once() {
    let view = tokens(node_view(quote!(@crate ::graphweft; charge (retry(max_attempts = 3), timeout = "1s") Verdict)));
    let count = |name: &str| view.iter().filter(|token| *token == name).count();
    assert_eq!(["retry", "max_attempts", "timeout"].map(count), [1, 1, 1], "{view:?}");
}

#[test]
fn shapes_may_stand_in_each_other_however_deep() {
    let text = format!("START => {}a{}", "(b, [".repeat(200), "])".repeat(200));
    view(TokenStream::from_str(&text).unwrap());
    view(TokenStream::from_str(&format!("START => a => {}", "<ok: b => ".repeat(2000))).unwrap());
}
