//! The number of attempts is not negative.
#![allow(unused)]

use graphweft::prelude::*;

#[node(retry(max_attempts = -1))]
async fn ship(order: String) -> String {
    order
}

fn main() {}
