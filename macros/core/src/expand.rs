//! `workflow!`, from the user's tokens to the expansion.

use proc_macro2::TokenStream;

use crate::editor::{self, Position};

/// Reads, proves and emits.
pub fn expand_workflow(input: TokenStream) -> TokenStream {
    match crate::workflow(editor::without_cursor(input.clone())) {
        (Some(workflow), diagnostics) => {
            let position = if workflow.item.is_some() { Position::Item } else { Position::Expression };
            let view = editor::view_of_workflow(position, &input);
            crate::emit::workflow(&workflow, &diagnostics, &view)
        }
        // It is unknown whether this is an item or an expression; these statements are valid as either.
        (None, diagnostics) => diagnostics.into_compile_errors(),
    }
}
