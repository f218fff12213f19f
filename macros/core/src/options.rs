//! The options of a node, as `#[node(..)]` and `let name = node(..)` write them.

mod duration;
mod function;
mod parse;
mod value;

pub(crate) use parse::{OF_A_NODE, OF_A_RUN, OF_RETRY};
pub use parse::{Reader, Value, Written, is_limit, is_option, parse_let_options, parse_limits, parse_node_attribute};

use proc_macro2::{Span, TokenStream};
use std::time::Duration;
use syn::{Expr, LitStr, Path};

/// The limits of a run that were written above a workflow.
#[derive(Clone, Copy, Default)]
pub struct RunLimits {
    /// `#[timeout = "1h"]`
    pub timeout: Option<Duration>,
    /// `#[max_parallel = 8]`, at least 1.
    pub max_parallel: Option<u32>,
}

/// Every option that was written; `None` and `false` where it was not.
#[derive(Default)]
pub struct NodeOptions {
    /// `name = "charge_card"`: the name of the node in paths, events and the graph.
    pub name: Option<LitStr>,
    /// `renamed_from = "bill"`, `renamed_from("bill", "pay")`: its former names.
    pub renamed_from: Vec<LitStr>,
    /// `retry(..)`
    pub retry: Option<RetryOptions>,
    /// `timeout = "10s"`, for each attempt.
    pub timeout: Option<Duration>,
    /// `max_parallel = 4`, at least 1, and where it was written.
    pub max_parallel: Option<(u32, Span)>,
    /// `at_most_once`
    pub at_most_once: Option<Span>,
    /// `blocking`
    pub blocking: Option<Span>,
    /// `collect`
    pub collect: Option<Span>,
    /// `uses(search, read)`: the nodes that it may call.
    pub uses: Vec<Path>,
    /// `pool = "gpu"`: the machines that execute its attempts.
    pub pool: Option<LitStr>,
    /// `crate = path`
    pub krate: Option<Path>,
    /// What a macro says that makes a node of something else, such as an agent. No option.
    pub built_on: Option<Box<BuiltOn>>,
}

/// A node whose function another macro has written.
pub struct BuiltOn {
    /// What the node does.
    pub doc: String,
    /// The expression of the nodes that it may call, a `Vec<NodeInfo>`.
    pub uses: TokenStream,
    /// The types of the resources that it needs besides those of its parameters.
    pub resources: Vec<TokenStream>,
    /// The path of the function from `&Error` to `bool` that says which errors are retried.
    pub retry_when: TokenStream,
}

/// `retry(max_attempts = 3, initial_delay = "200ms", ..)`; an option that is not written keeps the runtime's default.
#[derive(Default)]
pub struct RetryOptions {
    /// `max_attempts = 3`, at least 1.
    pub max_attempts: Option<u32>,
    /// `initial_delay = "200ms"`
    pub initial_delay: Option<Duration>,
    /// `max_delay = "60s"`
    pub max_delay: Option<Duration>,
    /// `backoff_factor = 2.0`, finite and at least 1.
    pub backoff_factor: Option<f64>,
    /// `jitter = 0.5`, finite and not negative.
    pub jitter: Option<f64>,
    /// `when = CardError::is_transient`: a path or closure that takes `&Error` and returns `bool`.
    pub when: Option<Expr>,
    /// `after = ApiError::retry_after`: a path or closure that takes `&Error` and returns `Option<Duration>`.
    pub after: Option<Expr>,
}
