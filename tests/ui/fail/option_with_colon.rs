//! The value of an option is behind `=`.
#![allow(unused)]

use graphweft::prelude::*;

#[node(timeout: "10s")]
async fn fetch(n: u32) -> u32 {
    n
}

#[node(timeout = "10s")]
async fn sound(n: u32) -> u32 {
    n
}

fn main() {}
