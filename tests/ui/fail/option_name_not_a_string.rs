//! A name stands in quotes.
#![allow(unused)]

use graphweft::prelude::*;

#[node(name = shipping)]
async fn ship(order: String) -> String {
    order
}

fn main() {}
