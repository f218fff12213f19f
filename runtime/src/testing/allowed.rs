//! Which nodes a test may run again and again: those that are mocked, and those that it says so of.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::lab::Lab;
use super::places::Places;
use super::steps::Paths;
use crate::compile::all_used;
use crate::event::{Event, EventKind};
use crate::table::Definition;
use crate::workflow::Workflow;

impl<W: Workflow> Lab<W> {
    /// Checks the nodes of a workflow, and of all that are registered.
    ///
    /// # Errors
    /// The names of those that nothing says about whether they may be repeated.
    pub(super) fn check_repeatable(&self, workflow: &Arc<Definition>) -> Result<(), String> {
        let known = |type_id| {
            let mocked = self.mocks.iter().map(|mock| mock.node.type_id);
            mocked.chain(self.repeatable.iter().map(|node| node.type_id)).any(|known| known == type_id)
        };
        // Not the earlier versions of the workflow, under which no run begins here.
        let others = self.registered.iter().filter(|registered| !registered.is_of::<W>());
        let registered = others.filter_map(|registered| registered.definition);
        let graphs: Vec<Places> = registered.chain([workflow]).map(|graph| self.places_of(graph)).collect();
        let mut refused = BTreeMap::new();
        for entry in graphs.iter().flat_map(Places::bodies) {
            let is_mocked = self.mocks.iter().any(|mock| mock.node.type_id == entry.type_id);
            if !known(entry.type_id) {
                let node = entry.node.as_ref();
                let written = node.map_or_else(|| entry.name.clone(), |node| in_source(node.type_name()));
                refused.insert(entry.name.clone(), written);
            }
            if !is_mocked {
                let used = all_used(entry.uses()).into_iter();
                let refuses = used.filter(|used| !used.is_workflow && !known(used.type_id));
                refused.extend(refuses.map(|used| (used.name.clone(), used.name)));
            }
        }
        all_allowed(&refused)
    }

    /// Checks the nodes that others have called in a run of a workflow, which are known by their names only.
    ///
    /// # Errors
    /// As above.
    pub(super) fn check_called(&self, workflow: &Arc<Definition>, events: &[Event]) -> Result<(), String> {
        let records = events.iter().map(|event| (event.path.as_str(), &event.kind));
        let (paths, places) = (Paths::of(&workflow.name, records), self.places_of(workflow));
        let mut refused = BTreeMap::new();
        for event in events {
            let is_node = match &event.kind {
                // A step has no input.
                EventKind::NodeStarted { inside: None, input, .. } => input.is_some() || paths.is_in_graph(&event.path),
                _ => false,
            };
            let name = event.path.rsplit_once('/').map_or(event.path.as_str(), |(_, name)| name);
            let name = name.split([':', '#', '[']).next().unwrap_or(name);
            if is_node && places.find(&event.path).is_none() && !self.is_known_name(name) {
                refused.insert(name.to_owned(), name.to_owned());
            }
        }
        all_allowed(&refused)
    }

    /// Whether a child of this name may be repeated.
    fn is_known_name(&self, name: &str) -> bool {
        let mut nodes = self.mocks.iter().map(|mock| &mock.node).chain(&self.repeatable);
        nodes.any(|node| node.name == name) || self.repeatable_children.iter().any(|child| child == name)
    }
}

/// The error that names these nodes, unless there are none. `refused`: their types, by their names in the graph.
fn all_allowed(refused: &BTreeMap<String, String>) -> Result<(), String> {
    let Some((name, example)) = refused.first_key_value() else { return Ok(()) };
    let names: Vec<String> = refused.keys().map(|name| format!("`{name}`")).collect();
    Err(format!(
        "a crash would repeat nodes that are not mocked: {}\n  help: mock them by `.mock::<{example}>(..)`, or state that \
         repeating them is harmless by `.repeatable::<{example}>()`, or for a child by `.repeatable_child(\"{name}\")`",
        names.join(", ")
    ))
}

/// The name of a type as a program writes it that has imported all of its parts: `AskHuman<String, Verdict>`.
fn in_source(type_name: &str) -> String {
    let mut written = String::new();
    // A type of a function has that in its path: `app::test::{{closure}}::review`.
    for part in type_name.split_inclusive(|c: char| !(c.is_alphanumeric() || "_:{}".contains(c))) {
        written.push_str(part.rsplit_once("::").map_or(part, |(_, last)| last));
    }
    written
}

#[cfg(test)]
mod tests {
    use super::in_source;

    #[test]
    fn a_type_is_written_without_its_modules() {
        assert_eq!(in_source("app::review"), "review");
        assert_eq!(in_source("app::tests::{{closure}}::review"), "review");
        let asks = "graphweft::ask::AskHuman<alloc::string::String, (u32, app::Verdict)>";
        assert_eq!(in_source(asks), "AskHuman<String, (u32, Verdict)>");
        assert_eq!(in_source("alloc::vec::Vec<[app::of::Item; 2]>"), "Vec<[Item; 2]>");
    }
}
