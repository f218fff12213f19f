//! What a label leads to END is what the workflow gives.
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
    shop(Order) -> String { START => check => <ok: END, err: END>; }
}

workflow! {
    sound(Order) -> String { START => check => <ok: ship => END, err: END>; }
}

fn main() {}
