//! Whatever is being typed, the macro reads on: nothing panics, and what is whole keeps its mentions.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use std::str::FromStr;

use common::{mentioned, problems, read};
use graphweft_macros_core::ir::{Flow, NodeKind};
use graphweft_macros_core::{expand_workflow, workflow};
use proc_macro2::{Group, TokenStream, TokenTree};

const SAMPLES: [&str; 9] = [
    "/// Docs.\n pub(crate) checkout(Order, Vec<Item>) -> Result<String, E> { START => validate => <ok: charge, err: refuse> => notify; }",
    "let mirror = fetch(timeout = \"5s\", retry(max_attempts = 3)); let batch: Batch = Batch { size: 10 }; START => (fetch, mirror) => compare => batch",
    "START => a => <low | medium: b => c, 0..=9: (d, e), \"x\": END, -1: shop::f, _: ::g::h> => i; (d, e) => i",
    "START => a => [b => <ok: c, err: (d, e) => f>; c => [g]] => h => END",
    "START => (a, b, c => <x: d, y: e>) => f; a | b => g => (h, i) => END;",
    "f(A) { START => h => {go: (x, y), done: END}; (x, y) => h; h => log }",
    "START => draft => review => <redo: fix => draft, good: publish> => notify",
    "(Order) -> Receipt { START => <small: auto, big: human> => done; }",
    "START => a => <ok: b => <x: c, y: <z: d>>, err: e>=>f;",
];

/// The tokens without the one at `at`, counted through all groups, and whether there was one.
fn without(tokens: TokenStream, at: &mut usize) -> TokenStream {
    let mut kept = Vec::new();
    for token in tokens {
        if *at == 0 {
            *at = usize::MAX;
            continue;
        }
        *at -= 1;
        kept.push(match token {
            TokenTree::Group(group) => {
                let inner = without(group.stream(), at);
                TokenTree::Group(Group::new(group.delimiter(), inner))
            }
            token => token,
        });
        if *at > usize::MAX / 2 {
            *at = usize::MAX;
        }
    }
    kept.into_iter().collect()
}

/// The tokens up to the one at `left`, with the groups that are open there closed, as an editor hands them over.
fn prefix(tokens: TokenStream, left: &mut usize) -> TokenStream {
    let mut kept = Vec::new();
    for token in tokens {
        if *left == 0 {
            break;
        }
        *left -= 1;
        kept.push(match token {
            TokenTree::Group(group) => TokenTree::Group(Group::new(group.delimiter(), prefix(group.stream(), left))),
            token => token,
        });
    }
    kept.into_iter().collect()
}

fn count(tokens: TokenStream) -> usize {
    tokens
        .into_iter()
        .map(|token| match token {
            TokenTree::Group(group) => 1 + count(group.stream()),
            _ => 1,
        })
        .sum()
}

/// What emission relies on, whatever was written: every edge stands in one way into its target and in a choice of its
/// source, and every index has something behind it.
fn holds_together(flow: &Flow, text: &str) {
    for (at, edge) in flow.graph.edges.iter().enumerate() {
        let ways = flow.graph.nodes[edge.to].ways.iter().flat_map(|way| way.edges()).filter(|one| *one == at).count();
        assert_eq!(ways, 1, "edge {at} of {text}");
        let choices = &flow.graph.nodes[edge.from].choices;
        assert!(choices.iter().any(|choice| choice.edges.contains(&at)), "edge {at} of {text}");
    }
    assert_eq!(flow.edges.len(), flow.graph.edges.len());
    assert_eq!(flow.nodes.len(), flow.graph.nodes.len());
    for edge in &flow.edges {
        assert!(edge.from < flow.mentions.len() && edge.to < flow.mentions.len(), "{text}");
    }
    for (node, data) in flow.nodes.iter().zip(&flow.graph.nodes) {
        assert!(node.arms.is_empty() || node.arms.len() == data.choices.len(), "{text}");
        for (arm, choice) in node.arms.iter().zip(&data.choices) {
            assert!(
                !arm.labels.is_empty() && arm.targets.iter().all(|(edge, _)| choice.edges.contains(edge)),
                "{text}"
            );
        }
        if let NodeKind::Each(inner) = &node.kind {
            holds_together(inner, text);
        }
    }
}

