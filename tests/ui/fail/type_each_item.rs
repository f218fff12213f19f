//! `[..]` takes an item.
#![allow(unused)]

use graphweft::prelude::*;

#[value]
struct Order;

#[node]
async fn lines(order: Order) -> Vec<String> {
    unreachable!()
}

#[node]
async fn round(price: u64) -> u64 {
    unreachable!()
}

workflow! {
    shop(Order) -> Vec<u64> { START => lines => [round]; }
}

fn main() {}
