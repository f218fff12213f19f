//! Shapes are joined by `=>`.
#![allow(unused)]

use graphweft::prelude::*;

#[value]
struct Order;

#[node]
async fn price(order: Order) -> Order {
    unreachable!()
}

#[node]
async fn pack(order: Order) -> Order {
    unreachable!()
}

#[node]
async fn bill(order: Order) -> Order {
    unreachable!()
}

#[node]
async fn ship(packed: Order, billed: Order) -> Order {
    unreachable!()
}

workflow! {
    shop(Order) -> Order { START => price (pack, bill) => ship; }
}

fn main() {}
