//! A duration has a known unit.
#![allow(unused)]

use graphweft::prelude::*;

#[node(timeout = "3 weeks")]
async fn ship(order: String) -> String {
    order
}

fn main() {}
