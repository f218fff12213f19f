//! The engine's hands: tasks, clock and randomness on tokio. Decides nothing; what happens next is the core's affair.

mod attempt;
mod carry;
mod catch;
mod desk;
mod fold;
mod given_up;
mod going_on;
mod journal;
#[cfg(test)]
mod observed;
mod pass_on;
mod recorded;
mod replay;
mod rest;
mod run;
mod shared;
mod spawned;
mod timers;
mod tree;

pub(crate) use attempt::Running;
pub(crate) use catch::caught;
pub(crate) use desk::{Item, Misfit, below};
pub(crate) use journal::{Journal, Progress};
#[cfg(test)]
pub(crate) use observed::{Observed, Observer};
pub(crate) use run::{Ending, Job, Part};
pub(crate) use shared::{Env, Moving, Shared, Within};

#[cfg(test)]
mod tests;
