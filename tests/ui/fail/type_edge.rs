//! A node takes what the node before it gives.
#![allow(unused)]

use graphweft::prelude::*;

#[value]
struct Order;

#[value]
struct Receipt;

#[node]
async fn charge(order: Order) -> Receipt {
    unreachable!()
}

#[node]
async fn ship(order: Order) -> String {
    unreachable!()
}

#[node]
async fn thank(receipt: Receipt) -> String {
    unreachable!()
}

workflow! {
    shop(Order) -> String { START => charge => ship; }
}

workflow! {
    sound(Order) -> String { START => charge => thank; }
}

fn main() {}
