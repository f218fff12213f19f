//! `#[node]`: the function as it is, and beside it a type of the same name that implements `Node`.

mod emit;
pub mod signature;
mod state;
mod waiting;

use proc_macro2::TokenStream;

pub use emit::{allow_of_deprecated, default_impl, doc_of, doc_text};
pub use signature::{NodeFn, Parameter};

use crate::diagnostics::Diagnostics;
use crate::editor;
use crate::options::{NodeOptions, parse_node_attribute};

/// The node of a function that another macro has read and changed. `args` are the tokens of its attribute.
pub fn node_of(node: &NodeFn, options: &NodeOptions, diagnostics: &Diagnostics, args: &TokenStream) -> TokenStream {
    emit::node(node, options, diagnostics, args)
}

/// Expands `#[node(..)]` on a function.
pub fn node(args: TokenStream, item: TokenStream) -> TokenStream {
    let (options, mut diagnostics) = parse_node_attribute(editor::options_without_cursor(args.clone()));
    match signature::parse(item.clone(), &options, &mut diagnostics) {
        // Within an `impl` or a `trait` no type is possible beside the function.
        Ok(node) if node.is_associated() => {
            let errors = diagnostics.into_compile_errors();
            let NodeFn { attributes, visibility, signature, body, .. } = node;
            quote::quote!(#(#attributes)* #visibility #signature #body #errors)
        }
        Ok(node) => emit::node(&node, &options, &diagnostics, &args),
        Err(Some(name)) => emit::unreadable(&item, &name, &options, &diagnostics),
        Err(None) => {
            let errors = diagnostics.into_compile_errors();
            quote::quote!(#item const _: () = { #errors };)
        }
    }
}
