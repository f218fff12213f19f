//! Writes down what was parsed and proven: a table of entries for the runtime, and bounds that make rustc check the rest.

mod entry;
mod exit;
mod flow;
mod group;
mod labels;
mod mention;
pub mod options;
mod shape;
mod state;
pub mod travels;
mod workflow;

pub use workflow::workflow;
