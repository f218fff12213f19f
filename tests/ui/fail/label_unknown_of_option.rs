//! A label of an `Option` is `some` or `none`.
#![allow(unused)]

use graphweft::prelude::*;

#[value]
struct Order;

#[node]
async fn find(id: u64) -> Option<Order> {
    unreachable!()
}

#[node]
async fn ship(order: Order) -> String {
    unreachable!()
}

#[node]
async fn refuse() -> String {
    unreachable!()
}

workflow! {
    shop(u64) -> String { START => find => <some: ship, non: refuse>; }
}

workflow! {
    sound(u64) -> String { START => find => <some: ship, none: refuse>; }
}

fn main() {}
