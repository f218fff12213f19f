//! What leads to END is what the workflow gives.
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

workflow! {
    shop(Order) -> String { START => charge => END; }
}

fn main() {}
