//! A workflow is called with its input.
#![allow(unused)]

use graphweft::prelude::*;

#[value]
struct Order;

#[node]
async fn charge(order: Order) -> Order {
    unreachable!()
}

workflow! {
    shop(Order) -> Order { START => charge; }
}

async fn sound(order: Order) -> Result<Order, graphweft::RunError> {
    shop(order).await
}

async fn wrong() -> Result<Order, graphweft::RunError> {
    shop("an order").await
}

fn main() {}
