//! Runs a core on tokio: tasks, timers, randomness. Makes no scheduling decisions.

mod attempt;
mod batch;
mod catch;
mod effects;
mod ends;
mod event_codec;
mod in_place;
mod inputs;
mod lanes;
mod lazy_value;
mod lent_nodes;
#[cfg(test)]
mod observed;
mod rest;
mod resume;
mod run;
mod spawned;
mod timers;

pub(crate) use attempt::Running;
pub(crate) use catch::caught;
pub(crate) use event_codec::{NoValues, Replay, Taken, derived_record, empty};
#[cfg(test)]
pub(crate) use observed::{Observed, Observer};
pub(crate) use run::{Ending, Job, Part, Prepared};

#[cfg(test)]
mod tests;
