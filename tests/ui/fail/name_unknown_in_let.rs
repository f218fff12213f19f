//! A `let` of a node that does not exist.
#![allow(unused)]

use graphweft::prelude::*;

#[value]
struct Order;

#[node]
async fn charge(order: Order) -> Order {
    unreachable!()
}

workflow! {
    shop(Order) -> Order {
        let again = chrage(timeout = "5s");
        START => charge => again;
    }
}

fn main() {}
