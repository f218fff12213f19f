//! What `retry` is told stands in parentheses.
#![allow(unused)]

use graphweft::prelude::*;

#[node(retry = 3)]
async fn ship(order: String) -> String {
    order
}

fn main() {}
