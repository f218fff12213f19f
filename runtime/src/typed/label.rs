//! Checks the labels of a route map against those of the value: none is unknown, none is missing.
//!
//! Only the impl of [`Route`](crate::Route) knows the labels of a type, as text. So the expansion checks them in a
//! constant, and a panic there is the error, at the label or at the map: only in such an error does rustc print a text
//! that is composed while it compiles. For everything that is computed from that constant rustc reports no second
//! error.

/// A message that is composed in a constant.
struct Words {
    bytes: [u8; Words::MOST],
    length: usize,
}

impl Words {
    const MOST: usize = 1024;

    const fn new() -> Self {
        Words { bytes: [0; Words::MOST], length: 0 }
    }

    /// Appends `text`, or leaves it out if there is no room.
    const fn and(mut self, text: &str) -> Self {
        let text = text.as_bytes();
        if self.length + text.len() <= Words::MOST {
            let mut at = 0;
            while at < text.len() {
                self.bytes[self.length] = text[at];
                self.length += 1;
                at += 1;
            }
        }
        self
    }

    /// Appends a name in backticks.
    const fn name(self, name: &str) -> Self {
        self.and("`").and(name).and("`")
    }

    const fn text(&self) -> &str {
        match std::str::from_utf8(self.bytes.split_at(self.length).0) {
            Ok(text) => text,
            Err(_) => "a label is missing or unknown",
        }
    }
}

const fn is(one: &str, other: &str) -> bool {
    let (one, other) = (one.as_bytes(), other.as_bytes());
    let mut at = 0;
    while at < one.len() && at < other.len() && one[at] == other[at] {
        at += 1;
    }
    at == one.len() && at == other.len()
}

const fn has(names: &[&str], name: &str) -> bool {
    let mut at = 0;
    while at < names.len() {
        if is(names[at], name) {
            return true;
        }
        at += 1;
    }
    false
}

/// Checks that one label of a route map is a label of the node's output.
#[track_caller]
pub const fn known_label(node: &str, labels: &[&str], label: &str) {
    if has(labels, label) {
        return;
    }
    let mut words = Words::new().name(node).and(" has no label ").name(label).and("; it has ");
    let mut at = 0;
    while at < labels.len() {
        words = words.and(if at == 0 { "" } else { ", " }).name(labels[at]);
        at += 1;
    }
    if is(label, "spent") {
        words =
            words.and("\nhelp: `spent` belongs to a bounded arm: `<redo (at most 5): draft, good: END, spent: END>`");
    }
    panic!("{}", words.text())
}

/// Checks that a route map without `_` has an arm for each label of the node's output. `spent`: whether it has the arm
/// that is taken when a bound is spent.
#[track_caller]
pub const fn every_label(node: &str, labels: &[&str], written: &[&str], spent: bool) {
    let mut words = Words::new().name(node).and(" may give ");
    let mut mend = Words::new().and("\nhelp: write `");
    let (mut at, mut missing, mut takes_spent) = (0, 0, false);
    while at < labels.len() {
        if !has(written, labels[at]) {
            words = words.and(if missing == 0 { "" } else { " or " }).name(labels[at]);
            mend = mend.and(if missing == 0 { "" } else { ", " }).and(labels[at]).and(": node");
            missing += 1;
            takes_spent = takes_spent || (spent && is(labels[at], "spent"));
        }
        at += 1;
    }
    if missing == 0 {
        return;
    }
    words = words.and(if missing == 1 { ", and no arm takes it" } else { ", and no arm takes them" });
    if takes_spent {
        words = words.and("\nhelp: `spent` beside a bounded arm is taken when the bound is spent: rename the variant, or write `_: node`");
    } else {
        words = words.and(mend.text()).and("`, or `_: node` for the rest");
    }
    panic!("{}", words.text())
}
