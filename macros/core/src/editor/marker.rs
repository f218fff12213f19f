//! The identifier that rust-analyzer puts at the cursor.

use proc_macro2::{Group, Ident, TokenStream, TokenTree};

/// What it contains, between what was typed of a name before the cursor and behind it.
const MARKER: &str = "raCompletionMarker";

/// Whether a name is that identifier.
pub(super) fn is_marker(name: &Ident) -> bool {
    name.to_string().contains(MARKER)
}

/// Whether the identifier is among some tokens.
pub(super) fn is_in(tokens: &TokenStream) -> bool {
    find(tokens).is_some()
}

/// The identifier, where it is among some tokens.
pub(super) fn find(tokens: &TokenStream) -> Option<Ident> {
    tokens.clone().into_iter().find_map(|token| match token {
        TokenTree::Ident(name) => is_marker(&name).then_some(name),
        TokenTree::Group(group) => find(&group.stream()),
        _ => None,
    })
}

/// The tokens as they were written, without it.
pub(super) fn removed(tokens: TokenStream) -> TokenStream {
    let written = |name: Ident| {
        let typed = name.to_string().replace(MARKER, "");
        match syn::parse_str::<Ident>(&typed) {
            Ok(mut typed) => {
                typed.set_span(name.span());
                Some(TokenTree::Ident(typed))
            }
            Err(_) => None,
        }
    };
    tokens
        .into_iter()
        .filter_map(|token| match token {
            TokenTree::Ident(name) if is_marker(&name) => written(name),
            TokenTree::Group(group) if is_in(&group.stream()) => {
                let mut inside = Group::new(group.delimiter(), removed(group.stream()));
                inside.set_span(group.span());
                Some(TokenTree::Group(inside))
            }
            token => Some(token),
        })
        .collect()
}
