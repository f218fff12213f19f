//! A signature in the middle of typing, of a function with a lifetime.
#![allow(unused)]

use graphweft::prelude::*;

#[node]
async fn weigh<'a>(text: ) -> u32 {
    1
}

workflow! {
    shop(String) -> u32 { START => weigh; }
}

fn main() {}
