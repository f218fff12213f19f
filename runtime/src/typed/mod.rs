//! The typed layer, to which the macros expand. Every function here checks one guarantee by its bounds and returns a
//! piece of the untyped [table](crate::table) with which the core and the driver run the graph.

mod arrival;
mod context;
mod edge;
mod editor;
mod exit;
mod fault_forms;
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
pub use editor::*;
pub use exit::*;
pub use fault_forms::*;
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
