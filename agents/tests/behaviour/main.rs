//! Agents as users write them, held against what the crate promises.

mod attribute;
mod classify;
mod composition;
mod constrained;
mod killed;
mod loops;
mod models;
mod output;
mod people;
mod scene;
