//! `|` is only allowed at the beginning of a statement.
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
    shop(Order) -> Order { START => ask | wait => first; }
}

workflow! {
    sound(Order) -> Order {
        START => (ask, wait);
        ask | wait => first;
    }
}

fn main() {}
