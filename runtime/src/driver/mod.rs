//! The engine's hands: tasks, clock and randomness on tokio. Decides nothing; what happens next is the core's affair.

mod attempt;
mod carry;
mod catch;
mod run;
mod shared;
mod timers;

pub(crate) use catch::caught;
pub(crate) use run::{Ending, Job};
pub(crate) use shared::{Env, Log, Shared, Watch, new_run_id};

#[cfg(test)]
mod tests;
