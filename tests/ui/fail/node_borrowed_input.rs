//! A node owns its input.
#![allow(unused)]

use graphweft::prelude::*;

#[node]
async fn echo(value: &str) -> String {
    value.to_owned()
}

#[node]
async fn sound(value: String, ctx: &Context) -> String {
    value
}

fn main() {}
