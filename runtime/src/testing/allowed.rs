//! Which nodes a test may run again and again: those that are mocked, and those that it says so of.

use std::collections::BTreeSet;
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
        let mut refused = BTreeSet::new();
        for entry in graphs.iter().flat_map(Places::bodies) {
            let is_mocked = self.mocks.iter().any(|mock| mock.node.type_id == entry.type_id);
            if !known(entry.type_id) {
                refused.insert(entry.name.clone());
            }
            if !is_mocked {
                let used = all_used(entry.uses()).into_iter();
                refused.extend(used.filter(|used| !used.is_workflow && !known(used.type_id)).map(|used| used.name));
            }
        }
        none(&refused)
    }

    /// Checks the nodes that others have called in a run of a workflow, which are known by their names only.
    ///
    /// # Errors
    /// As above.
    pub(super) fn check_called(&self, workflow: &Arc<Definition>, events: &[Event]) -> Result<(), String> {
        let records = events.iter().map(|event| (event.path.as_str(), &event.kind));
        let (paths, places) = (Paths::of(&workflow.name, records), self.places_of(workflow));
        let mut refused = BTreeSet::new();
        for event in events {
            let is_node = match &event.kind {
                // A step has no input.
                EventKind::NodeStarted { inside: None, input, .. } => input.is_some() || paths.is_in_graph(&event.path),
                _ => false,
            };
            let name = event.path.rsplit_once('/').map_or(event.path.as_str(), |(_, name)| name);
            let name = name.split([':', '#', '[']).next().unwrap_or(name);
            if is_node && places.find(&event.path).is_none() && !self.is_known_name(name) {
                refused.insert(name.to_owned());
            }
        }
        none(&refused)
    }

    /// Whether a child of this name may be repeated.
    fn is_known_name(&self, name: &str) -> bool {
        let mut nodes = self.mocks.iter().map(|mock| &mock.node).chain(&self.repeatable);
        nodes.any(|node| node.name == name) || self.repeatable_children.iter().any(|child| child == name)
    }
}

fn none(refused: &BTreeSet<String>) -> Result<(), String> {
    if refused.is_empty() {
        return Ok(());
    }
    let names: Vec<String> = refused.iter().map(|name| format!("`{name}`")).collect();
    let example = refused.first().map_or("", String::as_str);
    Err(format!(
        "a crash would repeat nodes that are not mocked: {}\n  help: mock them by `.mock::<{example}>(..)`, or state that \
         repeating them is harmless by `.repeatable::<{example}>()`, or for a child by `.repeatable_child(\"{example}\")`",
        names.join(", ")
    ))
}
