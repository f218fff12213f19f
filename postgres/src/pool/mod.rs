//! Attempts at nodes of pools, as rows of a table.

mod executor;
mod listener;
mod refused;
mod tasks;
mod worker;

pub use executor::PostgresExecutor;
pub use worker::{PostgresWorker, PostgresWorkerBuilder};
