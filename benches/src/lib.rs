//! What graphweft costs, beside the same written by hand and beside other libraries, on the same work in the same run.
#![forbid(unsafe_code)]

pub mod by_hand;
pub mod compile;
pub mod durable;
pub mod flows;
pub mod in_memory;
pub mod measure;
pub mod peers;
pub mod raw;
pub mod report;
pub mod resume;
#[cfg(feature = "program")]
pub mod scale;
