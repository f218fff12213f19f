//! An unknown option of a node.
#![allow(unused)]

use graphweft::prelude::*;

#[node(timout = "10s")]
async fn ship(order: String) -> String {
    order
}

#[node(timeout = "10s")]
async fn sound(order: String) -> String {
    order
}

fn main() {}
