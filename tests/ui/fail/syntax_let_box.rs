//! A node needs no box.
#![allow(unused)]

use graphweft::prelude::*;

#[node]
async fn charge(cents: u32) -> u32 {
    cents
}

workflow! {
    shop(u32) -> u32 {
        let first = Box::new(charge);
        let second = std::sync::Arc::new(charge {});
        START => first => second;
    }
}

fn main() {}
