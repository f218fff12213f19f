//! A branch is a label, not an `if`.
#![allow(unused)]

use graphweft::prelude::*;

#[value]
struct Order;

#[node]
async fn check(order: Order) -> bool {
    unreachable!()
}

#[node]
async fn ship() -> Order {
    unreachable!()
}

#[node]
async fn refuse() -> Order {
    unreachable!()
}

workflow! {
    shop(Order) -> Order { START => check => if ok { ship } else { refuse }; }
}

workflow! {
    sound(Order) -> Order { START => check => <true: ship, false: refuse>; }
}

fn main() {}
