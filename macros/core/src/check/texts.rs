//! Route maps of texts: a `String` has more values than labels can name.

use crate::diagnostics::{Blame, Diagnostics};
use crate::ir::Flow;

/// Refuses texts without `_`. Rustc would speak of patterns that are not covered.
pub(super) fn have_a_default(flow: &Flow, diagnostics: &mut Diagnostics) {
    for (node, data) in flow.nodes.iter().enumerate() {
        // The arm may be in a part that could not be read.
        if !data.leaves_texts_out() || flow.holes.contains(&node) {
            continue;
        }
        let spans = || data.labels().map(|(_, label)| label.span());
        let (Some(first), Some(last)) = (spans().next(), spans().last()) else { continue };
        diagnostics
            .error(Blame { first, last }, format!("`{}` may give any other text, and no arm takes it", data.name))
            .help("write `_: node` for the rest");
    }
}
