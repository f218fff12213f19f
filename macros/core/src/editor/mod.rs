//! What an editor reads in the place of a graph.
//!
//! The code that runs a graph is of little use to rust-analyzer: a name is in it many times, among types that say
//! nothing to the author. So an expansion has two halves, `compiled! { { tokens as they were written } { code } .. }`.
//! For rustc `compiled` is a macro that returns the code. For rust-analyzer, which sets `cfg(rust_analyzer)`, it makes
//! a view of the tokens. In the view each name is written once, as what its author wants to know of it: a node is its
//! function, a label a variant, an option a field with its documentation.
//!
//! Completion. rust-analyzer expands a macro twice, once as it is written and once with an identifier at the cursor that
//! has `raCompletionMarker` in it. It looks where that identifier is in the second expansion, and takes what is in scope
//! at the same offset of the first. A graph that is being written parses differently with and without the identifier, so
//! the view is that of the tokens without it, and has slots: places where such an identifier can stand, before anything
//! that depends on the cursor. In the second expansion the identifier is in the slot of its kind:
//!
//! ```text
//!   written    START => validate => cha|
//!   first      .. seen::<__slot>() ..    { validate; cha }
//!   second     .. seen::<charaCompletionMarker>() ..    { validate; cha }
//! ```

mod marker;
mod options;
mod reader;
mod view;

use proc_macro2::{Delimiter, Ident, TokenStream, TokenTree};
use quote::quote;
use syn::{DeriveInput, Path, Type};

use crate::emit::travels::is_known_payload;
use crate::parse::tokens::Tokens;
pub(crate) use reader::Position;
use reader::{Place, Seen};

/// An invocation as rustc reads it: without the identifier at the cursor where that has a slot in the view.
pub(crate) fn without_cursor(input: TokenStream) -> TokenStream {
    if !marker::is_in(&input) {
        return input;
    }
    match Seen::workflow(input.clone()).place {
        Some(_) => marker::removed(input),
        None => input,
    }
}

/// The same for the tokens of `#[node(..)]`.
pub(crate) fn options_without_cursor(args: TokenStream) -> TokenStream {
    if !marker::is_in(&args) {
        return args;
    }
    match options::read(args.clone()).place {
        Some(_) => marker::removed(args),
        None => args,
    }
}

/// What the view of a workflow is made from.
pub(crate) fn view_of_workflow(position: Position, input: &TokenStream) -> TokenStream {
    match position {
        Position::Item => quote!(@item #input),
        Position::Expression => quote!(@expression #input),
    }
}

/// The call of the view of a node, by the tokens of `#[node(..)]` and what its function returns.
pub(crate) fn view_of_node(krate: &Path, name: &Ident, returns: Option<&Type>, args: &TokenStream) -> TokenStream {
    let has_labels = returns.is_some_and(|ty| !is_known_payload(ty));
    // Most nodes have neither.
    if args.is_empty() && !has_labels {
        return TokenStream::new();
    }
    quote! {
        #[cfg(rust_analyzer)]
        #krate::__::editor_view_of_node! { @crate #krate; #name (#args) #returns }
    }
}

/// The options of a node, for the docs of its function.
pub(crate) fn doc_of_options(args: &TokenStream) -> TokenStream {
    let written = options::text(options_without_cursor(args.clone()));
    if written.is_empty() {
        return TokenStream::new();
    }
    let text = format!("Options: `{written}`");
    quote!(#[doc = ""] #[doc = #text])
}

/// The labels of an enum, for the view of a map that is being written: what is written of a label is a field there.
pub(crate) fn view_of_labels(
    krate: &Path,
    input: &DeriveInput,
    labels: &[Ident],
    payloads: &[TokenStream],
) -> TokenStream {
    let DeriveInput { ident: name, generics, .. } = input;
    let (impl_generics, ty_generics, where_clause) = generics.split_for_impl();
    let slot = view::slot();
    quote! {
        const _: () = {
            struct __Labels #generics #where_clause { #(pub #labels: #payloads,)* pub #slot: () }

            impl #impl_generics #krate::__::SeenRoute for #name #ty_generics #where_clause {
                type Labels = __Labels #ty_generics;
            }
        };
    }
}

/// Expands `__::editor_view!`: a group with what the view is made from, one for rustc, and one with what else an editor
/// needs.
pub fn workflow_view(input: TokenStream) -> TokenStream {
    let groups: Vec<TokenStream> = input
        .into_iter()
        .filter_map(|token| match token {
            TokenTree::Group(group) => Some(group.stream()),
            _ => None,
        })
        .collect();
    let [written, _, others] = groups.as_slice() else { return TokenStream::new() };
    if written.is_empty() {
        return others.clone();
    }
    let (position, input) = view::position(written.clone());
    let read = Seen::workflow(input.clone());
    match read.place.zip(marker::find(&input)) {
        Some(cursor) => view::workflow(&Seen::workflow(marker::removed(input)), position, others, Some(cursor)),
        None => view::workflow(&read, position, others, None),
    }
}

/// Expands `__::editor_view_of_node!`.
pub fn node_view(input: TokenStream) -> TokenStream {
    let (krate, input) = reader::crate_path(input);
    let mut tokens = Tokens::new(input, None);
    let Some(TokenTree::Ident(name)) = tokens.next() else { return TokenStream::new() };
    let args = tokens.eat_group(Delimiter::Parenthesis).map_or_else(TokenStream::new, |args| args.stream());
    let returns = tokens.rest();
    let marked = options::read(args.clone());
    let cursor = marked.place.map(Place::Option).zip(marker::find(&args));
    let list = if cursor.is_some() { options::read(marker::removed(args)).list } else { marked.list };
    view::node(&krate, &name, &list, &returns, cursor)
}
