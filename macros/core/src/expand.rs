//! `workflow!`, from the user's tokens to the expansion.

use proc_macro2::TokenStream;

/// Reads, proves and emits.
pub fn expand_workflow(input: TokenStream) -> TokenStream {
    match crate::workflow(input) {
        (Some(workflow), diagnostics) => crate::emit::workflow(&workflow, &diagnostics),
        // It is unknown whether this is an item or an expression; these statements are valid as either.
        (None, diagnostics) => diagnostics.into_compile_errors(),
    }
}
