//! The longest delay is not shorter than the first.
#![allow(unused)]

use graphweft::prelude::*;

#[node(retry(initial_delay = "10s", max_delay = "1s"))]
async fn ship(order: String) -> String {
    order
}

#[node(retry(initial_delay = "1s", max_delay = "10s"))]
async fn sound(order: String) -> String {
    order
}

fn main() {}
