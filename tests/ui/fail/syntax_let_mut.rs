//! A node is not changed.
#![allow(unused)]

use graphweft::prelude::*;

#[value]
struct Order;

#[node]
async fn fetch(order: Order) -> Order {
    unreachable!()
}

workflow! {
    shop(Order) -> Order {
        let mut mirror = fetch();
        START => mirror;
    }
}

fn main() {}
