//! Jitter is not negative.
#![allow(unused)]

use graphweft::prelude::*;

#[node(retry(jitter = -0.5))]
async fn ship(order: String) -> String {
    order
}

fn main() {}
