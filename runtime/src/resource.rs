//! The resources that nodes need from an engine.

/// A `#[resource]` that a node asks for.
#[doc(hidden)]
#[derive(Clone, Copy, Debug)]
pub struct ResourceNeed {
    /// Its type.
    pub type_id: std::any::TypeId,
    /// The name of that type.
    pub type_name: &'static str,
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

impl MissingResource {
    /// One that a single node needs.
    pub(crate) fn of(need: &ResourceNeed, node: &str) -> Self {
        MissingResource { type_name: need.type_name, nodes: vec![node.to_owned()] }
    }
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
