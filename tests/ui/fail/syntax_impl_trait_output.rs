//! A workflow gives a type with a name.
#![allow(unused)]

use graphweft::prelude::*;

#[value]
struct Order;

#[node]
async fn price(order: Order) -> Order {
    unreachable!()
}

workflow! {
    shop(Order) -> impl Clone { START => price; }
}

fn main() {}
