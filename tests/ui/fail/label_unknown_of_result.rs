//! A label of a `Result` is `ok` or `err`.
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

#[node]
async fn refuse(why: String) -> String {
    unreachable!()
}

workflow! {
    shop(Order) -> String { START => check => <okk: ship, err: refuse>; }
}

workflow! {
    sound(Order) -> String { START => check => <ok: ship, err: refuse>; }
}

fn main() {}
