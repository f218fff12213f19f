//! Resolves names to nodes: the `let`s, and the names that are taken.

use std::collections::{BTreeMap, BTreeSet};

use proc_macro2::Ident;
use syn::Path;

use crate::ast::path_text;
use crate::diagnostics::Diagnostics;
use crate::ir::{Let, LetIx, LetValue};
use crate::names;

/// A flow's number: the workflow's own is 0, each `[..]` has another.
pub(super) type FlowIx = usize;

/// The names of a workflow. A name belongs to one node, and a node to one flow.
#[derive(Clone, Default)]
pub(super) struct Names {
    lets: BTreeMap<String, LetIx>,
    /// By name: the whole path that has taken it, and the flow in which it did.
    taken: BTreeMap<String, (String, FlowIx)>,
    used: BTreeSet<LetIx>,
    flows: FlowIx,
}

/// The meaning of a path in the graph.
pub(super) struct Meaning {
    /// The key that distinguishes nodes.
    pub(super) key: String,
    /// The name of the node.
    pub(super) name: String,
    /// The `let` that it is the name of.
    pub(super) of_let: Option<LetIx>,
}

impl Names {
    pub(super) fn new(lets: &mut [Let], diagnostics: &mut Diagnostics) -> Self {
        let mut names = Names::default();
        for (at, found) in lets.iter().enumerate() {
            let name = plain(&found.name);
            if let Some(first) = names.lets.get(&name) {
                let twice = diagnostics.error(&found.name, format!("two `let`s are called `{name}`"));
                twice.help("names are unique in a workflow: choose another one");
                // It is unknown which of them is meant.
                names.used.extend([*first, at]);
            } else {
                names.lets.insert(name, at);
            }
        }
        let of_lets: Vec<LetIx> = (0..lets.len())
            .filter(|at| lets.get(*at).is_some_and(|found| names.refuse_let_of_let(found, lets, diagnostics)))
            .collect();
        for at in of_lets {
            if let Some(found) = lets.get_mut(at) {
                found.value = LetValue::Unknown;
            }
        }
        names
    }

    /// Refuses `let b = a();` if `a` is itself a `let`, and not the name of a node. Returns whether it is so.
    fn refuse_let_of_let(&mut self, found: &Let, lets: &[Let], diagnostics: &mut Diagnostics) -> bool {
        let LetValue::Configured { path, .. } = &found.value else { return false };
        let named = path.get_ident().and_then(|name| self.lets.get(&plain(name))).copied();
        let Some((at, other)) = named.and_then(|at| Some((at, lets.get(at)?))) else { return false };
        let behind = match &other.value {
            LetValue::Configured { path, .. } => Some(path_text(path)),
            LetValue::Value { .. } => None,
            // Its error has been reported.
            LetValue::Unknown => return true,
        };
        let name = plain(&other.name);
        if behind.as_deref() == Some(name.as_str()) {
            return false;
        }
        self.used.insert(at);
        let error = diagnostics.error(path, format!("`{name}` is the name of a `let`, not of a node"));
        match behind {
            Some(node) => error.help(format!("name its node instead: `let {} = {node}(..);`", found.name)),
            None => error.help(format!("make the value again: `let {}: .. = ..;`", found.name)),
        };
        true
    }

    pub(super) fn new_flow(&mut self) -> FlowIx {
        self.flows += 1;
        self.flows - 1
    }

    pub(super) fn meaning(&self, path: &Path) -> Meaning {
        let key = path_text(path);
        let of_let = path.get_ident().and_then(|name| self.lets.get(&plain(name))).copied();
        let name = path.segments.last().map(|segment| plain(&segment.ident)).unwrap_or_default();
        Meaning { key, name, of_let }
    }

    /// Gives a node its name; reports an error if another node or another flow has it already.
    pub(super) fn take(&mut self, meaning: &Meaning, path: &Path, flow: FlowIx, diagnostics: &mut Diagnostics) {
        self.used.extend(meaning.of_let);
        let name = &meaning.name;
        let Some((key, owner)) = self.taken.get(name) else {
            self.taken.insert(name.clone(), (meaning.key.clone(), flow));
            return;
        };
        let second = second_name(name);
        let node = &meaning.key;
        if *key != meaning.key {
            diagnostics
                .error(path, format!("two nodes are called `{name}`: `{key}` and `{node}`"))
                .help(format!("for two nodes, give one a name of its own: `let {second} = {node}();`"))
                .help("for one node, write the same path everywhere");
        } else if *owner != flow {
            let message = if flow == 0 {
                format!("`{name}` is inside `[..]`, and what is inside is private")
            } else if *owner == 0 {
                format!("`{name}` is already outside this `[..]`, and what is inside is private")
            } else {
                format!("`{name}` is already in another `[..]`, and what is inside is private")
            };
            let mend = match meaning.of_let {
                Some(_) => format!("for a second node, write a second `let`: `let {second} = ..;`"),
                None => format!("for a second node, give it a second name: `let {second} = {node}();`"),
            };
            diagnostics.error(path, message).help(mend);
        }
    }

    /// A `let` that no statement names is a node that cannot be reached.
    pub(super) fn unused(&self, lets: &[Let], incomplete: bool, diagnostics: &mut Diagnostics) {
        if incomplete {
            return;
        }
        for (at, found) in lets.iter().enumerate() {
            let name = plain(&found.name);
            if self.used.contains(&at) || self.lets.get(&name) != Some(&at) {
                continue;
            }
            let error = diagnostics.error(&found.name, format!("`{name}` is never reached: no statement names it"));
            match names::nearest(&name, self.taken.keys().map(String::as_str)) {
                Some(near) => error.help(format!("a node with a similar name is there: `{near}`")),
                None => error.help("lead to it, or leave it out"),
            };
        }
    }
}

fn plain(name: &Ident) -> String {
    names::plain(&name.to_string()).to_string()
}

/// A name for a second node of the same kind, in a help text.
fn second_name(name: &str) -> String {
    format!("{name}2")
}
