//! A node has no lifetimes.
#![allow(unused)]

use graphweft::prelude::*;

#[node]
async fn echo<'a>(value: &'a str) -> String {
    value.to_owned()
}

fn main() {}
