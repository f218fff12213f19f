//! The versions of a workflow that one program has.

use std::sync::Arc;

use super::error::BuildError;
use crate::compile;
use crate::sorted::SortedMap;
use crate::table::Definition;

/// A version of a workflow.
#[derive(Clone, Debug)]
pub(super) struct Version {
    /// The path of its type, `shop::v1::checkout`: versions have the same name otherwise.
    pub(super) type_name: &'static str,
    pub(super) definition: Arc<Definition>,
}

impl Version {
    /// That of a workflow of which a run was started without it being registered.
    pub(super) fn unregistered(definition: &Arc<Definition>) -> Self {
        Version { type_name: "a workflow that is not registered", definition: Arc::clone(definition) }
    }

    /// The hash of its graph, by which runs are distinguished.
    pub(super) fn graph(&self) -> u64 {
        compile::fingerprint(&self.definition).hash
    }
}

/// The versions of a registered workflow, each with a graph of its own.
#[derive(Clone, Debug)]
pub(super) struct Versions {
    /// The one that new runs begin on.
    pub(super) newest: Version,
    /// Those that only continue runs, in the order in which they were registered.
    pub(super) earlier: Vec<Version>,
}

impl Versions {
    pub(super) fn only(newest: Version) -> Self {
        Versions { newest, earlier: Vec::new() }
    }

    /// All of them: the newest, then the earlier ones as they were registered.
    pub(super) fn all(&self) -> impl Iterator<Item = &Version> {
        std::iter::once(&self.newest).chain(&self.earlier)
    }

    /// Whether this definition is one of them, or has the graph of one: a module of an earlier version has copies of workflows that
    /// have not changed.
    pub(super) fn has(&self, definition: &Arc<Definition>) -> bool {
        let is_same = self.all().any(|version| Arc::ptr_eq(&version.definition, definition));
        is_same || self.of_graph(compile::fingerprint(definition).hash).is_some()
    }

    /// Their name.
    pub(super) fn name(&self) -> &str {
        &self.newest.definition.name
    }

    /// The one with this graph, if there are several: the fingerprint of a single one is not needed.
    pub(super) fn of_several(&self, graph: u64) -> Option<&Version> {
        if self.earlier.is_empty() { None } else { self.of_graph(graph) }
    }

    /// The one with this graph.
    pub(super) fn of_graph(&self, graph: u64) -> Option<&Version> {
        self.all().find(|version| version.graph() == graph)
    }
}

/// The workflows of an engine, by name.
///
/// # Errors
/// [`BuildError::NoNewestVersion`] and [`BuildError::SameGraph`].
pub(super) fn by_name(
    newest: SortedMap<String, Version>,
    earlier: Vec<Version>,
) -> Result<SortedMap<String, Versions>, BuildError> {
    let mut workflows: SortedMap<String, Versions> =
        newest.into_pairs().map(|(name, newest)| (name, Versions::only(newest))).collect();
    for version in earlier {
        let name = &version.definition.name;
        let Some(versions) = workflows.get_mut(name) else {
            return Err(BuildError::NoNewestVersion { workflow: name.clone(), version: version.type_name });
        };
        let is_registered = versions.earlier.iter().any(|other| Arc::ptr_eq(&other.definition, &version.definition));
        if is_registered {
            continue;
        }
        if let Some(other) = versions.of_graph(version.graph()) {
            let versions = [other.type_name, version.type_name];
            return Err(BuildError::SameGraph { workflow: name.clone(), versions });
        }
        versions.earlier.push(version);
    }
    Ok(workflows)
}