#[test]
fn whatever_is_written_the_tables_hold_together() {
    let words = [
        "a", "b", "c", "d", "START", "END", "=>", "=>", "=>", "=>", ";", ";", ",", "(", ")", "[", "]", "<", ">", "{",
        "}", "|", ":", "::", "x", "_", "7", "..=", "-", "\"s\"", "let", "=", "#", "->", "fn", "pub", "ok :", "err :",
    ];
    let mut random = Random(1);
    for _ in 0..10_000 {
        let text: String = (0..random.below(24)).map(|_| format!("{} ", words[random.below(words.len())])).collect();
        let Ok(tokens) = TokenStream::from_str(&text) else { continue };
        let (workflow, diagnostics) = workflow(tokens);
        diagnostics.into_compile_errors();
        if let Some(workflow) = workflow {
            holds_together(&workflow.flow, &text);
            assert!(workflow.flow.plan.is_some() || diagnostics.has_errors(), "nothing is told of {text}");
        }
        assert!(diagnostics.iter().all(|one| !one.message().contains("no words")), "{text}");
    }
}

/// Numbers that look random and are the same every time.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % limit
    }

    fn chain(&mut self, deep: usize) -> String {
        let length = 1 + self.below(3);
        (0..length).map(|_| self.shape(deep)).collect::<Vec<_>>().join(" => ")
    }

    fn shape(&mut self, deep: usize) -> String {
        let node = ["a", "b", "c", "d", "e", "f", "END"][self.below(7)].to_string();
        if deep == 0 {
            return node;
        }
        match self.below(9) {
            0 | 1 => format!("({}, {})", self.chain(deep - 1), self.chain(deep - 1)),
            2 | 3 => format!("<x: {}, y: {}>", self.chain(deep - 1), self.chain(deep - 1)),
            4 => format!("[{}]", self.chain(deep - 1)),
            _ => node,
        }
    }
}

#[test]
fn no_graph_is_refused_without_a_word() {
    let mut random = Random(7);
    let mut sound = 0;
    for _ in 0..3_000 {
        let statements: Vec<String> = (0..1 + random.below(3)).map(|_| random.chain(2)).collect();
        let any = if random.below(5) == 0 { "; a | b => c" } else { "" };
        let text = format!("START => a => {}{any}", statements.join("; "));
        let (workflow, diagnostics) = read(&text);
        let flow = workflow.unwrap().flow;
        holds_together(&flow, &text);
        sound += usize::from(!diagnostics.has_errors());
        assert!(diagnostics.iter().all(|one| !one.message().contains("no words")), "{text}");
    }
    assert!(sound > 20, "only {sound} of them are sound");
}

#[test]
fn a_plan_comes_without_errors_or_not_at_all() {
    for sample in SAMPLES {
        let tokens = TokenStream::from_str(sample).unwrap();
        for missing in 0..count(tokens.clone()) {
            let tokens = without(tokens.clone(), &mut missing.clone());
            let text = tokens.to_string();
            let (workflow, diagnostics) = workflow(tokens);
            let Some(workflow) = workflow else { continue };
            holds_together(&workflow.flow, &text);
            let planned = workflow.flow.plan.is_some();
            assert!(planned || diagnostics.has_errors(), "nothing is told of {text}");
            assert!(diagnostics.iter().all(|one| !one.message().contains("no words")), "{text}");
        }
    }
}

#[test]
fn no_prefix_of_a_workflow_panics() {
    for sample in SAMPLES {
        let tokens = TokenStream::from_str(sample).unwrap();
        for length in 0..=count(tokens.clone()) {
            let (_, diagnostics) = workflow(prefix(tokens.clone(), &mut length.clone()));
            diagnostics.into_compile_errors();
        }
    }
}

