//! A `let` stands for a node.
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
        let mirror;
        START => fetch => mirror;
    }
}

fn main() {}
