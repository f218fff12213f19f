//! Each workflow has a `workflow!` of its own.
#![allow(unused)]

use graphweft::prelude::*;

#[value]
struct Order;

#[node]
async fn price(order: Order) -> Order {
    unreachable!()
}

workflow! {
    shop(Order) -> Order { START => price; }
    store(Order) -> Order { START => price; }
}

fn main() {}
