//! A second name for a node is written with parentheses.
#![allow(unused)]

use graphweft::prelude::*;

#[value]
struct Order;

#[node]
async fn fetch(order: Order) -> Order {
    unreachable!()
}

#[node]
async fn compare(one: Order, other: Order) -> Order {
    unreachable!()
}

workflow! {
    shop(Order) -> Order {
        let mirror = fetch;
        START => (fetch, mirror) => compare;
    }
}

workflow! {
    sound(Order) -> Order {
        let mirror = fetch();
        START => (fetch, mirror) => compare;
    }
}

fn main() {}
