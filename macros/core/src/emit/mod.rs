//! Emits the proven workflow: a table of entries for the runtime, and bounds that make rustc check the rest.

mod entry;
mod exit;
mod flow;
mod group;
mod labels;
pub mod mention;
pub mod options;
mod shape;
mod state;
pub mod travels;
mod workflow;

pub use workflow::workflow;
