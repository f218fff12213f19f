//! What stands around the graph: name, signature, `let`s and the path of the crate.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may panic")]

mod common;

use common::read;
use graphweft_macros_core::ir::{LetValue, Workflow};

fn whole(text: &str) -> Workflow {
    let (workflow, diagnostics) = read(text);
    assert!(!diagnostics.has_errors(), "{text}");
    workflow.unwrap()
}

fn spelled(tokens: impl quote::ToTokens) -> String {
    tokens.to_token_stream().to_string().replace(' ', "")
}

#[test]
fn the_crate_is_graphweft_where_nothing_else_is_said() {
    assert_eq!(spelled(whole("START => a").krate), "::graphweft");
}

#[test]
fn the_wrapper_says_which_crate_it_is_of() {
    let workflow = whole("@crate some::path; pub f(A) -> B { START => a }");
    assert_eq!(spelled(workflow.krate), "some::path");
    assert_eq!(workflow.item.unwrap().name, "f");
}

#[test]
fn an_item_has_attributes_a_visibility_and_a_name() {
    let item = whole("/// One.\n/// Two.\n#[allow(dead_code)] pub(crate) f(A) -> B { START => a }").item.unwrap();
    assert_eq!(item.attributes.len(), 3);
    assert_eq!(spelled(&item.visibility), "pub(crate)");
    assert_eq!(item.name, "f");
}

#[test]
fn limits_of_a_run_are_no_attributes_of_the_item() {
    let workflow = whole("/// One.\n#[timeout = \"1m30s\"] #[max_parallel = 8] pub f(A) -> B { START => a }");
    assert_eq!(workflow.limits.timeout.map(|limit| limit.as_secs()), Some(90));
    assert_eq!(workflow.limits.max_parallel, Some(8));
    assert_eq!(workflow.item.unwrap().attributes.len(), 1);
}

#[test]
fn bare_statements_have_limits_and_no_other_attributes() {
    assert_eq!(whole("#[max_parallel = 8] START => a").limits.max_parallel, Some(8));
    let (_, diagnostics) = read("#[max_parallel = 8] #[inline] START => a");
    assert_eq!(diagnostics.iter().count(), 1);
}

#[test]
fn a_signature_has_types() {
    let signature = whole("f(Order, Vec<(u8, u8)>, [u8; 4],) -> Result<Receipt, E> { START => a }").signature.unwrap();
    assert_eq!(signature.inputs.iter().map(spelled).collect::<Vec<_>>(), ["Order", "Vec<(u8,u8)>", "[u8;4]"]);
    assert_eq!(spelled(signature.output), "Result<Receipt,E>");
}

#[test]
fn a_signature_may_be_empty() {
    let workflow = whole("f() { START => a }");
    let signature = workflow.signature.unwrap();
    assert!(signature.inputs.is_empty() && signature.output.is_none());
    assert!(workflow.flow.unit_output);
}

#[test]
fn an_expression_has_a_signature_or_none() {
    let workflow = whole("(Order) -> Receipt { START => a }");
    assert!(workflow.item.is_none() && workflow.signature.is_some());
    let workflow = whole("START => a => b;");
    assert!(workflow.item.is_none() && workflow.signature.is_none());
    let workflow = whole("(a, b) => END; START => (a, b)").signature;
    assert!(workflow.is_none());
}

#[test]
fn lets_are_nodes_with_options_or_values() {
    let text = "let m = shop::fetch(timeout = \"5s\", retry(max_attempts = 2)); let b = Batch::<u8> { size: 10 }; \
                let v: Batch = Batch::new(x, 10)?; START => m => b => v";
    let lets = whole(text).lets;
    let [m, b, v] = lets.as_slice() else { panic!("three lets") };
    let LetValue::Configured { path, options } = &m.value else { panic!("a node") };
    assert_eq!(spelled(path), "shop::fetch");
    assert!(options.timeout.is_some() && options.retry.is_some());
    let LetValue::Value { ty, value } = &b.value else { panic!("a value") };
    assert_eq!((spelled(ty).as_str(), spelled(value).as_str()), ("Batch::<u8>", "Batch{size:10}"));
    let LetValue::Value { ty, value } = &v.value else { panic!("a value") };
    assert_eq!((spelled(ty).as_str(), spelled(value).as_str()), ("Batch", "Batch::new(x,10)?"));
}

#[test]
fn the_graph_of_a_broken_workflow_keeps_its_public_face() {
    let (workflow, diagnostics) = read("/// Docs.\npub f(A) -> B { START => ; }");
    let workflow = workflow.unwrap();
    assert!(diagnostics.has_errors());
    assert_eq!(workflow.item.unwrap().attributes.len(), 1);
    assert!(workflow.signature.unwrap().output.is_some());
    assert!(workflow.flow.plan.is_none());
}

#[test]
fn errors_are_compile_errors_that_carry_their_mend() {
    let errors = read("START => a => ;").1.into_compile_errors().to_string();
    assert!(errors.starts_with(":: core :: compile_error ! {"), "{errors}");
    assert!(errors.contains("this `=>` leads nowhere\\nhelp: write a node behind it"), "{errors}");
}
