//! The library behind graphweft's macros: `parse -> lower -> check -> emit`, each a module and a plain function.
#![forbid(unsafe_code)]

extern crate proc_macro;

mod ast;
mod check;
mod derive_route;
pub mod diagnostics;
mod editor;
mod emit;
mod expand;
pub mod ir;
mod lower;
pub mod names;
pub mod node_fn;
pub mod options;
mod parse;
mod read;
mod value;

pub use derive_route::derive_route;
pub use editor::{node_view, workflow_view};
pub use emit::options::retry_policy;
pub use expand::expand_workflow;
pub use node_fn::node;
pub use read::workflow;
pub use value::value;
