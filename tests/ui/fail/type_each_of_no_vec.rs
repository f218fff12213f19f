//! `[..]` stands behind a `Vec`.
#![allow(unused)]

use graphweft::prelude::*;

#[value]
struct Order;

#[node]
async fn total(order: Order) -> u64 {
    unreachable!()
}

#[node]
async fn lines(order: Order) -> Vec<u64> {
    unreachable!()
}

#[node]
async fn round(price: u64) -> u64 {
    unreachable!()
}

workflow! {
    shop(Order) -> Vec<u64> { START => total => [round]; }
}

workflow! {
    sound(Order) -> Vec<u64> { START => lines => [round]; }
}

fn main() {}
