//! A statement leads somewhere.
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
        START => fetch;
        fetch;
    }
}

fn main() {}
