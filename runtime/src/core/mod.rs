//! The scheduling core: the state of a run as the fold of its events.
//!
//! A [`Run`] executes tagged-token dataflow with dead-path elimination over proven graphs. It has no clock, no randomness,
//! no I/O and holds no future, and asks nothing of the values that it passes along.
//!
//! ```text
//!   report ──> decide ──> event ──> apply ──> wanted (what a driver has to see to)
//!                           │         ^  └──> admit ──> event ..
//!                           v         │
//!                        journal ─────┘ at resume
//! ```
//!
//! [`Run::apply`] is the only function that changes the state, live and at resume. What it comes to is read off the state:
//! [`Run::admit`] says what may begin, [`Run::wanted`] what has to be under way for a task.
//!
//! A run is a tree of *scopes*; each executes one graph: the workflow itself, a nested workflow, one item of `[..]`. A
//! scope has *frames*: one for what stands outside loops, and one for each turn of a loop that is under way. Tokens
//! meet in frames, which is how the turns of a loop never mix.

mod admission;
mod apply;
mod attempts;
mod dataflow;
mod decide;
mod event;
mod fold_writes;
mod frame;
mod idle_items;
mod impossible;
mod items;
mod path;
mod program;
mod run;
mod run_state;
mod scope;
#[cfg(test)]
mod snapshot;
mod state_map;
mod task;
mod task_id;
mod token;
mod values;
mod write_log;

#[cfg(test)]
mod tests;

pub(crate) use apply::Walk;
pub(crate) use attempts::{
    AttemptEvent, AttemptState, Attempts, Cut, Outcome, Process, Resumable, Resumption, Verdict, after, is_retryable,
};
pub(crate) use event::{Admission, Chance, Conclusion, Derived, Entered, Event, Report, RunEnd, Then};
pub(crate) use fold_writes::fold_into;
pub(crate) use impossible::{Applied, Impossible};
pub(crate) use items::{ItemPace, TimeLimit};
pub(crate) use path::{Place, escaped, unescaped};
pub use program::ScopeKind;
pub(crate) use program::{Layout, NodeKind, NodeSpec, Program};
pub(crate) use run::Run;
pub(crate) use state_map::{WriteSet, Writes};
pub(crate) use task::Wanted;
pub(crate) use task_id::{StopReason, TaskId};
pub(crate) use token::{Arrived, Emitted, Tokens};
