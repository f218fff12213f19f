//! Workflows as tools, over a pair of streams. The tests with the official client are in `mcp/`.
#![cfg(feature = "mcp")]

mod calls;
mod client;
mod flows;
mod lines;
mod questions;
