//! What the fuzz targets of `fuzz/` check, as functions of bytes that panic where something does not hold. They stand
//! here, in the workspace, so that the test of this package can play every input that was ever kept, on stable Rust and
//! without libFuzzer.
#![forbid(unsafe_code)]

mod drawn;
mod flows;
mod graphs;
mod json;
mod ledger;
mod logs;
mod parse;
mod programs;
mod resume;
mod shapes;
mod values;

pub use graphs::{graphs, real_graphs};
pub use json::json;
pub use logs::real_runs;
pub use parse::parse;
pub use resume::resume;
pub use values::values;

/// A fuzz target: its name, which is that of its corpus, and what it checks.
pub type Target = (&'static str, fn(&[u8]));

/// All of them.
pub const TARGETS: [Target; 5] =
    [("parse", parse), ("graphs", graphs), ("resume", resume), ("json", json), ("values", values)];
