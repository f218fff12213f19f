//! An unknown option of `#[value]`: it is a value all the same.
#![allow(unused)]

use graphweft::prelude::*;

#[value(no_clone)]
struct Order;

#[node]
async fn ship(order: Order) -> Order {
    unreachable!()
}

fn main() {}
