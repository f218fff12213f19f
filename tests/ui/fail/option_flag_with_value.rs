//! A flag has no value.
#![allow(unused)]

use graphweft::prelude::*;

#[node(at_most_once = true)]
async fn ship(order: String) -> String {
    order
}

fn main() {}
