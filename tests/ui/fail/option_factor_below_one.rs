//! Delays grow.
#![allow(unused)]

use graphweft::prelude::*;

#[node(retry(backoff_factor = 0.5))]
async fn ship(order: String) -> String {
    order
}

#[node(retry(backoff_factor = 1))]
async fn sound(order: String) -> String {
    order
}

fn main() {}
