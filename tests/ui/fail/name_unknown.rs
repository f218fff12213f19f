//! A node that does not exist.
#![allow(unused)]

use graphweft::prelude::*;

#[value]
struct Order;

#[node]
async fn charge(order: Order) -> Order {
    unreachable!()
}

workflow! {
    shop(Order) -> String { START => charge => deliver_to_the_door; }
}

fn main() {}
