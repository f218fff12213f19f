//! `_` beside `ok` carries the whole `Result`.
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

#[node]
async fn sort_out(checked: Result<Order, String>) -> String {
    unreachable!()
}

workflow! {
    shop(Order) -> String { START => check => <ok: ship, _: refuse>; }
}

workflow! {
    sound(Order) -> String { START => check => <ok: ship, _: sort_out>; }
}

fn main() {}
