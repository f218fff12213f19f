//! A second name has the types of its node.
#![allow(unused)]

use graphweft::prelude::*;

#[value]
struct Order;

#[node]
async fn price(order: Order) -> u64 {
    unreachable!()
}

#[node]
async fn say(price: u64) -> String {
    unreachable!()
}

workflow! {
    shop(Order) -> String {
        let again = price();
        START => price => again => say;
    }
}

fn main() {}
