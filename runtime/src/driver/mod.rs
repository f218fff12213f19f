//! Runs a core on tokio: tasks, timers, randomness. Makes no scheduling decisions.

mod attempt;
mod batch;
mod effects;
mod ending;
mod ends;
mod event_codec;
mod fold;
mod in_place;
mod inputs;
mod job;
mod labels;
mod lanes;
mod lazy_value;
mod lent_nodes;
mod node_input;
#[cfg(test)]
mod observed;
mod occurrences;
mod rest;
mod resume;
mod run;
mod run_snapshot;
mod shadow;
mod spawned;
mod stored_program;
mod timers;
mod traced;

pub(crate) use attempt::Running;
pub(crate) use ending::Ending;
pub(crate) use event_codec::{NoValues, Replay, Taken, derived_record, empty};
pub(crate) use job::{Job, Part, Prepared};
#[cfg(test)]
pub(crate) use node_input::FOLDED;
pub(crate) use node_input::InputFold;
#[cfg(test)]
pub(crate) use observed::{Observed, Observer};
pub(crate) use run_snapshot::{RunSnapshot, SnapshotHead, print_of};
pub(crate) use shadow::Shadow;
pub(crate) use stored_program::StoredProgram;

/// How many runs were resumed from a snapshot.
#[cfg(test)]
pub(crate) static THAWED: std::sync::atomic::AtomicUsize = std::sync::atomic::AtomicUsize::new(0);

#[cfg(test)]
mod tests;
