//! A node with two inputs takes a pair.
#![allow(unused)]

use graphweft::prelude::*;

#[value]
struct Order;

#[node]
async fn charge(order: Order) -> u64 {
    unreachable!()
}

#[node]
async fn ship(order: Order, charged: u64) -> String {
    unreachable!()
}

workflow! {
    shop(Order) -> String { START => charge => ship; }
}

workflow! {
    sound(Order) -> String {
        START => charge;
        (START, charge) => ship;
    }
}

fn main() {}
