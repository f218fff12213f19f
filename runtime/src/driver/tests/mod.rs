//! Runs on tokio, with closures for nodes.

mod cancelling;
mod lanes;
#[cfg(graphweft_loom)]
mod loom_models;
mod panics;
mod running;
mod times;
