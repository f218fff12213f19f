//! The typed layer: what the macros expand to. Every function here checks one promise by its bounds and gives back a
//! piece of the untyped [table](crate::table) in which the core and the driver run the graph.

mod arrival;
mod context;
mod edge;
mod exit;
mod group;
mod label;
mod leaf;
mod mention;
mod options;
mod probe;
mod route;
mod scope;
mod shape;
mod state_proof;

pub use arrival::*;
pub use context::*;
pub use edge::*;
pub use exit::*;
pub use group::*;
pub use label::*;
pub use leaf::*;
pub use mention::*;
pub use options::*;
pub use probe::*;
pub use route::*;
pub use scope::*;
pub use shape::*;
pub use state_proof::*;
