//! Attributes belong to a workflow with a name.
#![allow(unused)]

use graphweft::prelude::*;

#[value]
struct Order;

#[node]
async fn price(order: Order) -> Order {
    unreachable!()
}

fn main() {
    let _ = workflow! {
        /// Prices an order.
        START => price
    };
}
