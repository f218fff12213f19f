//! A trait has no nodes.
#![allow(unused)]

use graphweft::prelude::*;

trait Shop {
    #[node]
    async fn charge(n: u32) -> u32;

    async fn sound(n: u32) -> u32;
}

fn main() {}
