//! Behind `->` stands a type.
#![allow(unused)]

use graphweft::prelude::*;

#[value]
struct Order;

#[node]
async fn price(order: Order) -> Order {
    unreachable!()
}

workflow! {
    shop(Order) -> { START => price; }
}

fn main() {}
