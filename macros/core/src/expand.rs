//! `workflow!`, from the user's tokens to the expansion.

use proc_macro2::TokenStream;
use quote::quote;

/// Reads, proves and emits.
pub fn expand_workflow(input: TokenStream) -> TokenStream {
    match crate::workflow(input) {
        (Some(workflow), diagnostics) => crate::emit::workflow(&workflow, &diagnostics),
        (None, diagnostics) => {
            let errors = diagnostics.into_compile_errors();
            quote!(const _: () = { #errors };)
        }
    }
}
