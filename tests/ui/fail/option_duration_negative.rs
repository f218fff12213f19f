//! A duration is not negative.
#![allow(unused)]

use graphweft::prelude::*;

#[node(timeout = "-3s")]
async fn ship(order: String) -> String {
    order
}

fn main() {}
