//! `#[node]` can only be used on a function.
#![allow(unused)]

use graphweft::prelude::*;

#[node]
struct Ship;

#[node]
async fn ship(order: String) -> String {
    order
}

fn main() {}
