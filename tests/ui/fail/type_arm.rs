//! A node takes what the label carries.
#![allow(unused)]

use graphweft::prelude::*;

#[value]
struct Order;

#[value]
struct Problem;

#[node]
async fn check(order: Order) -> Result<Order, Problem> {
    unreachable!()
}

#[node]
async fn ship(order: Order) -> String {
    unreachable!()
}

#[node]
async fn refuse(why: Problem) -> String {
    unreachable!()
}

workflow! {
    shop(Order) -> String { START => check => <ok: ship, err: ship>; }
}

workflow! {
    sound(Order) -> String { START => check => <ok: ship, err: refuse>; }
}

fn main() {}
