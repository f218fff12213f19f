//! Every wrong option is told at once.
#![allow(unused)]

use graphweft::prelude::*;

#[node(timout = "10s", max_parallel = 0, retry(jitter = "much"))]
async fn ship(order: String) -> String {
    order
}

fn main() {}
