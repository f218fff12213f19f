//! The output is not converted.
#![allow(unused)]

use graphweft::prelude::*;

#[node]
async fn half(number: u32) -> u32 {
    unreachable!()
}

workflow! {
    halve(u32) -> u64 { START => half; }
}

fn main() {}
