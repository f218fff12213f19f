//! What goes wrong in a run: a node's own error, a fault, the failure of a run.

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The error of a node that cannot fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Never {}

impl std::fmt::Display for Never {
    fn fmt(&self, _: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match *self {}
    }
}

impl std::error::Error for Never {}

/// An attempt that ended by something other than the node's own error.
///
/// A fault flows to a routed `err` only where the node's error type is `From<Fault>`; otherwise it fails the run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, thiserror::Error)]
#[non_exhaustive]
pub enum Fault {
    /// The attempt took longer than the node's `timeout`.
    #[error("timed out after {after:?}")]
    Timeout {
        /// The limit.
        after: Duration,
    },
    /// The node panicked.
    #[error("panicked: {message}")]
    Panic {
        /// What it said.
        message: String,
    },
    /// The attempt was cut short and may not be repeated.
    #[error("cut short: the process stopped while the attempt was under way, and it may run at most once")]
    Interrupted,
    /// A collecting node has had its last arrival and still gives no output.
    #[error("still waits for more after its last arrival ({arrivals} in all)")]
    NothingCollected {
        /// How many arrivals it had.
        arrivals: u64,
    },
    /// Two nodes have replaced one key of the run's state at the same time: the later one would have undone the
    /// earlier one's write without having seen it. A key that merges, or an edge between the nodes, mends it.
    #[error(
        "state key `{key}` was replaced by `{first}` while `{second}` was about to replace it as well; give the key a \
         rule to merge by, or let one node follow the other"
    )]
    StateConflict {
        /// The key.
        key: Box<str>,
        /// The path of the node whose write stands.
        first: Box<str>,
        /// The path of the node whose write was refused.
        second: Box<str>,
    },
    /// What the node asked of the run was not there or did not fit.
    #[error("{message}")]
    Context {
        /// What, where, what to do.
        message: String,
    },
}

/// An error and what caused it, outermost first; what is left of a user's error when it is recorded.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Cause {
    /// The error's own text and those of its sources.
    pub chain: Vec<String>,
    /// The fault, where it was one.
    pub fault: Option<Fault>,
}

impl From<Fault> for Cause {
    fn from(fault: Fault) -> Self {
        Cause { chain: vec![fault.to_string()], fault: Some(fault) }
    }
}

impl std::fmt::Display for Cause {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.chain.join(": "))
    }
}

impl Cause {
    /// An error of its own words, for a [`Failure`] that is made by hand.
    pub fn new(text: impl Into<String>) -> Self {
        Cause { chain: vec![text.into()], fault: None }
    }
}

/// Why a run failed: which node, after how many attempts, and what it said last.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, thiserror::Error)]
#[error("node `{path}` failed after {attempts} attempt{}: {cause}", if *attempts == 1 { "" } else { "s" })]
#[non_exhaustive]
pub struct Failure {
    /// The node, as in `checkout/charge` or `checkout/draft#2`.
    pub path: String,
    /// How often it was tried.
    pub attempts: u32,
    /// The last error.
    pub cause: Cause,
}

impl Failure {
    /// The failure of a node after one attempt: what a closure gives that replaces a nested workflow in a test.
    pub fn new(path: impl Into<String>, cause: Cause) -> Self {
        Failure { path: path.into(), attempts: 1, cause }
    }

    /// Whether what failed was cut short and may not be repeated.
    pub(crate) fn is_interrupted(&self) -> bool {
        self.cause.fault == Some(Fault::Interrupted)
    }
}
