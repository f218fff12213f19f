//! `_` stands alone in its arm.
#![allow(unused)]

use graphweft::prelude::*;

#[value]
struct Order;

#[node]
async fn count(order: Order) -> u32 {
    unreachable!()
}

#[node]
async fn one(count: u32) -> Order {
    unreachable!()
}

#[node]
async fn many(count: u32) -> Order {
    unreachable!()
}

workflow! {
    shop(Order) -> Order { START => count => <0: one, 1 | _: many>; }
}

workflow! {
    sound(Order) -> Order { START => count => <0 | 1: one, _: many>; }
}

fn main() {}
