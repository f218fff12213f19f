//! Workflows for tests, made of a line of text and closures.

mod exits;
mod flow;
mod net;

pub(crate) use flow::{Made, Panics, Step, made, made_of};
pub(crate) use net::{Net, net, try_net};
