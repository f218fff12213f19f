#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]
#![cfg_attr(docsrs, feature(doc_cfg))]

mod admin;
mod calls;
mod client;
mod drive;
mod error;
mod handlers;
mod http_client;
mod identity;
mod invocation;
mod journal;
mod manifest;
mod message;
mod object;
mod pool;
mod run_store;
mod store;
mod work;
mod worker;

pub use admin::{Admin, ListRuns};
pub use client::{Client, RunHandle, RunProgress};
pub use error::{ClientError, WorkerError};
pub use store::RestateStore;
pub use worker::{Worker, WorkerBuilder};
