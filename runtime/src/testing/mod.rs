//! Tests of workflows: a [`Lab`] with mocks, answers, crashes and upgrades, and a [`TestContext`] for a single node.
//!
//! It needs the feature `test-util`. The [page of the guide](crate::guide::testing) leads through it.

mod alarm;
mod allowed;
mod arms;
mod compare;
mod context;
mod crash_store;
mod crashes;
mod giving;
mod lab;
mod lab_run;
mod outside;
mod parts;
mod places;
mod process;
mod repeatable;
mod run;
mod script;
mod steps;
mod upgrades;
mod world;

pub use context::TestContext;
pub use crashes::Crashes;
pub use lab::Lab;
pub use lab_run::{Calls, LabRun};
pub use repeatable::Nodes;
pub use script::{Plan, Script, fails, fails_with, hangs, panics, sequence, waits};
pub use upgrades::Upgrade;
