//! A node has no generics.
#![allow(unused)]

use graphweft::prelude::*;

#[node]
async fn echo<T>(value: T) -> String {
    unreachable!()
}

#[node]
async fn sound(value: String) -> String {
    value
}

fn main() {}
