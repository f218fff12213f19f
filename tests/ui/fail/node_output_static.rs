//! An output is read back from its record, so that it lends nothing, not even a literal; an error may.
#![allow(unused)]

use graphweft::prelude::*;

#[node]
async fn name(number: u32) -> &'static str {
    "one"
}

#[node]
async fn find(number: u32) -> Result<&'static str, String> {
    Ok("one")
}

#[node]
async fn all(number: u32) -> Vec<(u32, &'static str)> {
    vec![(1, "one")]
}

#[node]
async fn sound(number: u32) -> Result<String, &'static str> {
    Err("none")
}

fn main() {}
