//! The code of child workflows, which only the nodes that call them have.

use std::sync::{Arc, PoisonError};

use super::inner::Engine;
use crate::compile;
use crate::halt::Halt;
use crate::node_info::{AnyGraph, NodeInfo};
use crate::table::Definition;

impl Engine {
    /// The workflow of a child by the hash of its graph: one that was called here, is registered, or is named by `uses(..)`.
    ///
    /// # Errors
    /// If this program is not known to have it.
    pub(super) async fn called(&self, graph: u64) -> Result<Arc<Definition>, Halt> {
        let called = self.0.env.called.lock().unwrap_or_else(PoisonError::into_inner).get(&graph).cloned();
        if let Some(called) = called.and_then(definition).or_else(|| self.called_somewhere(graph)) {
            return Ok(called);
        }
        let graphs = self.stored_graph(graph).await.map_err(Halt::Store)?;
        let workflow = graphs.map_or_else(|| format!("{graph:016x}"), |graphs| graphs.graph.name);
        if self.0.workflows.contains_key(&workflow) {
            let changes = vec!["the child was recorded under another graph than this program has".to_owned()];
            return Err(Halt::GraphChanged { workflow, changes });
        }
        Err(Halt::NotRegistered { workflow })
    }

    pub(super) fn called_somewhere(&self, graph: u64) -> Option<Arc<Definition>> {
        let is_it = |definition: &&Arc<Definition>| compile::fingerprint(definition).hash == graph;
        let registered = self.0.workflows.values().flat_map(|versions| versions.all());
        let registered: Vec<&Arc<Definition>> = registered.map(|version| &version.definition).collect();
        let mut known = registered.iter().copied().chain(self.0.called.iter().copied());
        if let Some(known) = known.find(is_it) {
            return Some(Arc::clone(known));
        }
        registered.into_iter().find_map(|registered| used_by(registered).into_iter().find(|used| is_it(&used)))
    }

    /// The workflows that the nodes of a workflow say they call. Several may have one name.
    pub(super) fn called_by(&self, caller: &Arc<Definition>) -> Vec<Arc<Definition>> {
        used_by(caller).into_iter().chain(self.0.called.iter().copied().cloned()).collect()
    }
}

/// The workflows that `uses(..)` of its nodes names.
fn used_by(caller: &Arc<Definition>) -> Vec<Arc<Definition>> {
    all_used_by(caller).into_iter().filter_map(|used| (used.called)()).filter_map(definition).collect()
}

/// Whether `uses(..)` of its nodes names a node like this that is no workflow.
pub(super) fn uses_node(caller: &Arc<Definition>, name: &str) -> bool {
    all_used_by(caller).into_iter().any(|used| used.name == name && (used.called)().is_none())
}

fn all_used_by(caller: &Arc<Definition>) -> Vec<NodeInfo> {
    let infos = compile::definitions(caller);
    let uses = infos.iter().flat_map(|definition| definition.infos()).flat_map(|node| node.uses()).collect();
    compile::all_used(uses)
}

fn definition(graph: AnyGraph) -> Option<Arc<Definition>> {
    graph.downcast().ok()
}
