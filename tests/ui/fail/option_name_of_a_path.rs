//! A name holds no letter that paths mean something by.
#![allow(unused)]

use graphweft::prelude::*;

#[node(name = "ship/air")]
async fn ship(order: String) -> String {
    order
}

#[node(name = "ship-air.2")]
async fn sound(order: String) -> String {
    order
}

fn main() {}
