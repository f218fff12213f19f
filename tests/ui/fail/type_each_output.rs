//! `[..]` gives a `Vec`.
#![allow(unused)]

use graphweft::prelude::*;

#[value]
struct Order;

#[node]
async fn lines(order: Order) -> Vec<u64> {
    unreachable!()
}

#[node]
async fn round(price: u64) -> u64 {
    unreachable!()
}

#[node]
async fn thank(total: u64) -> String {
    unreachable!()
}

#[node]
async fn sum(prices: Vec<u64>) -> u64 {
    unreachable!()
}

workflow! {
    shop(Order) -> String { START => lines => [round] => thank; }
}

workflow! {
    sound(Order) -> String { START => lines => [round] => sum => thank; }
}

fn main() {}
