//! A label is the variant's name alone.
#![allow(unused)]

use graphweft::prelude::*;

#[value]
struct Order;

#[value]
#[derive(Route)]
enum Verdict {
    Accept(Order),
    Refuse,
}

#[node]
async fn check(order: Order) -> Verdict {
    unreachable!()
}

#[node]
async fn ship(order: Order) -> Order {
    unreachable!()
}

#[node]
async fn refuse() -> Order {
    unreachable!()
}

workflow! {
    shop(Order) -> Order { START => check => <Verdict::Accept: ship, refuse: refuse>; }
}

fn main() {}
