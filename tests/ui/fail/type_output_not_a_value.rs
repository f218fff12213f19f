//! What a node gives is a value.
#![allow(unused)]

use graphweft::prelude::*;

struct Order;

#[node]
async fn order() -> Order {
    unreachable!()
}

#[node]
async fn thank() -> String {
    unreachable!()
}

fn main() {}
