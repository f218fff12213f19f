//! At least one item runs at a time.
#![allow(unused)]

use graphweft::prelude::*;

#[node(max_parallel = 0)]
async fn ship(order: String) -> String {
    order
}

fn main() {}
