//! A function whose signature does not parse, as in the middle of typing, is still a node.
#![allow(unused)]

use graphweft::prelude::*;

#[node]
async fn weigh(text: ) -> u32 {
    unreachable!()
}

#[node]
async fn print(weight: u32) -> String {
    unreachable!()
}

workflow! {
    shop(String) -> String { START => weigh => print; }
}

fn main() {}
