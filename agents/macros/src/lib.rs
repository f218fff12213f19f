//! The attribute of agents. Use it through the crate `graphweft-agents`, where it is documented. It uses the library behind
//! graphweft's own macros, so an agent is read and made like any node.
#![forbid(unsafe_code)]

mod emit;
mod options;
mod text;

use proc_macro::TokenStream;

/// Makes an agent of a function; see `graphweft_agents::agent`.
#[proc_macro_attribute]
pub fn agent(args: TokenStream, item: TokenStream) -> TokenStream {
    emit::agent(args.into(), item.into()).into()
}
