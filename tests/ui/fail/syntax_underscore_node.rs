//! `_` is no node.
#![allow(unused)]

use graphweft::prelude::*;

#[value]
struct Order;

#[node]
async fn price(order: Order) -> Order {
    unreachable!()
}

workflow! {
    shop(Order) -> Order { START => price => _; }
}

fn main() {}
