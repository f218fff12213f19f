//! The engine's mind: a pure state machine, events in, commands out.
//!
//! A [`Core`] executes tagged-token dataflow with dead-path elimination (DESIGN.md 3.1) over proven graphs. It has no
//! clock, no randomness, no I/O and holds no future, and asks nothing of the values that it passes along: a driver
//! carries its commands out and reports what came of them. Whatever a driver must decide, and a later replay must
//! decide in the same way, reaches the core in an event.
//!
//! A run is a tree of *scopes*; each executes one graph: the workflow itself, a nested workflow, one item of `[..]`. A
//! scope has *frames*: one for what stands outside loops, and one for each turn of a loop that is under way. Tokens
//! meet in frames, which is how the turns of a loop never mix.

mod attempt;
mod collect;
mod flow;
mod frame;
mod group;
mod layout;
mod limits;
mod machine;
mod message;
mod pass_on;
mod path;
mod replay;
mod scope;
#[cfg(test)]
mod snapshot;
mod state;
mod task;
mod token;

#[cfg(test)]
mod tests;

pub(crate) use attempt::is_retryable;
pub(crate) use layout::{Layout, NodeKind, NodeSpec, Program};
pub(crate) use machine::Core;
pub(crate) use message::{Command, Ended, Event, Note, Routable, RunEnd, Sees, TimerId};
pub(crate) use path::{Place, ScopePath, Turns};
pub use state::{Op, Write};
pub(crate) use state::{WriteSet, Writes, fold_into};
pub(crate) use task::TaskId;
pub use token::{Arrived, Emitted, Tokens};
