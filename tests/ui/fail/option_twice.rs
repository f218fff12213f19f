//! An option is set once.
#![allow(unused)]

use graphweft::prelude::*;

#[node(timeout = "10s", timeout = "5s")]
async fn ship(order: String) -> String {
    order
}

fn main() {}
