//! In expression position all routes give one type.
#![allow(unused)]

use graphweft::prelude::*;

#[value]
struct Order;

#[node]
async fn check(order: Order) -> Result<Order, String> {
    unreachable!()
}

#[node]
async fn ship(order: Order) -> u64 {
    unreachable!()
}

#[node]
async fn refuse(why: String) -> String {
    unreachable!()
}

fn main() {
    let _wrong = workflow! { START => check => <ok: ship, err: refuse> };
}
