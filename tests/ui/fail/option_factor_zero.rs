//! The delay is multiplied by more than zero.
#![allow(unused)]

use graphweft::prelude::*;

#[node(retry(backoff_factor = 0.0))]
async fn ship(order: String) -> String {
    order
}

fn main() {}
