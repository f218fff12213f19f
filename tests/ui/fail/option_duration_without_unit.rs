//! A duration has a unit.
#![allow(unused)]

use graphweft::prelude::*;

#[node(timeout = "10")]
async fn ship(order: String) -> String {
    order
}

fn main() {}
