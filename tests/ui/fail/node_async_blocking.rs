//! A blocking node is a plain function.
#![allow(unused)]

use graphweft::prelude::*;

#[node(blocking)]
async fn hash(text: String) -> u64 {
    0
}

#[node(blocking)]
fn sound(text: String) -> u64 {
    0
}

fn main() {}
