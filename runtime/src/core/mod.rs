//! The scheduling core: the state of a run as the fold of its events.
//!
//! A [`Run`] executes tagged-token dataflow with dead-path elimination over proven graphs. It has no clock, no
//! randomness, no I/O and holds no future, and never inspects the values that it passes along.
//!
//! ```text
//!   report ──> decide ──> event ──> apply ──> wanted (effects for the driver)
//!                           │         ^  └──> admit ──> event ..
//!                           v         │
//!                        journal ─────┘ at resume
//! ```
//!
//! [`Run::apply`] defines every change of the state, live and at resume. `apply/in_place.rs` and `apply/lent.rs` make
//! some of the same changes in fewer steps, and tests compare the two. Values are taken out of the state, or decoded in
//! it, without an event: `take_*`, `lend_*` and `replace_values`. The consequences of a change are read from the state:
//! [`Run::admit`] returns an attempt or item that may begin, [`Run::wanted`] the work that has to be under way for a
//! task.
//!
//! A run is a tree of *scopes*; each executes one graph: the workflow itself, a nested workflow, one item of `[..]`. A
//! scope has *frames*: one for the part outside loops, and one for each turn of a loop that is under way. Tokens meet
//! in frames, so the turns of a loop never mix. A node that has fired is a *task* of its scope until it is done; a task
//! with graphs inside holds their scopes as its *items*.
//!
//! # Where to read on
//!
//! | question | file |
//! | --- | --- |
//! | which events there are, and what a driver reports | `event.rs` |
//! | what a report becomes | `decide.rs` |
//! | the states of a task, and which events each allows | `task.rs`, `is_allowed` in `apply/mod.rs` |
//! | retries, delays, `at_most_once`, interruptions | `attempts.rs`; `has_cut` in `scope.rs` for graphs inside |
//! | what follows from an event: attempts, items, scopes, places | `apply/` |
//! | how tokens fire, skip and join | `dataflow/` |
//! | limits | `admission.rs`, `apply/places.rs`, `places_in` in `run_state.rs` |
//!
//! # How a failed item inside a retried nested workflow is cancelled
//!
//! A nested workflow `n` with two attempts holds a `[..]` node `e`; the node `x` of item 1 of `e` fails for good, while
//! items 0 and 2 are under way.
//!
//! ```text
//!   scope of the run ── task n ── scope of n ── task e ── scopes of items 0, 1, 2 ── its tasks
//! ```
//!
//! 1. `Failed { x, Fails }` ends the task of `x` and fails the scope of item 1 (`fail_scope`): its other tasks are
//!    stopped, those that wait at once, those that run when their driver reports `Stopped`. The last one to end ends
//!    the scope.
//! 2. `item_failed` (`apply/items.rs`) notes the failure in the items of e, drops those that have not begun, and
//!    cancels the scopes behind it, here item 2, in the same way. Item 0 continues, since it may fail too and the
//!    lowest index is reported; if it only waits, [`Run::waiting_item`] finds it, and the report of the driver cancels
//!    it (`ItemCancelled`).
//! 3. When no item is open, `wanted` of e is `Conclude`. The driver reports the failure, and `Failed { e, Fails }`
//!    fails the scope of n as step 1 did that of the item.
//! 4. That is the one item of n, so n concludes with the failure. `core/attempts.rs` decides that another attempt
//!    follows, unless an attempt inside that may be made at most once was cut short, also by the stop in step 2:
//!    `has_cut` goes up with the scopes, and then no other attempt follows. `Failed { n, RetryAt }`
//!    (`core/apply/attempts.rs`) drops the items of n, whose scopes are all over, and its task is in `Backoff`.
//! 5. `TimerFired` queues n, and its second attempt enters the graph anew, in new scopes. Nothing of the first is left.

mod admission;
mod apply;
mod attempts;
mod dataflow;
mod decide;
mod event;
mod fold_writes;
mod frame;
mod freeze;
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
mod waiting_items;
mod write_log;

#[cfg(test)]
mod tests;

pub(crate) use apply::{Lent, LentNodes, LentOf, Walk};
pub(crate) use attempts::{
    AttemptEvent, AttemptState, Attempts, Outcome, Process, Resumable, Resumption, Verdict, after, is_retryable,
};
pub(crate) use event::{Admission, Chance, Conclusion, Derived, Entered, Event, NextRun, Report, RunEnd, Then};
pub(crate) use fold_writes::{Totals, fold_into, fold_within};
pub(crate) use freeze::{freeze, pairs, shared, thaw};
pub(crate) use impossible::{Applied, Impossible};
pub(crate) use items::{ItemPace, TimeLimit};
pub(crate) use path::{Place, Stand, escaped, unescaped};
pub use program::ScopeKind;
pub(crate) use program::{Layout, NodeKind, NodeSpec, Program};
pub(crate) use run::{Run, ThawedRun};
pub(crate) use state_map::{WriteSet, Writes};
pub(crate) use task::Wanted;
pub(crate) use task_id::{StopReason, TaskId};
pub(crate) use token::{Arrived, Emitted, Tokens};
