//! The graph model that graphweft's macros and its runtime share, and the analysis that proves a graph.
//!
//! Pure: no dependencies, no I/O, no tokens of any language. A [`Graph`] holds nodes, edges and choices; [`analyse`]
//! either refuses it, with every reason, or returns the [`Plan`] that an engine runs by.
#![forbid(unsafe_code)]

mod analysis;
mod model;
pub mod picture;
mod plan;
mod problem;
pub mod state_proof;

pub use analysis::{analyse, component_of_each};
pub use model::{Choice, END, Edge, EdgeIx, Graph, NodeData, NodeIx, START, Way};
pub use plan::{Arrival, Loop, LoopIx, Plan, Presence};
pub use problem::{Problem, Route};
