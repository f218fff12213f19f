//! rustc offers END for `end`, which may be a node.
#![allow(unused)]

use graphweft::prelude::*;

#[node]
async fn charge(cents: u32) -> u32 {
    cents
}

workflow! {
    shop(u32) -> u32 { START => charge => end; }
}

fn main() {}
