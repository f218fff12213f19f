//! The context is borrowed.
#![allow(unused)]

use graphweft::prelude::*;

#[node]
async fn ship(order: String, ctx: Context) -> String {
    order
}

#[node]
async fn sound(order: String, ctx: &Context) -> String {
    order
}

fn main() {}
