//! The context is not changed.
#![allow(unused)]

use graphweft::prelude::*;

#[node]
async fn ship(order: String, ctx: &mut Context) -> String {
    order
}

fn main() {}
