//! Labels stand in `<..>`.
#![allow(unused)]

use graphweft::prelude::*;

#[value]
struct Order;

#[node]
async fn check(order: Order) -> Result<Order, String> {
    unreachable!()
}

#[node]
async fn ship(order: Order) -> Order {
    unreachable!()
}

#[node]
async fn refuse(why: String) -> Order {
    unreachable!()
}

workflow! {
    shop(Order) -> Order { START => check => [ok: ship, err: refuse]; }
}

fn main() {}
