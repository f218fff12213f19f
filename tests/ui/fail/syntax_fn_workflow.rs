//! A workflow is written without `fn`.
#![allow(unused)]

use graphweft::prelude::*;

#[value]
struct Order;

#[node]
async fn price(order: Order) -> Order {
    unreachable!()
}

workflow! {
    pub async fn shop(Order) -> Order { START => price; }
}

fn main() {}
