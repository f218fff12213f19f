//! graphweft

mod compile;
mod context;
mod core;
mod driver;
mod engine;
mod event;
mod fault;
mod node;
mod options;
pub mod state;
#[doc(hidden)]
pub mod table;
mod workflow;

pub use context::Context;
pub use engine::{
    BuildError, Engine, EngineBuilder, Events, MissingResource, MissingResources, Outcome, Run, RunError, Start,
    StartError,
};
pub use event::{Event, EventKind};
pub use fault::{Cause, Failure, Fault, Never};
pub use node::{Collecting, Node, Value};
pub use options::{NodeOptions, RetryPolicy};
pub use state::StateKey;
pub use workflow::{Flow, Workflow};
