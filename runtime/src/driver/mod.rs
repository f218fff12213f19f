//! Runs a core on tokio: tasks, timers, randomness. Makes no scheduling decisions.

mod attempt;
mod catch;
mod closing;
mod desk;
mod effects;
mod event_codec;
mod fast_path;
mod journal;
mod lazy_value;
#[cfg(test)]
mod observed;
mod rest;
mod resume;
mod run;
mod shared;
mod spawned;
mod timers;
mod tree;

pub(crate) use attempt::Running;
pub(crate) use catch::caught;
pub(crate) use desk::{Desk, Fits, Item, Misfit, below};
pub(crate) use event_codec::{NoValues, Replay, Taken, derived_record, empty};
pub(crate) use journal::{Journal, Progress};
#[cfg(test)]
pub(crate) use observed::{Observed, Observer};
pub(crate) use run::{Ending, Job, Part};
pub(crate) use shared::{Env, Moving, Shared, WaitingAttempts, Within};

#[cfg(test)]
mod tests;
