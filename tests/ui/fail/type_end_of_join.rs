//! What a group leads to END is what the workflow gives.
#![allow(unused)]

use graphweft::prelude::*;

#[value]
struct Order;

#[node]
async fn charge(order: Order) -> u64 {
    unreachable!()
}

#[node]
async fn ship(order: Order) -> String {
    unreachable!()
}

workflow! {
    shop(Order) -> String { START => (charge, ship) => END; }
}

workflow! {
    sound(Order) -> (u64, String) { START => (charge, ship) => END; }
}

fn main() {}
