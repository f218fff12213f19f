//! Options as expansions write them: an option that was not written keeps its default.

use std::time::Duration;

use crate::options::{NodeOptions, RetryPolicy};

/// `#[node(retry(..), timeout = .., max_parallel = .., at_most_once)]`
pub fn node_options(
    retry: Option<RetryPolicy>,
    timeout: Option<Duration>,
    max_parallel: Option<u32>,
    at_most_once: bool,
) -> NodeOptions {
    NodeOptions { retry: retry.unwrap_or_else(RetryPolicy::none), timeout, max_parallel, at_most_once }
}

/// `retry(..)`
pub fn retry_policy(
    max_attempts: Option<u32>,
    initial_delay: Option<Duration>,
    max_delay: Option<Duration>,
    backoff_factor: Option<f64>,
    jitter: Option<f64>,
) -> RetryPolicy {
    let default = RetryPolicy::default();
    RetryPolicy {
        max_attempts: max_attempts.unwrap_or(default.max_attempts),
        initial_delay: initial_delay.unwrap_or(default.initial_delay),
        max_delay: max_delay.unwrap_or(default.max_delay),
        backoff_factor: backoff_factor.unwrap_or(default.backoff_factor),
        jitter: jitter.unwrap_or(default.jitter),
    }
}

/// `let name = node(..)`: options written there replace the node's own.
pub fn override_options(
    own: NodeOptions,
    retry: Option<RetryPolicy>,
    timeout: Option<Duration>,
    max_parallel: Option<u32>,
    at_most_once: bool,
) -> NodeOptions {
    NodeOptions {
        retry: retry.unwrap_or(own.retry),
        timeout: timeout.or(own.timeout),
        max_parallel: max_parallel.or(own.max_parallel),
        at_most_once: at_most_once || own.at_most_once,
    }
}
