//! `|` stands between nodes.
#![allow(unused)]

use graphweft::prelude::*;

#[value]
struct Order;

#[node]
async fn ask(order: Order) -> Order {
    unreachable!()
}

#[node]
async fn wait(order: Order) -> Order {
    unreachable!()
}

#[node(collect)]
async fn first(order: Order) -> Option<Order> {
    unreachable!()
}

workflow! {
    shop(Order) -> Order {
        START => (ask, wait);
        (ask, wait) | ask => first;
    }
}

fn main() {}
