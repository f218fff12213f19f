//! Runs on tokio, with closures for nodes.

mod cancelling;
mod panics;
mod running;
mod times;
