//! A node that does not exist, inside `[..]`.
#![allow(unused)]

use graphweft::prelude::*;

#[value]
struct Order;

#[node]
async fn lines(order: Order) -> Vec<String> {
    unreachable!()
}

#[node]
async fn total(prices: Vec<u64>) -> u64 {
    unreachable!()
}

workflow! {
    shop(Order) -> u64 { START => lines => [look_up] => total; }
}

fn main() {}
