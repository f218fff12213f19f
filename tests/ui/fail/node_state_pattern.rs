//! A state parameter has the name of its key.
#![allow(unused)]

use graphweft::prelude::*;

#[node]
async fn ship(order: String, #[state] (total, _): (u64, u64)) -> String {
    order
}

#[node]
async fn sound(order: String, #[state] total: u64) -> String {
    order
}

fn main() {}
