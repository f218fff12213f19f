//! The resources that nodes need from an engine.

use std::any::{Any, TypeId, type_name};

/// A resource that a node needs from its engine; see [`Node::resources`](crate::Node::resources).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ResourceNeed {
    pub(crate) type_id: TypeId,
    pub(crate) type_name: &'static str,
}

impl ResourceNeed {
    /// The resource of that type.
    pub fn of<T: Any + Send + Sync>() -> Self {
        ResourceNeed { type_id: TypeId::of::<T>(), type_name: type_name::<T>() }
    }

    /// The name of the type.
    pub fn type_name(&self) -> &'static str {
        self.type_name
    }
}

/// Resources that nodes need and the engine does not have.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the engine lacks {}", described(.0))]
pub struct MissingResources(
    /// Each missing type once.
    pub Vec<MissingResource>,
);

/// A resource that the engine does not have.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct MissingResource {
    /// Its type.
    pub type_name: &'static str,
    /// The nodes that need it.
    pub nodes: Vec<String>,
}

fn described(missing: &[MissingResource]) -> String {
    let each = missing.iter().map(|resource| {
        let nodes: Vec<String> = resource.nodes.iter().map(|node| format!("`{node}`")).collect();
        format!("resource `{}`, which {} need{}", resource.type_name, nodes.join(", "), plural(nodes.len()))
    });
    format!("{}; add it with `Engine::builder().resource(..)`", each.collect::<Vec<_>>().join("; "))
}

fn plural(nodes: usize) -> &'static str {
    if nodes == 1 { "s" } else { "" }
}