#[test]
fn no_workflow_that_lacks_a_token_panics() {
    for sample in SAMPLES {
        let tokens = TokenStream::from_str(sample).unwrap();
        for missing in 0..count(tokens.clone()) {
            let (_, diagnostics) = workflow(without(tokens.clone(), &mut missing.clone()));
            diagnostics.into_compile_errors();
        }
    }
}

#[test]
fn a_broken_statement_costs_nothing_behind_its_semicolon() {
    let intact = ["before", "middle", "behind"];
    for sample in SAMPLES.iter().skip(1).filter(|sample| !sample.contains('{')) {
        let broken = TokenStream::from_str(sample).unwrap();
        for length in 0..=count(broken.clone()) {
            let broken = prefix(broken.clone(), &mut length.clone());
            let text = format!("START => before; {broken}; middle => behind");
            let (workflow, _) = read(&text);
            let names = mentioned(&workflow.unwrap().flow);
            for name in intact {
                assert!(names.iter().any(|one| one == name), "{name} is lost in {text}");
            }
        }
    }
}

#[test]
fn a_prefix_keeps_the_mentions_that_are_whole() {
    for (text, expected) in [
        ("START => a => ", vec!["START", "a"]),
        ("START => a => (b, )", vec!["START", "a", "b"]),
        ("START => a => <ok: b, err: ", vec!["START", "a", "b"]),
        ("START => a => <ok: b, er", vec!["START", "a", "b"]),
        ("START => a => [b => ]", vec!["START", "a", "b"]),
        ("START => a; a | b => ", vec!["START", "a", "a", "b"]),
        ("START => a => shop::", vec!["START", "a"]),
        ("START => a => shop::cart", vec!["START", "a", "shop::cart"]),
    ] {
        let (workflow, _) = read(text);
        assert_eq!(mentioned(&workflow.unwrap().flow), expected, "{text}");
    }
}

/// Of such a `[..]` nobody knows what it gives, and nothing else of it can be checked.
#[test]
fn the_nodes_of_brackets_that_are_being_written_are_in_the_expansion() {
    for text in ["START => a => [b => <ok]", "START => a => [[b => <ok] => c]"] {
        let expansion = expand_workflow(TokenStream::from_str(text).unwrap()).to_string();
        assert!(expansion.contains("< (b) >"), "{text}: {expansion}");
    }
}

#[test]
fn a_workflow_with_a_word_of_rust_for_its_name_expands_to_rust() {
    for name in ["struct", "self", "_", "match"] {
        let text = format!("pub {name}(Order) -> Order {{ START => a }}");
        let expansion = expand_workflow(TokenStream::from_str(&text).unwrap());
        assert!(syn::parse2::<syn::File>(expansion.clone()).is_ok(), "{name}: {expansion}");
        assert_eq!(problems(&text), 1, "{name}");
    }
}

#[test]
fn one_slip_is_one_error() {
    for text in [
        "START => a => ; b => c",
        "START => a => b c => d",
        "START => a b",
        "START => a, a => b",
        "START => \"a\"",
        "START => a => <ok: b, err c> => d; d => e",
        "START => a => <ok: b, err: c => d; d => e",
        "START => a => <x: b; y: c>",
        "START => a => <x: b y: c>",
        "START => a::<u8>::c => b",
        "START => a => [b, c] => e",
        "START => a => (b | c) => e",
        "START => a => b | c => d",
        "START => a => <x: (b, b), y: c> => d",
        "START => (a, b) => [c] => d",
        "checkout(Order) => X { START => a }",
        "checkout(Order) -> X",
        "checkout(Order) -> ",
        "checkout(Order) -> X { }",
        "checkout(Order) { }",
        "=> a => b",
        "a => b",
        "START",
        "",
    ] {
        assert_eq!(problems(text), 1, "{text}");
    }
}

#[test]
fn shapes_that_are_too_deep_are_refused_and_not_run_into() {
    let deep = format!("START => {}a{}", "(b, ".repeat(100), ")".repeat(100));
    assert_eq!(problems(&deep), 1);
    let maps = format!("START => a{}", " => <x: a".repeat(500));
    assert!(problems(&maps) > 0);
}
