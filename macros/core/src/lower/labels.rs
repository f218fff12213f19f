//! The labels of a node, from all of its route maps.

use graphweft_graph::NodeIx;

use super::flow::Lowering;
use crate::ast::OneOf;
use crate::ir::Label;
use crate::names::snake_case;

/// The labels that are not of the kind of the others in their map.
#[derive(Clone, Copy)]
pub(super) enum Foreign {
    /// Names among literals; `err` may be beside them.
    Names,
    /// Literals beside `ok`, which holds all values.
    Literals,
}

impl Foreign {
    pub(super) fn is(self, label: &Label) -> bool {
        match (self, label) {
            (Foreign::Names, Label::Name(name)) => snake_case(&name.to_string()) != "err" && !label.is_spent(),
            (Foreign::Literals, Label::Literal { .. }) => true,
            _ => false,
        }
    }
}

impl Lowering<'_> {
    /// Refuses names and literals as labels of one node.
    pub(super) fn names_and_literals(&mut self, router: NodeIx, map: &OneOf) -> Option<Foreign> {
        let labels = || map.arms.iter().flat_map(|arm| &arm.labels);
        let with_those_before = || self.builder.labels_before(router).chain(labels());
        let is_ok = |label: &Label| matches!(label, Label::Name(name) if snake_case(&name.to_string()) == "ok");
        let holds_all = with_those_before().any(is_ok);
        let others = if holds_all { Foreign::Names } else { Foreign::Literals };
        let foreign = if holds_all { Foreign::Literals } else { Foreign::Names };
        if !with_those_before().any(|label| others.is(label)) {
            return None;
        }
        // Those of the maps before are reported, or are of the other kind.
        let first = labels().find(|label| foreign.is(label))?;
        let (text, span) = (first.text(), first.span());
        let router_name = self.builder.name(router).to_string();
        if holds_all {
            self.diagnostics
                .error(span, format!("`ok` takes all values of `{router_name}`, `{text}` too"))
                .help("route `ok` to a node that returns the value, and put the literals behind it")
                .help("or leave `ok` out: literals may be beside `err`, with `_` for the rest");
        } else {
            self.diagnostics
                .error(span, format!("`{text}` is a name, and the other labels of `{router_name}` are literals"))
                .help("a literal is its own label: write the value of a constant, and `_` for the rest");
        }
        self.builder.hole(router);
        Some(foreign)
    }

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
