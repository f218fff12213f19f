//! A workflow with a visibility has a name.
#![allow(unused)]

use graphweft::prelude::*;

#[value]
struct Order;

#[node]
async fn price(order: Order) -> Order {
    unreachable!()
}

workflow! {
    pub (Order) -> Order { START => price; }
}

fn main() {}
