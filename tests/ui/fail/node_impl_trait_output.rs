//! A node gives a type with a name.
#![allow(unused)]

use graphweft::prelude::*;

#[node]
async fn numbers() -> impl Iterator<Item = u8> {
    0..3
}

#[node]
async fn sound() -> Vec<u8> {
    vec![]
}

fn main() {}
