//! A resource is borrowed from the engine.
#![allow(unused)]

use graphweft::prelude::*;

struct Pool;

#[node]
async fn ship(order: String, #[resource] pool: Pool) -> String {
    order
}

#[node]
async fn sound(order: String, #[resource] pool: &Pool) -> String {
    order
}

fn main() {}
