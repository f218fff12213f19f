//! `was` says what the node was called before.
#![allow(unused)]

use graphweft::prelude::*;

#[node(renamed_from)]
async fn ship(order: String) -> String {
    order
}

#[node(renamed_from("send", "dispatch"))]
async fn sound(order: String) -> String {
    order
}

fn main() {}
