//! The longest delay has a default, and the first may not be longer.
#![allow(unused)]

use graphweft::prelude::*;

#[node(retry(initial_delay = "1h"))]
async fn ship(order: String) -> String {
    order
}

#[node(retry(initial_delay = "60s"))]
async fn sound(order: String) -> String {
    order
}

fn main() {}
