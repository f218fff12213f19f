//! An option of `retry` stands in it.
#![allow(unused)]

use graphweft::prelude::*;

#[node(max_attempts = 3)]
async fn ship(order: String) -> String {
    order
}

#[node(retry(max_attempts = 3))]
async fn sound(order: String) -> String {
    order
}

fn main() {}
