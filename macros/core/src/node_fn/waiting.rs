//! Whether the function of a node can wait: if it cannot, its one poll needs no memory that outlives it.

use proc_macro2::{Delimiter, Ident, TokenStream, TokenTree};

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
    let is_plain = |attribute: &syn::Attribute| PLAIN_ATTRIBUTES.iter().any(|name| attribute.path().is_ident(name));
    options.blocking.is_none()
        && options.pool.is_none()
        && !node.parameters.iter().any(Parameter::is_fetched)
        && node.attributes.iter().all(is_plain)
        && !may_await(node.body.clone())
}

fn may_await(body: TokenStream) -> bool {
    let mut before = Before::Other;
    for token in body {
        before = match (token, before) {
            (TokenTree::Ident(word), _) if word == "await" => return true,
            // `macro_rules! name { .. }`
            (TokenTree::Ident(_), Before::Called(_)) => return true,
            (TokenTree::Ident(word), _) => Before::Name(Some(word)),
            (TokenTree::Punct(mark), Before::Name(name)) if mark.as_char() == '!' => match name {
                Some(word) if KEYWORDS.iter().any(|keyword| word == keyword) => Before::Other,
                name => Before::Called(name),
            },
            (TokenTree::Group(group), before) => {
                let is_known = |name: &Ident| PLAIN_MACROS.iter().any(|known| name == known);
                let is_unknown = matches!(before, Before::Called(name) if !name.as_ref().is_some_and(is_known));
                if is_unknown || may_await(group.stream()) {
                    return true;
                }
                // What another macro was given for a `$path`.
                if group.delimiter() == Delimiter::None { Before::Name(None) } else { Before::Other }
            }
            (TokenTree::Punct(_) | TokenTree::Literal(_), _) => Before::Other,
        };
    }
    false
}

/// What is before a token.
enum Before {
    /// A word, which may be the name of a macro; `None` if it cannot be seen.
    Name(Option<Ident>),
    /// The same with `!` behind it.
    Called(Option<Ident>),
    Other,
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
    fn the_name_of_a_macro_may_not_be_seen() {
        let path = TokenTree::Group(proc_macro2::Group::new(Delimiter::None, quote!(some::path)));
        assert!(may_await(quote!({ #path!(1) })));
        assert!(!may_await(quote!({ #path != 1 })));
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
