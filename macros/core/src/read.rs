//! The front half of `workflow!`, from tokens to a proven graph.

use proc_macro2::TokenStream;

use crate::diagnostics::Diagnostics;
use crate::ir::Workflow;
use crate::{check, lower, parse};

/// Reads and proves an invocation of `workflow!`.
///
/// Everything that could be read is returned even if there are errors, so that the expansion can check names and types
/// and an editor keeps working; `None` only if there is nothing at all.
///
/// The tokens may begin with `@crate path;`, the path of the crate graphweft; without it that is `::graphweft`.
pub fn workflow(input: TokenStream) -> (Option<Workflow>, Diagnostics) {
    let mut diagnostics = Diagnostics::default();
    let Some(program) = parse::parse(input, &mut diagnostics) else {
        return (None, diagnostics);
    };
    let mut workflow = lower::lower(program, &mut diagnostics);
    check::check(&mut workflow, &mut diagnostics);
    (Some(workflow), diagnostics)
}
