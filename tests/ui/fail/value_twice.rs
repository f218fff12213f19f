//! `#[value]` is written once.
#![allow(unused)]

use graphweft::prelude::*;

#[value]
#[value]
struct Order;

#[node]
async fn charge(order: Order) -> Order {
    order
}

fn main() {}
