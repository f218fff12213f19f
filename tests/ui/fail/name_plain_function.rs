//! A node is a function that is marked.
#![allow(unused)]

use graphweft::prelude::*;

#[value]
struct Order;

async fn charge(order: Order) -> Order {
    order
}
#[node]
async fn ship(order: Order) -> String {
    unreachable!()
}

workflow! {
    shop(Order) -> String { START => charge => ship; }
}

workflow! {
    sound(Order) -> String { START => ship; }
}

fn main() {}
