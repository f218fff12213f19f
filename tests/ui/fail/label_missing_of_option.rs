//! Both labels of an `Option` are routed.
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
    shop(u64) -> String { START => find => <some: ship>; }
}

workflow! {
    sound(u64) -> String { START => find => <some: ship, _: refuse>; }
}

fn main() {}
