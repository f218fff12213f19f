//! The number of attempts is a number.
#![allow(unused)]

use graphweft::prelude::*;

#[node(retry(max_attempts = "3"))]
async fn ship(order: String) -> String {
    order
}

fn main() {}
