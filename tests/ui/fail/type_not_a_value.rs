//! What travels is a value.
#![allow(unused)]

use graphweft::prelude::*;

struct Order;

#[value]
struct Receipt;

#[node]
async fn charge(order: Order) -> Receipt {
    unreachable!()
}

#[node]
async fn thank(receipt: Receipt) -> String {
    unreachable!()
}

fn main() {}
