//! The resources that nodes need from an engine.

use std::any::{Any, TypeId, type_name};

/// A resource that a node needs from its engine; see [`Node::resources`](crate::Node::resources).
///
/// A node that is written by hand states what it takes from its context, so that a missing one is reported before the run starts:
///
/// ```
/// use graphweft::prelude::*;
/// use graphweft::ResourceNeed;
///
/// struct Rates(f64);
/// struct Convert { fee: f64 }
///
/// impl Node for Convert {
///     type Input = f64;
///     type Output = f64;
///     type Error = Never;
///
///     fn resources(&self) -> Vec<ResourceNeed> { vec![ResourceNeed::of::<Rates>()] }
///
///     async fn run(&self, amount: f64, ctx: &Context) -> Result<f64, Never> {
///         let rate = ctx.resource::<Rates>().map_or(1.0, |rates| rates.0);
///         Ok(amount * rate - self.fee)
///     }
/// }
///
/// # graphweft::block_on(async {
/// let flow = workflow! { let convert = Convert { fee: 1.0 }; START => convert };
/// let engine = Engine::builder().resource(Rates(1.5)).build()?;
/// assert_eq!(engine.start_flow(&flow, 10.0).await?.result().await?, 14.0);
/// assert!(matches!(flow.run(10.0).await, Err(RunError::MissingResources(_))));
/// # Ok::<(), Box<dyn std::error::Error>>(()) }).unwrap();
/// ```
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
///
/// It is known before anything runs, and has all that is missing:
///
/// ```
/// use graphweft::prelude::*;
/// use graphweft::StartError;
///
/// # struct Pool;
/// #[node]
/// async fn save(text: String, #[resource] _pool: &Pool) -> usize { text.len() }
/// workflow! { pub archive(String) -> usize { START => save; } }
///
/// # graphweft::block_on(async {
/// let engine = Engine::builder().build()?;
/// let Err(StartError::MissingResources(missing)) = engine.start::<archive>("a poem".into()).await else { panic!() };
/// assert_eq!(missing.0[0].nodes, ["archive/save"]);
/// assert!(missing.to_string().ends_with("add it with `Engine::builder().resource(..)`"));
/// # Ok::<(), graphweft::BuildError>(()) }).unwrap();
/// ```
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the engine lacks {}", described(.0))]
pub struct MissingResources(
    /// Each missing type once.
    pub Vec<MissingResource>,
);

/// A resource that the engine does not have.
///
/// A list for the person who deploys:
///
/// ```
/// use graphweft::prelude::*;
/// use graphweft::MissingResource;
///
/// # struct Pool;
/// #[node]
/// async fn save(text: String, #[resource] _pool: &Pool) -> usize { text.len() }
/// workflow! { pub archive(String) -> usize { START => save; } }
///
/// fn line(missing: &MissingResource) -> String {
///     let name = missing.type_name.rsplit("::").next().unwrap_or_default();
///     format!("{name} for {}", missing.nodes.join(", "))
/// }
///
/// // A workflow that is called as a function has no engine, and so no resources.
/// let Err(RunError::MissingResources(missing)) = graphweft::block_on(archive("a poem".into())) else { panic!() };
/// assert_eq!(line(&missing.0[0]), "Pool for archive/save");
/// ```
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
