//! An option has its value.
#![allow(unused)]

use graphweft::prelude::*;

#[node(timeout)]
async fn ship(order: String) -> String {
    order
}

fn main() {}
