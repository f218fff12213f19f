//! A node that does not exist is told where it stands, and spoils no other check.
#![allow(unused)]

use graphweft::prelude::*;

#[value]
struct Order;

#[node]
async fn charge(order: Order) -> Order {
    unreachable!()
}

#[node]
async fn ship(order: Order) -> String {
    unreachable!()
}

#[node]
async fn bill(order: Order) -> String {
    unreachable!()
}

#[node]
async fn thank(shipped: String, billed: String) -> String {
    unreachable!()
}

workflow! {
    shop(Order) -> String {
        START => charge => (shipp, bill) => thank;
    }
}

fn main() {}
