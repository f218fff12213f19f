//! An unknown option of `retry`.
#![allow(unused)]

use graphweft::prelude::*;

#[node(retry(strategy = 3))]
async fn ship(order: String) -> String {
    order
}

fn main() {}
