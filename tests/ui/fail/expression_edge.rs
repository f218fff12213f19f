//! In expression position types are checked as well.
#![allow(unused)]

use graphweft::prelude::*;

#[value]
struct Order;

#[value]
struct Receipt;

#[node]
async fn charge(order: Order) -> Receipt {
    unreachable!()
}

#[node]
async fn ship(order: Order) -> String {
    unreachable!()
}

#[node]
async fn thank(receipt: Receipt) -> String {
    unreachable!()
}

fn main() {
    let _wrong = workflow! { START => charge => ship };
    let _sound = workflow! { START => charge => thank };
}
