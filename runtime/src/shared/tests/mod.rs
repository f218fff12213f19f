//! On a store of their own.

mod desk;
mod journal;
mod progress;
mod signals;
