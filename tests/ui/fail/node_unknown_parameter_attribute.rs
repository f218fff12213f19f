//! A parameter has no attributes but ours.
#![allow(unused)]

use graphweft::prelude::*;

#[node]
async fn ship(order: String, #[resorce] pool: &u8) -> String {
    order
}

#[node]
async fn pack(order: String, #[cfg(windows)] drive: char) -> String {
    order
}

fn main() {}
