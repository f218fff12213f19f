//! What the analysis and the engine are held against, for tests alone: a plain interpreter that plays every choice, and
//! graphs for it, every one of a size and random larger ones.
#![forbid(unsafe_code)]

pub mod judge;
pub mod notation;
pub mod random_graphs;
pub mod shrink;
pub mod small_graphs;
