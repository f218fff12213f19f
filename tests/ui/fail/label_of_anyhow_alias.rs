//! The labels of an alias of `Result` are those of the `Result`.
#![allow(unused)]

use graphweft::prelude::*;

type Checked<T> = Result<T, String>;

#[value]
struct Order;

#[node]
async fn check(order: Order) -> Checked<Order> {
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
    shop(Order) -> String { START => check => <ok: ship>; }
}

workflow! {
    sound(Order) -> String { START => check => <ok: ship, err: refuse>; }
}

fn main() {}
