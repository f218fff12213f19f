//! A parameter is a resource or state.
#![allow(unused)]

use graphweft::prelude::*;

#[node]
async fn ship(order: String, #[resource] #[state] pool: &u8) -> String {
    order
}

fn main() {}
