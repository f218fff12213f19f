//! What belongs to the node itself is not set by a `let`.
#![allow(unused)]

use graphweft::prelude::*;

#[value]
struct Order;

#[node]
async fn fetch(order: Order) -> Order {
    unreachable!()
}

workflow! {
    shop(Order) -> Order {
        let mirror = fetch(blocking, timeout = "5s");
        START => mirror;
    }
}

fn main() {}
