//! Options are given by a `let`.
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
    shop(Order) -> Order { START => price(timeout = "5s") => ship; }
}

workflow! {
    sound(Order) -> Order {
        let price = price(timeout = "5s");
        START => price => ship;
    }
}

fn main() {}
