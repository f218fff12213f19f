//! A node is named without `&`.
#![allow(unused)]

use graphweft::prelude::*;

#[value]
struct Order;

#[node]
async fn check(order: Order) -> Order {
    unreachable!()
}

#[node]
async fn ship(order: Order) -> Order {
    unreachable!()
}

workflow! {
    shop(Order) -> Order { START => &check => ship; }
}

fn main() {}
