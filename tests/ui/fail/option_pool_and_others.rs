//! What runs elsewhere calls nothing, and collects nothing.
#![allow(unused)]

use graphweft::prelude::*;

#[node]
async fn load(n: u32) -> u32 {
    n
}

#[node(pool = "gpu", uses(load))]
async fn calls(n: u32) -> u32 {
    n
}

#[node(pool = "gpu", collect)]
async fn collects(n: u32) -> Option<u32> {
    Some(n)
}

#[node(pool = "gpu", at_most_once, timeout = "5m")]
async fn sound(n: u32) -> u32 {
    n
}

fn main() {}
