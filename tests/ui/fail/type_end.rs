//! The workflow gives what it says.
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

workflow! {
    shop(Order) -> String { START => charge; }
}

workflow! {
    sound(Order) -> Receipt { START => charge; }
}

fn main() {}
