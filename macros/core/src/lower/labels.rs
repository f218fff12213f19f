//! The labels of a node, from all of its route maps.

use graphweft_graph::NodeIx;

use super::flow::Lowering;
use crate::ir::Label;

impl Lowering<'_> {
    /// Refuses labels that are already routed, and labels behind the default.
    pub(super) fn check_labels(&mut self, router: NodeIx, labels: &[Label]) {
        let name = self.builder.name(router).to_string();
        // A default beside other labels in one arm is reported where it is read.
        let behind_default = self.builder.default_of(router);
        for label in labels {
            let is_given = !label.is_spent() || !self.builder.is_bounded(router);
            match (label, self.builder.route(router, label)) {
                (Label::Default(span), Some(_)) => {
                    self.diagnostics
                        .error(*span, format!("`{name}` has two defaults"))
                        .help("`_` takes whatever no other label takes: keep one, as the last arm");
                }
                (label, Some(earlier)) => {
                    let text = label.text();
                    let message = if text == earlier {
                        format!("`{name}` is already routed for label `{text}`")
                    } else {
                        format!("`{name}` is already routed for label `{text}`, which was written `{earlier}`")
                    };
                    self.diagnostics
                        .error(label.span(), message)
                        .help(format!("for several targets write `{text}: (a, b)`"));
                }
                _ => {}
            }
            if let (Some(default), false, true) = (behind_default, matches!(label, Label::Default(_)), is_given) {
                self.diagnostics
                    .error(default, format!("`_` comes before other labels of `{name}`, which would never be taken"))
                    .help("move it to the end of the last route map");
            }
        }
        if let [Label::Default(span)] = labels {
            self.builder.set_default(router, *span);
        }
    }
}
