//! A former name holds no letter that paths mean something by.
#![allow(unused)]

use graphweft::prelude::*;

#[node(renamed_from = "ship#2")]
async fn ship(order: String) -> String {
    order
}

#[node(renamed_from = "ship-air.2")]
async fn sound(order: String) -> String {
    order
}

fn main() {}
