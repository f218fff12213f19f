//! A workflow is a node, with the types of its signature.
#![allow(unused)]

use graphweft::prelude::*;

#[value]
struct Order;

#[node]
async fn price(order: Order) -> u64 {
    unreachable!()
}

#[node]
async fn thank(price: String) -> String {
    unreachable!()
}

#[node]
async fn say(price: u64) -> String {
    unreachable!()
}

workflow! {
    pricing(Order) -> u64 { START => price; }
}

workflow! {
    shop(Order) -> String { START => pricing => thank; }
}

workflow! {
    sound(Order) -> String { START => pricing => say; }
}

fn main() {}
