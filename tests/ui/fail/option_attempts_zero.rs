//! There is at least one attempt.
#![allow(unused)]

use graphweft::prelude::*;

#[node(retry(max_attempts = 0))]
async fn ship(order: String) -> String {
    order
}

#[node(retry(max_attempts = 1))]
async fn sound(order: String) -> String {
    order
}

fn main() {}
