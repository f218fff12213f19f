//! The procedural macros of graphweft. Every one hands its tokens to `graphweft-macros-core`, where they can be tested
//! without a compiler. Use them through the crate `graphweft`, where they are documented.
#![forbid(unsafe_code)]

use proc_macro::{TokenStream, TokenTree};

/// The graph of a workflow; see `graphweft::workflow!`.
#[proc_macro]
pub fn workflow(input: TokenStream) -> TokenStream {
    graphweft_macros_core::expand_workflow(input.into()).into()
}

/// The second of two groups, and the first is what an editor reads in its place; see [`editor_view`].
#[doc(hidden)]
#[proc_macro]
pub fn compiled(input: TokenStream) -> TokenStream {
    match input.into_iter().nth(1) {
        Some(TokenTree::Group(code)) => code.stream(),
        _ => TokenStream::new(),
    }
}

/// What an editor takes for [`compiled`]: the view of what the first group holds, and the third group. rustc never expands
/// it.
///
/// `#[cfg]` would not do: code that it leaves out still counts for an editor that is asked what a name means.
#[doc(hidden)]
#[proc_macro]
pub fn editor_view(input: TokenStream) -> TokenStream {
    graphweft_macros_core::workflow_view(input.into()).into()
}

/// What an editor reads of the attribute of a node. rustc never expands it.
#[doc(hidden)]
#[proc_macro]
pub fn editor_view_of_node(input: TokenStream) -> TokenStream {
    graphweft_macros_core::node_view(input.into()).into()
}

/// Makes a node of a function; see `graphweft::node`.
#[proc_macro_attribute]
pub fn node(args: TokenStream, item: TokenStream) -> TokenStream {
    graphweft_macros_core::node(args.into(), item.into()).into()
}

/// Derives what a type needs to travel through a workflow; see `graphweft::value`.
#[proc_macro_attribute]
pub fn value(args: TokenStream, item: TokenStream) -> TokenStream {
    graphweft_macros_core::value(args.into(), item.into()).into()
}

/// Gives an enum labels to route by; see `graphweft::Route`.
#[proc_macro_derive(Route, attributes(route))]
pub fn derive_route(input: TokenStream) -> TokenStream {
    graphweft_macros_core::derive_route(input.into()).into()
}
