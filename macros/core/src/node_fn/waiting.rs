//! Whether the function of a node can wait: if it cannot, its one poll needs no memory that outlives it.

use proc_macro2::{Ident, TokenStream, TokenTree};

use super::signature::{NodeFn, Parameter};
use crate::options::NodeOptions;

/// The macros of the standard library, and that of `serde_json`: what they expand to has no `.await` but those in their
/// tokens. Of any other macro that is not known.
const PLAIN_MACROS: &[&str] = &[
    "assert",
    "assert_eq",
    "assert_ne",
    "column",
    "concat",
    "dbg",
    "debug_assert",
    "debug_assert_eq",
    "debug_assert_ne",
    "env",
    "eprint",
    "eprintln",
    "file",
    "format",
    "format_args",
    "include_bytes",
    "include_str",
    "json",
    "line",
    "matches",
    "module_path",
    "option_env",
    "panic",
    "print",
    "println",
    "stringify",
    "todo",
    "unimplemented",
    "unreachable",
    "vec",
    "write",
    "writeln",
];

/// Attributes that leave the body as it is.
const PLAIN_ATTRIBUTES: &[&str] =
    &["allow", "cold", "deny", "deprecated", "doc", "expect", "forbid", "inline", "must_use", "warn"];

/// Words behind which `!` is a negation.
const KEYWORDS: &[&str] = &["break", "else", "if", "in", "match", "return", "while"];

/// Whether every call of `run` is done by its first poll: the function has no `.await`, also not behind a macro or in
/// what its parameters are fetched by. `false` if that cannot be seen.
pub fn never_waits(node: &NodeFn, options: &NodeOptions) -> bool {
    let is_fetched =
        |one: &Parameter| matches!(one, Parameter::Resource(_) | Parameter::State(..) | Parameter::StateOf(..));
    let is_plain = |attribute: &syn::Attribute| PLAIN_ATTRIBUTES.iter().any(|name| attribute.path().is_ident(name));
    options.blocking.is_none()
        && options.pool.is_none()
        && !node.parameters.iter().any(is_fetched)
        && node.attributes.iter().all(is_plain)
        && !may_await(node.body.clone())
}

fn may_await(body: TokenStream) -> bool {
    let mut before: Option<Ident> = None;
    let mut macro_name: Option<Ident> = None;
    for token in body {
        let called = macro_name.take();
        match token {
            TokenTree::Ident(word) if word == "await" => return true,
            TokenTree::Ident(word) => {
                // `macro_rules! name { .. }`
                if called.is_some() {
                    return true;
                }
                before = Some(word);
                continue;
            }
            TokenTree::Punct(mark) if mark.as_char() == '!' => {
                macro_name = before.take().filter(|word| !KEYWORDS.iter().any(|keyword| word == keyword));
                continue;
            }
            TokenTree::Group(group) => {
                let is_unknown = called.is_some_and(|name| !PLAIN_MACROS.iter().any(|known| name == known));
                if is_unknown || may_await(group.stream()) {
                    return true;
                }
            }
            TokenTree::Punct(_) | TokenTree::Literal(_) => {}
        }
        before = None;
    }
    false
}

#[cfg(test)]
mod tests {
    use quote::quote;

    use super::*;

    #[test]
    fn an_await_is_seen_wherever_it_is() {
        assert!(may_await(quote!({ fetch().await })));
        assert!(may_await(quote!({ if let Some(n) = n { vec![1, fetch(n).await?] } else { vec![] } })));
        assert!(may_await(quote!({ format!("{}", fetch().await) })));
        assert!(may_await(quote!({
            tokio::spawn(async move { sleep().await });
        })));
    }

    #[test]
    fn a_macro_that_is_not_known_may_hide_one() {
        assert!(may_await(quote!({
            tokio::select! { a = b => a }
        })));
        assert!(may_await(quote!({ fetch!(1) })));
        assert!(may_await(quote!({
            macro_rules! fetch {
                () => {};
            }
        })));
    }

    #[test]
    fn a_plain_function_has_none() {
        assert!(!may_await(quote!({ n + 1 })));
        assert!(!may_await(quote!({
            if !(n > 1 && !is_odd) {
                return !n;
            }
            n != 2
                && match !flag {
                    _ => !a[0],
                }
        })));
        assert!(!may_await(quote!({
            std::format!("{n}");
            assert_eq!(a, b, "{}", vec![1; 2].len());
            Ok(json!({ "a": !b }))
        })));
    }
}
