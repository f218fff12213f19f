//! `was` says what the node was called before.
#![allow(unused)]

use graphweft::prelude::*;

#[node(was)]
async fn ship(order: String) -> String {
    order
}

#[node(was("send", "dispatch"))]
async fn sound(order: String) -> String {
    order
}

fn main() {}
