#![doc = include_str!("../../docs/testing.md")]

mod alarm;
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
mod world;

pub use context::TestContext;
pub use crashes::Crashes;
pub use lab::Lab;
pub use lab_run::{Calls, LabRun};
pub use repeatable::Nodes;
pub use script::{Plan, Script, fails, fails_with, hangs, panics, sequence, waits};
