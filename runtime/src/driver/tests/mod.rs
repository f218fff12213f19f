//! Runs on tokio, with closures for nodes.

mod cancelling;
mod journal;
mod panics;
mod running;
mod times;
