//! The inputs of a workflow have no names.
#![allow(unused)]

use graphweft::prelude::*;

#[value]
struct Order;

#[node]
async fn price(order: Order) -> Order {
    unreachable!()
}

workflow! {
    shop(order: Order) -> Order { START => price; }
}

fn main() {}
