//! A node is named without generics.
#![allow(unused)]

use graphweft::prelude::*;

#[value]
struct Order;

#[node]
async fn price(order: Order) -> Order {
    unreachable!()
}

#[node]
async fn ship(order: Order) -> Order {
    unreachable!()
}

workflow! {
    shop(Order) -> Order { START => price::<Order> => ship; }
}

fn main() {}
