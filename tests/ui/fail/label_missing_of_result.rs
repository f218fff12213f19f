//! Both labels of a `Result` are routed.
#![allow(unused)]

use graphweft::prelude::*;

#[value]
struct Order;

#[node]
async fn check(order: Order) -> Result<Order, String> {
    unreachable!()
}

#[node]
async fn ship(order: Order) -> String {
    unreachable!()
}

workflow! {
    shop(Order) -> String { START => check => <ok: ship>; }
}

workflow! {
    sound(Order) -> String { START => check => ship; }
}

fn main() {}
