//! Nodes of pools: what they get in the place of a context, and how their attempts are executed elsewhere.

mod away;
mod context;

pub(crate) use away::{executor_of, send_away, take_result};
pub use context::PoolContext;
pub(crate) use context::{Outlet, Reports};
