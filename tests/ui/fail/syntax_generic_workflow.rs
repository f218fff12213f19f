//! A workflow has no generics.
#![allow(unused)]

use graphweft::prelude::*;

#[value]
struct Order;

#[node]
async fn price(order: Order) -> Order {
    unreachable!()
}

workflow! {
    shop<T>(Order) -> Order { START => price; }
}

fn main() {}
