//! Inside of `[..]` a struct that is no node is one error too.
#![allow(unused)]

use graphweft::prelude::*;

struct Coupon {
    percent: u8,
}

#[node]
async fn split(price: u64) -> Vec<u64> {
    vec![price]
}

#[node]
async fn charge(price: u64) -> u64 {
    price
}

#[node]
async fn total(prices: Vec<u64>) -> u64 {
    prices.iter().sum()
}

workflow! {
    shop(u64) -> u64 { START => split => [charge => Coupon] => total; }
}

workflow! {
    sound(u64) -> u64 { START => split => [charge] => total; }
}

fn main() {}
