//! A time limit is longer than zero.
#![allow(unused)]

use graphweft::prelude::*;

#[node(timeout = "0s")]
async fn ship(order: String) -> String {
    order
}

fn main() {}
