//! `[..]` holds what runs for every item.
#![allow(unused)]

use graphweft::prelude::*;

#[value]
struct Order;

#[node]
async fn lines(order: Order) -> Vec<String> {
    unreachable!()
}

#[node]
async fn total(lines: Vec<String>) -> u64 {
    unreachable!()
}

workflow! {
    shop(Order) -> u64 { START => lines => [] => total; }
}

fn main() {}
