//! Runs on tokio, with closures for nodes.

mod cancelling;
mod lanes;
#[cfg(graphweft_loom)]
mod loom_models;
mod panics;
mod running;
mod times;

use std::time::Duration;

use tokio::time::Instant;

/// How much paused time has passed, to the second. What is due by the wall clock comes earlier by the moments of real time.
fn seconds_since(begun: Instant) -> u64 {
    (begun.elapsed() + Duration::from_millis(500)).as_secs()
}
