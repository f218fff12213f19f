//! The first node takes the workflow's input.
#![allow(unused)]

use graphweft::prelude::*;

#[value]
struct Order;

#[value]
struct Receipt;

#[node]
async fn thank(receipt: Receipt) -> String {
    unreachable!()
}

#[node]
async fn ship(order: Order) -> String {
    unreachable!()
}

workflow! {
    shop(Order) -> String { START => thank; }
}

workflow! {
    sound(Order) -> String { START => ship; }
}

fn main() {}
