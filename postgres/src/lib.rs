#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

mod apart;
mod batch;
mod builder;
mod checked;
mod claim;
mod conditions;
mod connections;
mod delete;
mod feed;
mod leases;
mod logs;
mod numbers;
mod overview;
mod owners;
mod pool;
mod questions;
mod row;
mod runs;
mod schema;
mod snapshots;
mod statements;
mod store;
mod together;
mod transaction;
mod trouble;

pub use builder::PostgresStoreBuilder;
pub use pool::{PostgresExecutor, PostgresWorker, PostgresWorkerBuilder};
pub use store::PostgresStore;
pub use tokio_postgres;
pub use transaction::{PostgresContext, PostgresStart, Transaction};
