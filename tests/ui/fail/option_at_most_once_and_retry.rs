//! What runs at most once is not tried again.
#![allow(unused)]

use graphweft::prelude::*;

#[node(at_most_once, retry(max_attempts = 3))]
async fn ship(order: String) -> String {
    order
}

fn main() {}
